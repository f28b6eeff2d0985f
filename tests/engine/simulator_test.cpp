// Schedules drawn from seeds, one thread: same output, no deadlock.
#include "engine/simulator.hpp"

#include <gtest/gtest.h>

#include "tests/engine/pipeline.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/engine/unordered_pipeline.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

TEST(Simulator, AnyScheduleGivesTheSameOutput) {
  const uint64_t count = runs(2000, 20000);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    PipelineSetup setup = draw_setup(seed);
    setup.delays = false;
    const SinkRecord expected = expected_output(setup);
    Pipeline pipeline(setup);
    ASSERT_TRUE(Simulator(pipeline.runtime()).run(seed, setup.workers)) << "deadlock";
    ASSERT_EQ(pipeline.broken_rule(), "");
    ASSERT_EQ(pipeline.left(), expected);
    ASSERT_GT(expected.messages, 0u);
  }
}

TEST(Simulator, NumbersMayRetireOutOfOrder) {
  const uint64_t count = runs(500, 5000);
  for (uint64_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    PipelineSetup setup = draw_setup(seed);
    setup.delays = false;
    uint64_t sum = 0;
    ASSERT_EQ(run_unordered(setup, true, sum), "");
    ASSERT_EQ(sum, expected_sum(setup));
  }
}

// The test of the test: another input is another output.
TEST(Simulator, AnotherSeedOfTheDataIsAnotherOutput) {
  PipelineSetup setup = draw_setup(1);
  const SinkRecord one = expected_output(setup);
  setup.seed = 2;
  EXPECT_FALSE(expected_output(setup) == one);
}

TEST(Simulator, OneSeedIsOneSchedule) {
  const auto order_of = [](uint64_t seed) {
    GraphFixture graph;
    auto hooks = std::make_shared<Hooks>();
    std::vector<uint64_t> order;
    hooks->messages = 100;
    hooks->sinks["sink"] = [&](Message& in, OutputBase& out) {
      order.push_back(in.seq);
      out.release(&in);
      return Step::done;
    };
    graph.services().add(hooks);
    graph.add<CountSource>("source");
    graph.add<PassStage>("pass", {.from = "source", .replicas = 4});
    graph.add<HookSink<>>("sink", {.from = "pass"});
    auto runtime = graph.make({.batch_credits = 8});
    EXPECT_TRUE(Simulator(*runtime).run(seed, 4));
    return order;
  };
  const std::vector<uint64_t> first = order_of(1);
  EXPECT_EQ(first.size(), 100u);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end())) << "replicas break order, or the schedules are too tame";
  EXPECT_EQ(first, order_of(1));
  EXPECT_NE(first, order_of(2));
}

// A sink that needs more messages at once than there are credits: the deadlock that the checker refuses (`holds`).
TEST(Simulator, ReportsADeadlock) {
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 100;
  std::vector<Message*> kept;
  hooks->sinks["sink"] = [&](Message& in, OutputBase& out) {
    kept.push_back(&in);
    if (kept.size() < 3) return Step::done;
    for (Message* message : kept) out.release(message);
    kept.clear();
    return Step::done;
  };
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<HookSink<>>("sink", {.from = "source"});
  EXPECT_FALSE(Simulator(*graph.make({.batch_credits = 2})).run(1, 2));
  kept.clear();
  EXPECT_TRUE(Simulator(*graph.make({.batch_credits = 3})).run(1, 2));
}

TEST(Simulator, RunUntilQuietEndsWithTheGraph) {
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = 10;
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<HookSink<>>("sink", {.from = "source"});
  auto runtime = graph.make({});
  EXPECT_TRUE(Simulator(*runtime).run_until_quiet());
  EXPECT_EQ(runtime->numbers_alive(), 0u);
  EXPECT_EQ(hooks->seen["sink"].size(), 10u);
}

}  // namespace
}  // namespace trama
