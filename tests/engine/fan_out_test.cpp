// One message, several readers: sinks, stages that pass it on, stages that make another of it, readers that may lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "tests/engine/pipeline.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

struct Counting final : RetireObserver {
  void retired(const Message& message) noexcept override {
    std::lock_guard lock(mutex);
    twice += !numbers.insert(message.seq).second;
    const auto* numbers_message = dynamic_cast<const Numbers*>(&message);
    const auto* chosen = dynamic_cast<const Chosen*>(&message);
    const uint32_t value = numbers_message ? numbers_message->value[0] : chosen ? chosen->value[0] : 0;
    spoilt += value != message.seq * 3 + 1;
  }
  std::mutex mutex;
  std::set<uint64_t> numbers;
  uint64_t twice = 0, spoilt = 0;
};

uint64_t lost_by(const Runtime& runtime, const std::string& name) {
  for (const StageCounters& stage : runtime.counters())
    if (stage.name == name) return stage.lost;
  return 0;
}

struct Graph {
  Graph() { fixture.services().add(hooks); }
  GraphFixture fixture;
  std::shared_ptr<Hooks> hooks = std::make_shared<Hooks>();
  Counting observer;

  // Even seeds are schedules of the simulator, odd ones run threads. True when it came to its end.
  std::unique_ptr<Runtime> run(uint64_t seed, size_t credits) {
    FixturePlan plan;
    plan.workers = 1 + Random(seed)(6);
    plan.batch_credits = plan.window_credits = credits;
    plan.observer = &observer;
    auto runtime = fixture.make(plan);
    if (seed % 2 == 0)
      EXPECT_TRUE(Simulator(*runtime).run(seed, plan.workers));
    else
      runtime->run();
    EXPECT_EQ(runtime->numbers_alive(), 0u);
    EXPECT_EQ(observer.numbers.size(), hooks->messages);
    EXPECT_EQ(observer.twice, 0u);
    EXPECT_EQ(observer.spoilt, 0u);
    for (const StageCounters& stage : runtime->counters()) EXPECT_EQ(stage.failed_pushes, 0u);
    return runtime;
  }
  void expect_all(const std::string& sink) {
    std::vector<uint64_t>& seen = hooks->seen[sink];
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), hooks->messages) << sink;
    for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i) << sink;
  }
};

constexpr uint64_t kSeeds = 40;

TEST(FanOut, AllReadersSeeEveryMessage) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Graph graph;
    graph.fixture.add<CountSource>("source");
    for (const char* sink : {"a", "b", "c"}) graph.fixture.add<HookSink<>>(sink, {.from = "source"});
    graph.run(seed, 1 + seed % 4);
    for (const char* sink : {"a", "b", "c"}) graph.expect_all(sink);
  }
}

// Behind a fan-out the same buffer goes on, fans out again and ends in several sinks; other branches make their own.
TEST(FanOut, ATreeOfPassingAndTransformingBranches) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Graph graph;
    graph.fixture.add<CountSource>("source");
    graph.fixture.add<PassStage>("pass", {.from = "source", .replicas = 1 + seed % 3});
    graph.fixture.add<CopyStage>("copy", {.from = "source", .replicas = 1 + seed % 2});
    graph.fixture.add<CopyStage>("other", {.from = "pass", .replicas = 2, .route = Route::by_window});
    graph.fixture.add<HookSink<>>("sink_of_source", {.from = "source"});
    graph.fixture.add<HookSink<>>("sink_of_pass", {.from = "pass"});
    graph.fixture.add<HookSink<>>("sink_of_copy", {.from = "copy"});
    graph.fixture.add<HookSink<>>("second_of_copy", {.from = "copy"});
    graph.fixture.add<HookSink<>>("sink_of_other", {.from = "other"});
    graph.run(seed, 1 + seed % 5);
    for (const char* sink : {"sink_of_source", "sink_of_pass", "sink_of_copy", "second_of_copy", "sink_of_other"})
      graph.expect_all(sink);
  }
}

