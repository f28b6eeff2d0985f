// Nothing is allocated between the first and the last message, on the threads that run stages.
#include <gtest/gtest.h>

#include "tests/engine/pipeline_stages.hpp"
#include "tests/engine/small_stages.hpp"
#include "tests/support/allocation_counter.hpp"

namespace trama {
namespace {

// Marks the threads that come by as such that run stages.
class MarkStage final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{
      .kind = "mark", .summary = "hands on", .parallelism = Parallelism::replicated, .ordering = Ordering::preserves};
  MarkStage(const Parameters&, const ReplicaContext&) {}
  Step process(Message& in, Output<Message>& out) override {
    test::count_this_thread();
    out.push(&in);
    return Step::done;
  }
};

// Allocates where it must not: the test of the test.
class LeakyStage final : public Stage<Message, Message> {
 public:
  using Parameters = NoParameters;
  static constexpr StageInfo kInfo{.kind = "leaky", .summary = "allocates"};
  LeakyStage(const Parameters&, const ReplicaContext&) {}
  Step process(Message& in, Output<Message>& out) override {
    numbers_.push_back(in.seq);
    out.push(&in);
    return Step::done;
  }

 private:
  std::vector<uint64_t> numbers_;
};

size_t allocations_of(size_t workers, bool leaky) {
  constexpr size_t kMessages = 20000;
  GraphFixture graph;
  auto hooks = std::make_shared<Hooks>();
  hooks->messages = kMessages;
  hooks->first = [] { test::start_counting(); };
  hooks->sinks["sink"] = [](Message& in, OutputBase& out) {
    if (in.seq == kMessages - 1) test::stop_counting();
    out.release(&in);
    return Step::done;
  };
  graph.services().add(hooks);
  graph.add<CountSource>("source");
  graph.add<MarkStage>("mark", {.from = "source", .replicas = 3});
  graph.add<CopyStage>("copy", {.from = "mark", .replicas = 3});
  std::string last = "copy";
  if (leaky) {
    graph.add<LeakyStage>("leaky", {.from = last});
    last = "leaky";
  }
  graph.add<ReorderStage>("in_order", {.from = last});
  graph.add<HookSink<>>("sink", {.from = "in_order"});
  graph.add<HookSink<2>>("publish", {.from = "in_order"});
  hooks->sinks["publish"] = [](Message& in, OutputBase& out) {
    out.release(&in);
    return Step::done;
  };
  auto runtime = graph.make({.workers = workers, .batch_credits = 6});
  runtime->run();
  return test::allocations_counted();
}

TEST(Allocation, NoneBetweenTheFirstAndTheLastMessage) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "the allocator of this build can't be counted";
  for (size_t workers : {1u, 2u, 4u, 8u}) EXPECT_EQ(allocations_of(workers, false), 0u) << workers << " workers";
}

TEST(Allocation, OneInAStageIsNoticed) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "the allocator of this build can't be counted";
  EXPECT_GT(allocations_of(2, true), 0u);
}

}  // namespace
}  // namespace trama
