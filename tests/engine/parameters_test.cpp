#include "engine/parameters.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace trama {
namespace {

enum class Packing { lz4, zstd, none };

struct Parameters {
  std::string name = "day";
  std::vector<std::string> files = {"a", "b"};
  uint64_t level = 3;
  uint64_t seed = 0;
  bool verify = false;
  double timeout_s = 1.5;
  Packing packing = Packing::zstd;
  void bind(ParameterBinder& b) {
    b.text("name", name, "a name");
    b.texts("files", files, "some files");
    b.integer("level", level, 1, 19, "how hard");
    b.integer("seed", seed, 0, std::numeric_limits<uint64_t>::max(), "any");
    b.flag("verify", verify, "look again");
    b.seconds("timeout", timeout_s, 0.25, 3600, "how long");
    b.choice("packing", packing, {{"lz4", Packing::lz4}, {"zstd", Packing::zstd}, {"none", Packing::none}}, "how");
  }
};

using Value = decltype(ParameterValue::value);

ParameterTable table_of(std::initializer_list<std::pair<const char*, Value>> values) {
  ParameterTable table;
  table.place = {"f", 1};
  int line = 1;
  for (const auto& [name, value] : values) table.values[name] = {value, {"f", ++line}};
  return table;
}

std::pair<Parameters, Diagnostics> bound(const ParameterTable& table) {
  Parameters parameters;
  ParameterBinder binder(table);
  parameters.bind(binder);
  return {parameters, binder.finish()};
}

TEST(Parameters, ListsWhatThereIs) {
  ParameterBinder lists;
  Parameters standard;
  standard.bind(lists);
  EXPECT_FALSE(lists.reading());
  EXPECT_TRUE(lists.finish().empty());
  const char* expected[][4] = {
      {"name", "text", "day", "a name"},
      {"files", "list of texts", "a, b", "some files"},
      {"level", "integer 1..19", "3", "how hard"},
      {"seed", "integer 0..18446744073709551615", "0", "any"},
      {"verify", "true | false", "false", "look again"},
      {"timeout", "seconds", "1.5", "how long"},
      {"packing", "lz4 | zstd | none", "zstd", "how"},
  };
  ASSERT_EQ(lists.help().size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const ParameterHelp& help = lists.help()[i];
    EXPECT_EQ(help.name, expected[i][0]);
    EXPECT_EQ(help.type, expected[i][1]);
    EXPECT_EQ(help.standard, expected[i][2]);
    EXPECT_EQ(help.help, expected[i][3]);
  }
}

TEST(Parameters, WithoutValuesTheStandardsStay) {
  const auto [parameters, diagnostics] = bound(table_of({}));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(parameters.name, "day");
  EXPECT_EQ(parameters.files.size(), 2u);
  EXPECT_EQ(parameters.level, 3u);
  EXPECT_EQ(parameters.packing, Packing::zstd);
}

TEST(Parameters, ReadsEachType) {
  const auto [parameters, diagnostics] = bound(table_of({{"name", "n"},
                                                         {"files", std::vector<std::string>{"x", "y", "z"}},
                                                         {"level", int64_t{19}},
                                                         {"seed", int64_t{7}},
                                                         {"verify", true},
                                                         {"timeout", 0.25},
                                                         {"packing", "none"}}));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(parameters.name, "n");
  EXPECT_EQ(parameters.files, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(parameters.level, 19u);
  EXPECT_EQ(parameters.seed, 7u);
  EXPECT_TRUE(parameters.verify);
  EXPECT_EQ(parameters.timeout_s, 0.25);
  EXPECT_EQ(parameters.packing, Packing::none);
}

TEST(Parameters, OneTextIsAListOfOneAndWholeSecondsAreSeconds) {
  const auto [parameters, diagnostics] = bound(table_of({{"files", "x"}, {"timeout", int64_t{60}}}));
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(parameters.files, std::vector<std::string>{"x"});
  EXPECT_EQ(parameters.timeout_s, 60);
}

TEST(Parameters, RefusesAndKeepsTheStandard) {
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  const std::pair<const char*, Value> wrong[] = {
      {"name", int64_t{1}},
      {"name", std::vector<std::string>{"a"}},
      {"files", true},
      {"files", 1.0},
      {"level", int64_t{0}},
      {"level", int64_t{20}},
      {"level", int64_t{-1}},
      {"level", 3.0},
      {"level", "3"},
      {"seed", int64_t{-1}},
      {"verify", "true"},
      {"verify", int64_t{1}},
      {"timeout", 0.24},
      {"timeout", int64_t{3601}},
      {"timeout", no_number},
      {"timeout", "1"},
      {"timeout", std::numeric_limits<double>::infinity()},
      {"packing", "LZ4"},
      {"packing", int64_t{0}},
      {"packing", true},
  };
  for (const auto& [name, value] : wrong) {
    SCOPED_TRACE(std::string(name) + " " + std::to_string(value.index()));
    const auto [parameters, diagnostics] = bound(table_of({{name, value}}));
    ASSERT_EQ(diagnostics.size(), 1u);
    EXPECT_EQ(diagnostics[0].severity, Severity::error);
    EXPECT_EQ(diagnostics[0].place, (Place{"f", 2}));
    EXPECT_NE(diagnostics[0].text.find("`" + std::string(name) + "`"), std::string::npos);
    EXPECT_FALSE(diagnostics[0].hint.empty());
    EXPECT_EQ(parameters.name, "day");
    EXPECT_EQ(parameters.files.size(), 2u);
    EXPECT_EQ(parameters.level, 3u);
    EXPECT_FALSE(parameters.verify);
    EXPECT_EQ(parameters.timeout_s, 1.5);
    EXPECT_EQ(parameters.packing, Packing::zstd);
  }
}

TEST(Parameters, UnknownOnesAreRefusedWithTheNearest) {
  const auto [parameters, diagnostics] = bound(table_of({{"levle", int64_t{2}}, {"core", "x"}, {"nonsense", true}}));
  ASSERT_EQ(diagnostics.size(), 3u);
  EXPECT_NE(diagnostics[0].hint.find("`cores`"), std::string::npos);
  EXPECT_NE(diagnostics[1].hint.find("`level`"), std::string::npos);
  EXPECT_EQ(diagnostics[2].hint.find("did you mean"), std::string::npos);
}

TEST(Parameters, AStageRefusesWhatOnlyItCanJudge) {
  const ParameterTable table = table_of({{"level", int64_t{4}}});
  ParameterBinder binder(table);
  Parameters parameters;
  parameters.bind(binder);
  EXPECT_TRUE(binder.given("level"));
  EXPECT_FALSE(binder.given("name"));
  EXPECT_EQ(binder.place_of("level"), (Place{"f", 2}));
  EXPECT_EQ(binder.place_of("name"), (Place{"f", 1}));
  binder.refuse("level", "odd levels only", "take 3");
  binder.refuse("name", "no name", "");
  const Diagnostics diagnostics = binder.finish();
  ASSERT_EQ(diagnostics.size(), 2u);
  EXPECT_EQ(diagnostics[0].place.line, 2);
  EXPECT_EQ(diagnostics[1].place.line, 1);
  EXPECT_TRUE(binder.finish().empty());
}

}  // namespace
}  // namespace trama
