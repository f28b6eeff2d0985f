// What the stage xdp says of a module that is hardly meant as it is used. In the kernel: kernel_filters_test.cpp.
#include <gmock/gmock.h>

#include "modules/messages.hpp"
#include "modules/support/run_report.hpp"
#include "tests/modules/xdp_parameters.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::FilterHarness;
using test::object_line;
using test::shipped;
using test::verdict_program;
using testing::HasSubstr;

TEST(XdpRemarks, WhatIsHardlyMeantIsSaidBeforeItJudges) {
  struct Case {
    std::string parameters;
    Severity severity;
    const char *text, *hint;
  };
  const Case cases[] = {
      {object_line(shipped("sample")), Severity::warning, "by its map one_in, and nothing is in it",
       "maps = [\"one_in: KEY"},
      {object_line(shipped("privacy_ranges")), Severity::warning,
       "maps ranges_v4 and ranges_v6, and nothing is in them", "ranges ="},
      {verdict_program("drops"), Severity::note, "doesn't declare what its verdicts mean", "drop = \"filtered\""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    FilterHarness harness("xdp", one.parameters);
    ASSERT_TRUE(harness.start().empty());
    const Diagnostics said = harness.services().get<RunReport>()->take_messages();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].severity, one.severity);
    EXPECT_THAT(said[0].text, HasSubstr(one.text));
    EXPECT_THAT(said[0].hint, HasSubstr(one.hint));
    EXPECT_EQ(said[0].place.line, 1);
  }
  for (const std::string& well : {object_line(shipped("sample")) + "maps = \"one_in: 0 = 2\"",
                                  object_line(shipped("privacy_ranges")) + "ranges = [\"10.0.0.0/8\"]",
                                  verdict_program("drops") + "drop = \"excluded\""}) {
    SCOPED_TRACE(well);
    FilterHarness harness("xdp", well);
    ASSERT_TRUE(harness.start().empty());
    EXPECT_TRUE(harness.services().get<RunReport>()->take_messages().empty());
  }
}

}  // namespace
}  // namespace trama
