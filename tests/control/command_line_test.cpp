#include "control/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trama {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One of each kind of option.
struct Sample {
  bool loud = false;
  std::optional<std::string> name, mode;
  std::optional<uint64_t> count;
  std::optional<double> time_s;
  std::vector<std::string> files, words;
  CommandLine line{"sample [WORD]... [options]", "Tries options.", "  trama sample x\n"};

  Sample() {
    line.flag("-l,--loud", loud, "be loud");
    line.text("--name", name, "NAME", "a name");
    line.texts("-f,--file", files, "FILE", "a file");
    line.integer("--count", count, 1, 9, "N", "a number");
    line.seconds("--time", time_s, "a time");
    line.choice("--mode", mode, {"slow", "fast"}, "a choice");
    line.absent("-i,--interface", "read a file instead");
    line.words(words, "WORD", 0, 3);
  }
};

TEST(CommandLine, ReadsOptionsWhereverTheyStand) {
  Sample sample;
  const auto done = sample.line.parse({"a", "-f", "x", "-l", "--name=n", "b", "--file", "-", "--count", "9", "--time",
                                       "0.5", "--mode", "fast", "--", "--loud"});
  ASSERT_TRUE(done.has_value()) << done.error().text;
  EXPECT_TRUE(*done);
  EXPECT_TRUE(sample.loud);
  EXPECT_EQ(sample.name, "n");
  EXPECT_EQ(sample.count, 9u);
  EXPECT_EQ(sample.time_s, 0.5);
  EXPECT_EQ(sample.mode, "fast");
  EXPECT_THAT(sample.files, ElementsAre("x", "-"));
  EXPECT_THAT(sample.words, ElementsAre("a", "b", "--loud"));
}

TEST(CommandLine, AValueIsOneWordEachTime) {
  Sample sample;
  ASSERT_TRUE(sample.line.parse({"-f", "x", "y", "z"}).has_value());
  EXPECT_THAT(sample.files, ElementsAre("x"));
  EXPECT_THAT(sample.words, ElementsAre("y", "z"));
}

TEST(CommandLine, SaysWhatIsWrongAndWhatWasMeant) {
  const struct {
    Arguments arguments;
    const char *text, *hint;
  } cases[] = {
      {{"--nmae", "x"}, "--nmae", "did you mean --name?"},
      {{"--modes=fast"}, "unknown option --modes", "did you mean --mode?"},
      {{"-z"}, "unknown option -z", "trama sample --help"},
      {{"--name"}, "--name needs a value", ""},
      {{"--name", "a", "--name", "b"}, "--name was given twice", ""},
      {{"--count", "0"}, "--count is a whole number of 1 to 9, not `0`", ""},
      {{"--count", "10"}, "not `10`", ""},
      {{"--count", "3x"}, "not `3x`", ""},
      {{"--count", "-3"}, "not `-3`", ""},
      {{"--time", "0"}, "--time is a number of seconds above 0", ""},
      {{"--time", "nan"}, "--time is a number of seconds", ""},
      {{"--mode", "fats"}, "--mode can't be `fats`", "did you mean `fast`?"},
      {{"-i", "eth0"}, "not in this version", "read a file instead"},
      {{"--interface"}, "not in this version", "read a file instead"},
      {{"1", "2", "3", "4"}, "one argument too many: `4`", "usage: trama sample"},
  };
  for (const auto& wrong : cases) {
    SCOPED_TRACE(testing::PrintToString(wrong.arguments));
    Sample sample;
    const auto done = sample.line.parse(wrong.arguments);
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().text, HasSubstr(wrong.text));
    EXPECT_THAT(done.error().hint, HasSubstr(wrong.hint));
  }
}

TEST(CommandLine, HelpListsWhatThereIs) {
  Sample sample;
  const auto done = sample.line.parse({"--help", "--count", "5"});
  ASSERT_TRUE(done.has_value());
  EXPECT_FALSE(*done);
  const std::string help = sample.line.help();
  for (const char* word : {"usage: trama sample", "-l, --loud", "be loud", "--mode slow|fast", "trama sample x"})
    EXPECT_THAT(help, HasSubstr(word));
  EXPECT_THAT(help, testing::Not(HasSubstr("--interface")));
}

}  // namespace
}  // namespace trama
