#include "control/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;

InputReport input(InputStatus status, bool readable, std::string detail = "", std::string name = "a.pcap") {
  return {std::move(name), 10, 1234, status, std::move(detail), readable};
}

const InputReport kGood = input(InputStatus::ok, true);
const InputReport kCut = input(InputStatus::truncated, true);
const InputReport kInterrupted = input(InputStatus::interrupted, true);
const InputReport kNeverBegun = input(InputStatus::interrupted, false);
const InputReport kMissing = input(InputStatus::unreadable, false);
const InputReport kNoCapture = input(InputStatus::unsupported, false);

TEST(ExitStatus, FollowsFromWhatWasReadAndLost) {
  const struct {
    const char* what;
    std::vector<InputReport> inputs;
    int right;
  } cases[] = {
      {"no input at all, as with a generator", {}, 0},
      {"all read", {kGood, kGood}, 0},
      {"one of two is cut", {kGood, kCut}, 3},
      {"the only one is cut", {kCut}, 3},
      {"one of two is missing", {kGood, kMissing}, 3},
      {"the only one is missing", {kMissing}, 1},
      {"none can be read", {kMissing, kNoCapture}, 1},
      {"interrupted", {kInterrupted}, 3},
      {"interrupted before it began", {kNeverBegun}, 3},
      {"one missing, the other interrupted", {kMissing, kNeverBegun}, 3},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    RunFacts facts;
    facts.inputs = c.inputs;
    EXPECT_EQ(exit_status(facts), c.right);
    facts.output_failed = true;
    EXPECT_EQ(exit_status(facts), 1);
  }
}

TEST(ExitStatus, LossesCount) {
  RunFacts facts;
  facts.inputs = {kGood};
  facts.tally[Verdict::unknown_link] = 5;
  EXPECT_EQ(exit_status(facts), 0) << "an unknown link type is a verdict, not a loss";
  for (uint64_t Tally::*lost : {&Tally::dropped_kernel, &Tally::dropped_nic, &Tally::dropped_ring}) {
    RunFacts with_loss = facts;
    with_loss.tally.*lost = 1;
    EXPECT_EQ(exit_status(with_loss), 3);
  }
  facts.tally.removed_in_kernel = 9;
  EXPECT_EQ(exit_status(facts), 0);
  facts.windows_lost = 1;
  EXPECT_EQ(exit_status(facts), 3);
}

// Every number another one, so that none can stand in for another.
RunFacts sample_facts() {
  RunFacts facts;
  facts.graph = std::string(64, 'a');
  facts.sensor = "roof";
  facts.seconds = 1.25;
  facts.inputs = {input(InputStatus::truncated, true, "truncated at byte 1234")};
  for (size_t i = 0; i < kVerdicts; ++i) facts.tally.packets[i] = 100 + i;
  facts.tally.dropped_kernel = 201;
  facts.tally.dropped_nic = 202;
  facts.tally.dropped_ring = 203;
  facts.tally.removed_in_kernel = 204;
  facts.tally.full_windows = 205;
  facts.tally.partial_windows = 1;
  facts.archives = {"out/a.tar", "out/b.tar"};
  return facts;
}

TEST(Summary, IsTheObjectThatScriptsKnow) {
  const std::string text = summary_json(sample_facts());
  EXPECT_EQ(text.back(), '\n');
  const auto right = nlohmann::json::parse(R"({
    "trama": "0.1.0", "graph": "", "sensor": "roof", "seconds": 1.25,
    "inputs": [{"name": "a.pcap", "packets": 10, "bytes": 1234, "status": "truncated",
                "detail": "truncated at byte 1234"}],
    "packets": {"seen": 1045, "counted": 100, "excluded": 306, "filtered": 104, "ipv6": 105, "not_ip": 106,
                "malformed": 107, "cut": 108, "unknown_link": 109},
    "excluded_by": {"range": 101, "module": 102, "fault": 103},
    "dropped": {"kernel": 201, "nic": 202, "ring": 203}, "removed_in_kernel": 204,
    "windows": {"full": 205, "partial": 1}, "archives": ["out/a.tar", "out/b.tar"]})");
  auto got = nlohmann::json::parse(text);
  EXPECT_EQ(got["graph"], std::string(64, 'a'));
  got["graph"] = "";
  EXPECT_EQ(got, right);
}

