// What is said of the stages that publish: as JSON, as metrics, on the page, in the summary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "control/engine_state_json.hpp"
#include "control/metrics.hpp"
#include "control/status_page.hpp"
#include "control/summary.hpp"

namespace trama {
namespace {

using testing::HasSubstr;
using testing::Not;

OutletReport sample_report() {
  OutletReport outlet{"roof", "trama+tcp://127.0.0.1:7801/roof", {}};
  outlet.counts = {.subscribers = 2,
                   .subscribed = 5,
                   .sent = 40,
                   .lost = 3,
                   .not_replayed = 11,
                   .waiting = 7,
                   .stored = 0,
                   .not_stored = 0,
                   .too_long = 9,
                   .refused = 1,
                   .shut_out = 6};
  outlet.passed_by = 4;
  return outlet;
}

EngineStatus sample_status() {
  EngineStatus status;
  status.outlets = {sample_report()};
  return status;
}

TEST(OutletReport, AnswersHaveAllOfIt) {
  const auto json = status_json(sample_status());
  EXPECT_EQ(json.at("streams").at(0).at("shut_out"), 6);
  const auto again = parse_status(json);
  ASSERT_TRUE(again) << again.error().text;
  ASSERT_EQ(again->outlets.size(), 1u);
  EXPECT_EQ(again->outlets[0].stage, "roof");
  EXPECT_EQ(again->outlets[0].url, sample_report().url);
  EXPECT_EQ(again->outlets[0].counts, sample_report().counts);
  EXPECT_EQ(again->outlets[0].passed_by, 4u);
  EXPECT_FALSE(status_json({}).contains("streams"));
}

TEST(OutletReport, MetricsTellThemByStage) {
  const auto text_of = [](const EngineStatus& status) {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, metric_families(status));
    return text.str();
  };
  const std::string text = text_of(sample_status());
  EXPECT_THAT(text, HasSubstr("trama_stream_subscribers{stage=\"roof\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_windows_total{stage=\"roof\",what=\"lost\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_windows_total{stage=\"roof\",what=\"not_replayed\"} 11\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_waiting_windows{stage=\"roof\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_windows_total{stage=\"roof\",what=\"too_long\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_turned_away_total{stage=\"roof\",why=\"refused\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("trama_stream_turned_away_total{stage=\"roof\",why=\"shut_out\"} 6\n"));
  EXPECT_THAT(text_of({}), Not(HasSubstr("trama_stream_subscribers")));
}

TEST(OutletReport, ThePageHasALineForEach) {
  const std::string page = status_page({}, sample_status(), {}, 0);
  EXPECT_THAT(page,
              HasSubstr("7801/roof: 2 subscribers; 40 sent, 3 lost by slow ones, 11 not in the archives; 0 stored, "
                        "7 waiting; 7 turned away\n"));
  EXPECT_THAT(status_page({}, {}, {}, 0), Not(HasSubstr("publish")));
}

// What others lose, and what passed the stage by, is said; the run has done what it was to do.
TEST(OutletReport, TheSummarySaysLossesAndTheStatusStays) {
  RunFacts facts;
  facts.outlets = {sample_report(), {"hub", "nats://127.0.0.1/x", {.stored = 8, .not_stored = 2}}};
  EXPECT_EQ(exit_status(facts), 0);
  const std::string text = summary_text(facts);
  EXPECT_THAT(text, HasSubstr("3 windows of `roof` lost by slow subscribers\n"));
  EXPECT_THAT(text, HasSubstr("11 older windows of `roof` not in the archives any more, or not yet\n"));
  EXPECT_THAT(text, HasSubstr("9 windows of `roof` longer than its max_bytes, and not sent\n"));
  EXPECT_THAT(text, HasSubstr("4 windows passed `roof` by, and were not published\n"));
  EXPECT_THAT(text, HasSubstr("2 windows of `hub` not known to be stored\n"));
  const auto json = nlohmann::ordered_json::parse(summary_json(facts)).at("streams");
  EXPECT_EQ(json.at(0).at("passed_by"), 4);
  EXPECT_EQ(json.at(1).at("not_stored"), 2);
  EXPECT_FALSE(nlohmann::ordered_json::parse(summary_json({})).contains("streams"));
}

TEST(OutletReport, TheEngineKnowsWhatPassedBy) {
  StageCounters stage;
  stage.name = "roof";
  stage.lost = 9;
  std::vector<OutletReport> outlets = {sample_report(), {"hub", "", {}}};
  outlets[0].passed_by = 0;
  add_passed_by({stage}, outlets);
  EXPECT_EQ(outlets[0].passed_by, 9u);
  EXPECT_EQ(outlets[1].passed_by, 0u);
}

}  // namespace
}  // namespace trama
