#include "control/engine_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "control/engine_state_json.hpp"
#include "control/published_tally.hpp"
#include "tests/control/running_graph.hpp"

namespace trama {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

EngineStatus sample() {
  EngineStatus status;
  status.version = "0.1.0";
  status.sensor = "tap-3";
  status.graph = "0123";
  status.pid = 42;
  status.workers = 2;
  status.stopping = true;
  status.started_ns = 1'700'000'000'000'000'000;
  status.seconds = 12.5;
  status.packets_read = 100;
  status.bytes_read = 1000;
  status.bytes_expected = 4000;
  for (size_t i = 0; i < kVerdicts; ++i) status.tally.packets[i] = i + 1;
  status.tally.dropped_kernel = 11;
  status.tally.dropped_nic = 12;
  status.tally.dropped_ring = 13;
  status.tally.removed_in_kernel = 14;
  status.tally.full_windows = 15;
  status.tally.partial_windows = 16;
  status.windows_lost = 17;
  status.archives = 18;
  status.stages.push_back({"parse", "parse", 19, 20, {{21, 22, 23, 1.5}, {24, 25, 26, 2.25}}});
  return status;
}

TEST(EngineStateJson, StatusIsReadBack) {
  const EngineStatus status = sample();
  const Json json = status_json(status);
  const auto read = parse_status(Json::parse(json.dump()));
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->tally, status.tally);
  EXPECT_EQ(read->version, status.version);
  EXPECT_EQ(read->sensor, status.sensor);
  EXPECT_EQ(read->graph, status.graph);
  EXPECT_EQ(read->pid, status.pid);
  EXPECT_EQ(read->workers, status.workers);
  EXPECT_EQ(read->stopping, status.stopping);
  EXPECT_EQ(read->started_ns, status.started_ns);
  EXPECT_EQ(read->seconds, status.seconds);
  EXPECT_EQ(read->packets_read, status.packets_read);
  EXPECT_EQ(read->bytes_read, status.bytes_read);
  EXPECT_EQ(read->bytes_expected, status.bytes_expected);
  EXPECT_EQ(read->windows_lost, status.windows_lost);
  EXPECT_EQ(read->archives, status.archives);
  ASSERT_EQ(read->stages.size(), 1U);
  EXPECT_EQ(read->stages[0].queue_peak, 19U);
  EXPECT_EQ(read->stages[0].lost, 20U);
  EXPECT_EQ(read->stages[0].sum().messages, 45U);
  EXPECT_EQ(read->stages[0].sum().busy_s, 3.75);
}

// The names and sums that --summary has as well.
TEST(EngineStateJson, PublishedNames) {
  const Json json = status_json(sample());
  EXPECT_EQ(json.at("packets"), (Json{{"seen", 55},
                                      {"counted", 1},
                                      {"excluded", 2 + 3 + 4},
                                      {"filtered", 5},
                                      {"ipv6", 6},
                                      {"not_ip", 7},
                                      {"malformed", 8},
                                      {"cut", 9},
                                      {"unknown_link", 10}}));
  EXPECT_EQ(json.at("excluded_by"), (Json{{"range", 2}, {"module", 3}, {"fault", 4}}));
  EXPECT_EQ(json.at("dropped"), (Json{{"kernel", 11}, {"nic", 12}, {"ring", 13}}));
  EXPECT_EQ(json.at("windows"), (Json{{"full", 15}, {"partial", 16}, {"lost", 17}}));
}

TEST(EngineStateJson, WhatIsMissingOrOfAnotherKindIsRefused) {
  const Json json = status_json(sample());
  for (const auto& [name, value] : json.items()) {
    Json missing = json, other = json;
    missing.erase(name);
    other[name] = "text" == value ? Json(7) : value.is_string() ? Json(7) : Json("text");
    EXPECT_FALSE(parse_status(missing)) << name;
    EXPECT_FALSE(parse_status(other)) << name;
  }
  for (const Json& strange : {Json(), Json(7), Json::array(), Json::object()}) {
    ASSERT_FALSE(parse_status(strange));
    EXPECT_THAT(parse_status(strange).error().text, HasSubstr("not one that this version understands"));
    EXPECT_FALSE(parse_windows(strange));
  }
}

TEST(EngineStateJson, WindowsAreReadBackWithWhatNobodyKnows) {
  FinishedWindow bare, described;
  bare.seq = 3;
  bare.packets = 100;
  bare.partial = true;
  bare.finished_ns = 5;
  described = bare;
  described.description = WindowDescription{ClosedBy::flush, 1, 2, 70, 7};
  described.quantities = Quantities{100, 70, 7, 9, 10, 11, 12, 13, 14};
  const auto read = parse_windows(Json::parse(windows_json({bare, described}).dump()));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_FALSE((*read)[0].description);
  EXPECT_EQ((*read)[0].packets, 100U);
  EXPECT_TRUE((*read)[0].partial);
  ASSERT_TRUE((*read)[1].description);
  EXPECT_EQ((*read)[1].description->closed_by, ClosedBy::flush);
  EXPECT_EQ((*read)[1].description->links, 70U);
  EXPECT_EQ((*read)[1].description->sources, 7U);
  EXPECT_FALSE((*read)[0].quantities);
  EXPECT_EQ((*read)[1].quantities, described.quantities);
  const Json json = windows_json({described}).at("windows").at(0);
  EXPECT_EQ(json.at("destinations"), 9);
  EXPECT_EQ(json.at("quantities").at("max_fan_in"), 14);
}

TEST(EngineStateJson, ReasonsAreThoseOfManifests) {
  for (const ClosedBy reason :
       {ClosedBy::full, ClosedBy::end, ClosedBy::time, ClosedBy::key, ClosedBy::exclusions, ClosedBy::flush}) {
    ManifestWindow window;
    window.closed_by = reason;
    EXPECT_THAT(to_journal_line(window), HasSubstr("\"closed_by\":\"" + std::string(to_string(reason)) + "\""));
  }
}

TEST(EngineState, NothingEverGoesBack) {
  test::RunningGraph graph(test::small_graph());
  ASSERT_TRUE(graph.runtime->run());
  const EngineStatus first = graph.state->status();
  const EngineStatus second = graph.state->status();
  EXPECT_GE(second.seconds, first.seconds);
  ASSERT_EQ(first.stages.size(), second.stages.size());
  for (size_t i = 0; i < first.stages.size(); ++i) {
    EXPECT_EQ(second.stages[i].sum().busy_s, first.stages[i].sum().busy_s) << "it is over: no more, and no less";
    EXPECT_LE(first.stages[i].sum().busy_s, first.seconds * 2);
  }
}

}  // namespace
}  // namespace trama
