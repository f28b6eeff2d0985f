// Threads: same output whatever replicas, workers, batch sizes, credits, delays and skips; never stuck; stops cleanly.
#include "engine/runtime.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "engine/sanitizers.hpp"
#include "tests/engine/pipeline.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/engine/unordered_pipeline.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/watchdog.hpp"

namespace trama {
namespace {

TEST(Runtime, AnyPlanAndTimingGivesTheSameOutput) {
  Watchdog watchdog;
  const uint64_t count = runs(200, 2000);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    const PipelineSetup setup = draw_setup(seed);
    const SinkRecord expected = expected_output(setup);
    Pipeline pipeline(setup);
    pipeline.runtime().run();
    ASSERT_EQ(pipeline.broken_rule(), "");
    ASSERT_EQ(pipeline.left(), expected);
  }
}

TEST(Runtime, NumbersMayRetireOutOfOrder) {
  Watchdog watchdog;
  const uint64_t count = runs(60, 600);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    const PipelineSetup setup = draw_setup(seed);
    uint64_t sum = 0;
    ASSERT_EQ(run_unordered(setup, false, sum), "");
    ASSERT_EQ(sum, expected_sum(setup));
  }
}

// Every replica count with every number of workers, the smallest credits and none of the delays: the same data.
TEST(Runtime, EveryReplicaAndWorkerCountGivesTheSameOutput) {
  Watchdog watchdog;
  PipelineSetup setup = draw_setup(7);
  setup.delays = false;
  const SinkRecord expected = expected_output(setup);
  for (setup.replicas = 1; setup.replicas <= 4; ++setup.replicas)
    for (setup.workers = 1; setup.workers <= 8; ++setup.workers)
      for (size_t credits = 1; credits <= 8; credits += 7 / (1 + setup.workers % 2)) {
        setup.batch_credits = setup.window_credits = credits;
        SCOPED_TRACE(testing::Message() << "replicas " << setup.replicas << " workers " << setup.workers << " credits "
                                        << credits);
        watchdog.begins(setup.replicas * 100 + setup.workers * 10 + credits);
        Pipeline pipeline(setup);
        pipeline.runtime().run();
        ASSERT_EQ(pipeline.broken_rule(), "");
        ASSERT_EQ(pipeline.left(), expected);
      }
}

// A stop at any moment: what was received is finished, and both sinks have seen the same.
TEST(Runtime, StopsAtAnyMoment) {
  Watchdog watchdog;
  const uint64_t count = runs(200, 2000);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    PipelineSetup setup = draw_setup(seed);
    setup.delays = seed % 2 == 0;
    setup.batches = size_t{1} << 40;
    if (seed % 4 < 2) setup.batch_credits = setup.window_credits = 1;
    Pipeline pipeline(setup);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(Random(seed)(3000)));
      pipeline.runtime().stop_sources();
    });
    pipeline.runtime().run();
    stopper.join();
    ASSERT_EQ(pipeline.broken_rule(), "");
  }
}

// Graphs with next to no work and workers that give up at once: they sleep and wake all the time, without a time limit.
TEST(Runtime, NoWakeUpIsLost) {
  Watchdog watchdog;
  const uint64_t count = runs(40, 1500);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    Random random(seed);
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    hooks->messages = 5000;
    graph.services().add(hooks);
    graph.add<CountSource>("source");
    std::string last = "source";
    for (size_t i = 0, stages = 1 + random(3); i < stages; ++i) {
      const std::string name = "pass" + std::to_string(i);
      graph.add<PassStage>(name, {.from = last, .replicas = 1 + random(3)});
      last = name;
    }
    graph.add<HookSink<>>("sink", {.from = last});
    FixturePlan plan;
    plan.workers = 2 + random(5);
    plan.batch_credits = 1 + random(3);
    plan.options.spins = static_cast<int>(random(3));
    auto runtime = graph.make(plan);
    runtime->run();
    ASSERT_EQ(hooks->seen["sink"].size(), hooks->messages);
    ASSERT_EQ(runtime->numbers_alive(), 0u);
  }
}

// Only some workers may do some stages' work: whoever is woken must be one who may.
TEST(Runtime, StagesTiedToProcessorsAreNeverForgotten) {
  Watchdog watchdog;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    hooks->messages = 150;
    graph.services().add(hooks);
    graph.add<CountSource>("source", {.cores = {0}});
    graph.add<PassStage>("pass", {.from = "source", .cores = {1}});
    graph.add<CopyStage>("copy", {.from = "pass", .replicas = 2, .cores = {2, 3}});
    graph.add<HookSink<>>("sink", {.from = "copy", .cores = {0}});
    FixturePlan plan;
    plan.workers = 4;
    plan.worker_cores = {0, 1, 2, 3};  // a processor that isn't there ties nobody to it, but names the worker
    plan.batch_credits = 1 + seed % 3;
    auto runtime = graph.make(plan);
    runtime->run();
    ASSERT_EQ(hooks->seen["sink"].size(), hooks->messages);
  }
}