TEST(Summary, StaysJsonWhateverFilesAreCalled) {
  RunFacts facts = sample_facts();
  facts.inputs[0].name = "\xff\"\n\x1b.pcap";
  EXPECT_TRUE(nlohmann::json::accept(summary_json(facts)));
}

TEST(Summary, ForPeopleNamesWhatHappened) {
  const std::string text = summary_text(sample_facts());
  for (const char* line :
       {"1045 packets seen, 100 counted in 206 windows (1 partial)\n", "306 excluded", "104 filtered", "105 ipv6",
        "106 not_ip", "107 malformed", "108 cut", "109 unknown_link", "201 packets dropped by the kernel",
        "204 packets removed in the kernel", "2 archives in out\n", "1.25 s, 836 packets/s"})
    EXPECT_THAT(text, HasSubstr(line));
  RunFacts quiet;
  quiet.tally[Verdict::counted] = 1;
  quiet.tally.full_windows = 1;
  quiet.seconds = 0.5;
  EXPECT_EQ(summary_text(quiet), "1 packet seen, 1 counted in 1 window\n0.50 s, 2 packets/s\n");
}

TEST(Summary, OfAGraphThatJudgesNothing) {
  RunFacts facts;
  facts.packets_read = 1000000;
  facts.seconds = 0.5;
  EXPECT_EQ(summary_text(facts), "1000000 packets passed on\n0.50 s, 2.00 M packets/s\n");
}

TEST(InputMessages, ErrorsWhereNothingCouldBeReadWarningsElsewhere) {
  const Diagnostics messages = input_messages({kGood, input(InputStatus::truncated, true, "truncated at byte 9"),
                                               input(InputStatus::unreadable, false, "there is no file a.pcap"),
                                               input(InputStatus::corrupt, false, "bad", "-"),
                                               input(InputStatus::interrupted, true, "stopped after 1 packet", "f")});
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].severity, Severity::warning);
  EXPECT_EQ(messages[0].place.file, "a.pcap");
  EXPECT_EQ(messages[0].text, "truncated at byte 9");
  EXPECT_EQ(messages[1].severity, Severity::error);
  EXPECT_EQ(messages[1].place.file, "") << "its name is in the text already";
  EXPECT_EQ(messages[2].place.file, "standard input");
  EXPECT_EQ(messages[3].place.file, "f");
}

TEST(StageTable, SumsReplicas) {
  StageCounters stage{"anonymize", "anonymize", {{5, 100, 30, 0}, {7, 200, 20, 1}}, 3, 0, 0};
  const std::string text = stage_table({stage}, 100, 2);
  EXPECT_THAT(text, HasSubstr("12"));
  EXPECT_THAT(text, HasSubstr("300"));
  EXPECT_THAT(text, HasSubstr("25.0 %"));
  EXPECT_THAT(stage_table({stage}, 0, 2), HasSubstr("0.0 %"));
}

TEST(BusiestStage, IsTheOneWhoseReplicasHadTheLeastTimeLeft) {
  const auto stage = [](const char* name, std::vector<uint64_t> busy) {
    StageCounters counters{name, "kind", {}, 0, 0, 0};
    for (const uint64_t cycles : busy) counters.replicas.push_back({1, 1, cycles, 0});
    return counters;
  };
  // The serial one is the bottleneck, though others took more time in all.
  const std::vector<StageCounters> stages = {stage("capture", {100}), stage("order", {900}),
                                             stage("build", {600, 700})};
  EXPECT_EQ(busiest_stage(stages, 1000, 4), "busiest stage: order, 90 % of the time; 4 workers busy 58 % of the time");
  // With one worker replicas help nobody.
  EXPECT_EQ(busiest_stage({stage("order", {300}), stage("build", {200, 200})}, 1000, 1),
            "busiest stage: build, 40 % of the time; 1 worker busy 70 % of the time");
  EXPECT_EQ(busiest_stage({}, 1000, 1), "");
  EXPECT_EQ(busiest_stage(stages, 0, 1), "");
}

TEST(SummaryText, NamesTheBusiestStageWherePacketsWereDropped) {
  RunFacts facts;
  facts.busiest = "busiest stage: order";
  facts.tally[Verdict::counted] = 1;
  EXPECT_THAT(summary_text(facts), Not(HasSubstr("busiest")));
  facts.tally.dropped_kernel = 1;
  EXPECT_THAT(summary_text(facts), HasSubstr("busiest stage: order\n"));
}

}  // namespace
}  // namespace trama
