// Nothing is allocated between the first and the last message: malloc and its kin are counted, on the threads that run
// stages, from their first step on. Needs a program without sanitizers, which have an allocator of their own.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/engine/pipeline.hpp"
#include "tests/engine/small_stages.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define TRAMA_COUNTS_ALLOCATIONS 0
#else
#define TRAMA_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<size_t> allocations{0};
thread_local bool runs_stages = false;

[[maybe_unused]] void note_allocation() {
  if (runs_stages && counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#if TRAMA_COUNTS_ALLOCATIONS
// The GNU C library's own names of its allocator: what a program defines under the usual names is used by all of it,
// operator new and the library itself included.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  note_allocation();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note_allocation();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  note_allocation();
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}
}
#endif

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
    runs_stages = true;
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
  hooks->first = [] { counting = true; };
  hooks->sinks["sink"] = [](Message& in, OutputBase& out) {
    if (in.seq == kMessages - 1) counting = false;
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
  allocations = 0;
  runtime->run();
  return allocations;
}

TEST(Allocation, NoneBetweenTheFirstAndTheLastMessage) {
  if (!TRAMA_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the allocator of this build can't be counted";
  for (size_t workers : {1u, 2u, 4u, 8u}) EXPECT_EQ(allocations_of(workers, false), 0u) << workers << " workers";
}

TEST(Allocation, OneInAStageIsNoticed) {
  if (!TRAMA_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the allocator of this build can't be counted";
  EXPECT_GT(allocations_of(2, true), 0u);
}

}  // namespace
}  // namespace trama
