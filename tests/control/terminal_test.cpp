#include "control/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/run_progress.hpp"

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;

// Both ends of a pseudo-terminal.
struct PseudoTerminal {
  PseudoTerminal() { EXPECT_EQ(openpty(&outside, &inside, nullptr, nullptr, nullptr), 0); }
  ~PseudoTerminal() {
    close(outside);
    close(inside);
  }
  int outside = -1, inside = -1;
};

TEST(Colours, OnATerminalOnlyAndNeverWithNoColor) {
  const PseudoTerminal terminal;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(has_colours(terminal.inside));
  EXPECT_FALSE(has_colours(pipe_ends[1]));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(has_colours(terminal.inside));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(has_colours(terminal.inside));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(has_colours(terminal.inside));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(DiagnosticText, IsTheSameWithAndWithoutColours) {
  const Diagnostic wrong{Severity::warning, {"a.toml", 2}, "a warning about this", "do that"};
  const std::string plain = diagnostic_text(wrong, {"a.toml", {"one", "two"}}, false);
  EXPECT_EQ(plain.find("trama: warning: a.toml:2: a warning about this\n"), 0u);
  EXPECT_THAT(plain, HasSubstr("two"));
  EXPECT_THAT(plain, HasSubstr("do that"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  std::string coloured = diagnostic_text(wrong, {"a.toml", {"one", "two"}}, true);
  EXPECT_EQ(coloured.find("trama: \x1b[1;33mwarning:\x1b[0m a.toml:2: "), 0u);
}

TEST(DiagnosticText, NamesCantMoveTheCursor) {
  EXPECT_THAT(diagnostic_text({Severity::error, {"\x1b[2J.pcap", 0}, "bad", ""}, {}, false), Not(HasSubstr("\x1b")));
  EXPECT_EQ(printable("a\x1b[2Jb\r\x7f\n\t"), "a\\x1b[2Jb\\x0d\\x7f\\x0a\\x09");
  // U+009B is what ESC [ is in one character; 0x9b alone is it to terminals that don't speak UTF-8.
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J\x9b"
                      "2J\xa9\x9b"),
            "\\xc2\\x9b"
            "2J\\x9b"
            "2J\\xa9\\x9b");
  EXPECT_EQ(printable("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0"),
            "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 \xc2\xa0");
  EXPECT_EQ(printable("\xe2\x82 \xc0\x9b \xe0\x82\x9b \xed\xa0\x80"),
            "\\xe2\\x82 \\xc0\\x9b \\xe0\\x82\\x9b \\xed\\xa0\\x80");
  const std::string text = diagnostic_text({Severity::note,
                                            {"f", 0},
                                            "\xa9\x9b"
                                            "2J member a\nb: bad",
                                            "\x9b"},
                                           {}, false);
  EXPECT_EQ(text,
            "trama: note: f: \\xa9\\x9b"
            "2J member a b: bad\n    hint: \\x9b\n");
}

TEST(Table, AlignsColumns) {
  Table table({{"kind"}, {"n", true}, {"help"}});
  table.add({"pcap", "7", "reads"});
  table.add({"äö", "1234", ""});
  EXPECT_EQ(table.text(), "kind     n  help\npcap     7  reads\näö    1234\n");
}

TEST(Mentions, LooksForWholeNames) {
  EXPECT_TRUE(mentions("there is no file a.pcap", "a.pcap"));
  EXPECT_TRUE(mentions("x/a.tar: cut", "x/a.tar"));
  EXPECT_FALSE(mentions("stopped after 3 packets", "f"));
  EXPECT_FALSE(mentions("there is no file aa.pcap", "a.pcap"));
  EXPECT_FALSE(mentions("anything", ""));
}

TEST(ShortNumbers, HaveThreeFigures) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(1234567), "1.23 M");
  EXPECT_EQ(short_number(45600), "45.6 k");
  EXPECT_EQ(short_bytes(3u << 19), "1.50 MiB");
  EXPECT_EQ(counted(1, "packet"), "1 packet");
  EXPECT_EQ(counted(0, "packet"), "0 packets");
}

TEST(ProgressLine, SaysHowFarItIs) {
  EXPECT_EQ(progress_line({50 << 20, 200 << 20, 4'000'000, 2.0}, 200),
            "50.0 MiB of 200 MiB (25 %), 4.00 M packets, 2.00 Mpps, 0:06 left");
  EXPECT_EQ(progress_line({50 << 20, 0, 4'000'000, 2.0}, 200), "50.0 MiB, 4.00 M packets, 2.00 Mpps");
  EXPECT_EQ(progress_line({0, 100, 0, 0}, 200), "0 B of 100 B (0 %), 0 packets");
  EXPECT_EQ(progress_line({200, 100, 9, 1}, 200), "200 B, 9 packets, 0.00 Mpps") << "the file has grown";
  EXPECT_EQ(progress_line({1, 1000000, 1, 100}, 200).substr(0, 3), "1 B");
  EXPECT_EQ(progress_line({50 << 20, 0, 4'000'000, 2.0}, 10).size(), 9u);
}

}  // namespace
}  // namespace trama
