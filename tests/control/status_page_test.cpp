#include "control/status_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;

EngineStatus after(double seconds, uint64_t packets) {
  EngineStatus status;
  status.version = "0.1.0";
  status.pid = 42;
  status.workers = 2;
  status.seconds = seconds;
  status.packets_read = packets;
  status.bytes_read = packets * 100;
  status.tally[Verdict::counted] = packets / 2;
  status.tally[Verdict::ipv6] = packets / 4;
  status.tally.full_windows = packets / 100;
  status.tally.dropped_ring = packets / 10;
  status.stages.push_back({"parse", "parse", 8, 0, {{packets / 10, packets, 0, seconds / 4}}});
  return status;
}

TEST(StatusPage, RatesAreThoseBetweenTwoLooks) {
  const std::string page = status_page(after(10, 1000), after(12, 5000), {}, 5);
  EXPECT_THAT(page, HasSubstr("running for 0:00:12, 2 workers\n"));
  EXPECT_THAT(page, HasSubstr("2.00 k packets/s"));
  EXPECT_THAT(page, HasSubstr("500 ring (200/s)"));
  EXPECT_THAT(page, HasSubstr("50 full, 0 partial, 0 lost; 20.00/s"));
  EXPECT_THAT(page, HasSubstr("25.0 %"));
  EXPECT_THAT(page, HasSubstr("ipv6"));
  EXPECT_THAT(page, Not(HasSubstr("malformed"))) << "verdicts that nothing got are left out";
  EXPECT_THAT(page, Not(HasSubstr("window  "))) << "no window, no table";
}

TEST(StatusPage, TheSameMomentTwiceIsNoDivisionByZero) {
  const EngineStatus status = after(1, 1000);
  EXPECT_THAT(status_page(status, status, {}, 5), HasSubstr(" 0 packets/s"));
  EXPECT_THAT(status_page(EngineStatus(), EngineStatus(), {}, 5), HasSubstr("judged"));
  EXPECT_THAT(status_page(after(5, 1000), after(1, 10), {}, 5), HasSubstr(" 0 packets/s")) << "another run";
}

TEST(StatusPage, TheNewestWindowsStandOnTop) {
  std::vector<FinishedWindow> windows(3);
  for (size_t i = 0; i < 3; ++i) {
    windows[i].seq = 100 + i;
    windows[i].packets = 1000;
    windows[i].finished_ns = 1'700'000'000'000'000'000;
  }
  windows[1].description = WindowDescription{ClosedBy::exclusions, 1, 2, 77, 8};
  windows[2].quantities = Quantities{.n_destinations = 5551, .max_fan_out = 5552, .max_fan_in = 5553};
  const std::string page = status_page(EngineStatus(), after(1, 10), windows, 2);
  EXPECT_THAT(page, HasSubstr("22:13:20"));
  EXPECT_THAT(page, HasSubstr("exclusions"));
  EXPECT_THAT(page, HasSubstr("77        8      -        -       -"));
  EXPECT_THAT(page, HasSubstr("5551     5552    5553"));
  EXPECT_LT(page.find("   102 "), page.find("   101 "));
  EXPECT_THAT(page, Not(HasSubstr("   100 ")));
}

TEST(StatusPage, NamesCannotMoveTheCursor) {
  EngineStatus status = after(1, 10);
  status.sensor = "a\x1b[2Jb";
  status.stages[0].name = "c\nd";
  const std::string page = status_page(EngineStatus(), status, {}, 5);
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("c\\x0ad"));
}

TEST(FitPage, CutsWhatDoesNotFit) {
  const struct {
    std::string page;
    size_t rows, columns;
    std::string right;
  } cases[] = {
      {"abc\nde\n", 5, 10, "abc\nde\n"},
      {"abc\nde\n", 1, 2, "ab\n"},
      {"abc\nde", 2, 3, "abc\nde\n"},
      {"abc\n", 0, 3, ""},
      {"abc\n", 3, 0, "\n"},
      {"", 3, 3, ""},
      {"\n\nx\n", 3, 3, "\n\nx\n"},
      {"a\xC3\xA4z\n", 3, 2, "a\n"},
      {"a\xC3\xA4z\n", 3, 3, "a\xC3\xA4\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(fit_page(c.page, c.rows, c.columns), c.right) << c.page;
}

}  // namespace
}  // namespace trama