TEST(Runtime, EachShardGetsExactlyItsNumbers) {
  constexpr size_t kShards = 3;
  for (size_t workers : {1u, 4u}) {
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    hooks->messages = 500;
    graph.services().add(hooks);
    for (size_t r = 0; r < kShards; ++r) hooks->seen["sink/" + std::to_string(r)];
    graph.add<CountSource>("source");
    graph.add<HookSink<0, Parallelism::replicated>>("sink",
                                                    {.from = "source", .replicas = kShards, .route = Route::by_window});
    graph.make({.workers = workers, .batch_credits = 5})->run();
    size_t total = 0;
    for (size_t r = 0; r < kShards; ++r) {
      const auto& seen = hooks->seen["sink/" + std::to_string(r)];
      for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i * kShards + r);
      total += seen.size();
    }
    EXPECT_EQ(total, hooks->messages);
  }
}

TEST(Runtime, CountsWhatWentThrough) {
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 300;
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<CopyStage>("copy", {.from = "source", .replicas = 3});
  graph.add<HookSink<>>("sink", {.from = "copy"});
  auto runtime = graph.make({.workers = 3});
  runtime->run();
  const auto counters = runtime->counters();
  ASSERT_EQ(counters.size(), 3u);
  for (const StageCounters& stage : counters) {
    uint64_t messages = 0, items = 0;
    for (const ReplicaCounters& replica : stage.replicas) {
      messages += replica.messages;
      items += replica.items;
    }
    EXPECT_EQ(messages, 300u) << stage.name;
    EXPECT_EQ(items, stage.name == "sink" ? 0u : 300u) << stage.name;
  }
  EXPECT_EQ(counters[1].name, "copy");
  EXPECT_EQ(counters[1].kind, "copy");
  EXPECT_EQ(counters[1].replicas.size(), 3u);
  EXPECT_GE(counters[1].queue_peak, 1u);
}

// Told of every number once, by whoever ends it, with the message still whole; only where the domain ends in sinks.
class Notes final : public RetireObserver {
 public:
  void retired(const Message& message) noexcept override {
    std::lock_guard lock(mutex_);
    twice_ += !numbers_.insert(message.seq).second;
    const auto* built = dynamic_cast<const Built*>(&message);
    others_ += built == nullptr;
    if (built)
      for (uint32_t i = 0; i < built->items; ++i) sum_ += built->value[i];
  }
  std::mutex mutex_;
  std::set<uint64_t> numbers_;
  uint64_t twice_ = 0, others_ = 0, sum_ = 0;
};

TEST(Runtime, TheObserverIsToldOfEveryNumberOnce) {
  Watchdog watchdog;
  std::optional<uint64_t> sum;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    watchdog.begins(seed);
    PipelineSetup setup = draw_setup(seed);
    setup.seed = 1;  // the same data on every plan
    setup.batches = 80;
    setup.batch_most = 40;
    setup.window = 30;
    Notes notes;
    Pipeline pipeline(setup, &notes);
    pipeline.runtime().run();
    ASSERT_EQ(notes.twice_, 0u);
    ASSERT_EQ(notes.others_, 0u) << "a batch, whose domain another one follows";
    ASSERT_EQ(notes.numbers_.size(), pipeline.left().messages);
    ASSERT_EQ(*notes.numbers_.rbegin() + 1, pipeline.left().messages);
    if (!sum) sum = notes.sum_;
    ASSERT_EQ(notes.sum_, *sum);
  }
}

class RefusingStage final : public Stage<Numbers, Nothing> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "refuse", .summary = "can't be set up"};
  static Expected<StageFactory> make(const Parameters&, const SetupContext& context) {
    return failure("no " + context.name);
  }
  Step process(Numbers&, Output<Nothing>&) override { return Step::done; }
};

TEST(Runtime, AllSetupErrorsAtOnce) {
  GraphFixture graph;
  graph.add<CountSource>("source");
  graph.add<RefusingStage>("ham", {.from = "source"});
  graph.add<RefusingStage>("eggs", {.from = "source"});
  const auto runtime = graph.try_make({});
  ASSERT_FALSE(runtime.has_value());
  ASSERT_EQ(runtime.error().size(), 2u);
  EXPECT_EQ(runtime.error()[0].text, "no ham");
  EXPECT_EQ(runtime.error()[1].text, "no eggs");
}

TEST(Runtime, ASourceWithoutAnythingEndsAtOnce) {
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 0;
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<PassStage>("pass", {.from = "source", .replicas = 4});
  graph.add<HookSink<>>("sink", {.from = "pass"});
  graph.make({.workers = 8})->run();
  EXPECT_TRUE(hooks->seen["sink"].empty());
}

TEST(Runtime, IsDestroyedUnrunWithoutALeak) {
  const PipelineSetup setup = draw_setup(3);
  Pipeline pipeline(setup);
}

#if !defined(NDEBUG) && !TRAMA_THREAD_SANITIZER
// Once what follows is pushed, its number may end, and the next one would find no buffer.
class WrongOrder final : public Stage<Numbers, Chosen> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "wrong", .summary = "pushes before it releases"};
  WrongOrder(const Parameters&, const ReplicaContext&) {}
  Step process(Numbers& in, Output<Chosen>& out) override {
    out.push(out.follow(in));
    out.release(&in);
    return Step::done;
  }
};
TEST(RuntimeDeathTest, AStageThatPushesBeforeItReleasesIsOurMistake) {
  GraphFixture graph;
  graph.add<CountSource>("source");
  graph.add<WrongOrder>("wrong", {.from = "source"});
  graph.add<HookSink<>>("sink", {.from = "wrong"});
  auto runtime = graph.make({});
  EXPECT_DEATH(Simulator(*runtime).run(1, 1), "buffer first, credit second");
}
#endif

}  // namespace
}  // namespace trama