// One source of windows, two ways to a sink with a message type each: stamp -> scramble is refused there, copies
// aren't.
TEST(FanOut, TransformingBranchesBehindAnOpeningStage) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    auto run = std::make_shared<PipelineRun>();
    run->setup.seed = seed;
    run->setup.window = 40;
    graph.services().add(hooks);
    graph.services().add(run);
    graph.add<NumberSource>("numbers");
    graph.add<ChooseStage>("parse", {.from = "numbers"});
    graph.add<StampStage>("stamp", {.from = "parse"});
    graph.add<BuildStage>("build", {.from = "stamp", .replicas = 3});
    graph.add<BuildStage>("again", {.from = "stamp", .replicas = 2});
    graph.add<ReorderStage>("in_order", {.from = "build"});
    graph.add<RecordSink>("left", {.from = "in_order"});
    graph.add<ReorderStage>("again_in_order", {.from = "again"});
    graph.add<RecordSink>("right", {.from = "again_in_order"});
    auto runtime = graph.make({.workers = 1 + seed % 6, .batch_credits = 1 + seed % 3, .window_credits = 1 + seed % 4});
    if (seed % 2 == 0)
      ASSERT_TRUE(Simulator(*runtime).run(seed, 4));
    else
      runtime->run();
    EXPECT_EQ(runtime->numbers_alive(), 0u);
    EXPECT_GT(run->sinks[0].messages, 0u);
    EXPECT_EQ(run->sinks[0], run->sinks[1]);
  }
}

// A reader that may lose and never lets go until the end: it gets its slots' worth, all else passes it by.
TEST(FanOut, AStuckReaderThatMayLoseHoldsUpNobody) {
  constexpr size_t kSlots = 3;
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Graph graph;
    std::vector<Message*> kept;
    graph.hooks->sinks["publish"] = [&](Message& in, OutputBase&) {
      kept.push_back(&in);
      return Step::done;
    };
    graph.hooks->drains["publish"] = [&](OutputBase& out) {
      for (Message* message : kept) out.release(message);
      return Step::done;
    };
    graph.fixture.add<CountSource>("source");
    graph.fixture.add<CopyStage>("copy", {.from = "source", .replicas = 1 + seed % 3});
    graph.fixture.add<HookSink<>>("archive", {.from = "copy"});
    graph.fixture.add<HookSink<kSlots>>("publish", {.from = "copy"});
    const auto runtime = graph.run(seed, 1 + seed % 4);
    graph.expect_all("archive");
    EXPECT_EQ(kept.size(), kSlots);
    EXPECT_EQ(lost_by(*runtime, "publish"), graph.hooks->messages - kSlots);
    EXPECT_EQ(lost_by(*runtime, "archive"), 0u);
  }
}

// A slow one sees some and loses the others: together they are all, and no message is seen twice or spoilt.
TEST(FanOut, ASlowReaderThatMayLoseLosesExactlyWhatIsCounted) {
  Watchdog watchdog;
  const uint64_t count = runs(kSeeds, 500);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Graph graph;
    graph.hooks->messages = 1000;
    Random random(seed);
    std::vector<Message*> kept;
    std::vector<uint64_t> seen;
    size_t spoilt = 0;
    const auto let_go = [&](OutputBase& out) {
      for (Message* message : kept) {
        spoilt += static_cast<Chosen*>(message)->value[0] != message->seq * 3 + 1;
        out.release(message);
      }
      kept.clear();
      return Step::done;
    };
    graph.hooks->sinks["publish"] = [&](Message& in, OutputBase& out) {
      seen.push_back(in.seq);
      kept.push_back(&in);
      return random(3) == 0 || kept.size() == 2 ? let_go(out) : Step::done;
    };
    graph.hooks->drains["publish"] = let_go;
    graph.fixture.add<CountSource>("source");
    graph.fixture.add<CopyStage>("copy", {.from = "source", .replicas = 1 + seed % 3});
    graph.fixture.add<HookSink<>>("archive", {.from = "copy"});
    graph.fixture.add<HookSink<2>>("publish", {.from = "copy"});
    const auto runtime = graph.run(seed, 1 + seed % 3);
    graph.expect_all("archive");
    EXPECT_EQ(seen.size() + lost_by(*runtime, "publish"), graph.hooks->messages);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(spoilt, 0u) << "a buffer was used again while the reader still held it";
  }
}

TEST(FanOut, OnlyReadersThatMayLose) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Graph graph;
    graph.fixture.add<CountSource>("source");
    graph.fixture.add<PassStage>("pass", {.from = "source"});
    graph.fixture.add<HookSink<1>>("a", {.from = "pass"});
    if (seed % 3 != 0) graph.fixture.add<HookSink<4>>("b", {.from = "pass"});
    const auto runtime = graph.run(seed, 1 + seed % 3);
    EXPECT_EQ(graph.hooks->seen["a"].size() + lost_by(*runtime, "a"), graph.hooks->messages);
    if (seed % 3 != 0) {
      EXPECT_EQ(graph.hooks->seen["b"].size() + lost_by(*runtime, "b"), graph.hooks->messages);
    }
  }
}

}  // namespace
}  // namespace trama
