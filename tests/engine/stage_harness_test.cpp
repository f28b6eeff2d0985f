// How a stage is tested: the engine's own test stages in the harness.
#include "tests/support/stage_harness.hpp"

#include "tests/engine/small_stages.hpp"

namespace trama {
namespace {

struct Limit {
  uint64_t most = 3;
  bool keep = false;
  void bind(ParameterBinder& binder) {
    binder.integer("most", most, 1, 10, "values of a window");
    binder.flag("keep", keep, "the last one too");
  }
};

// Cuts values into windows of `most`.
class CutStage final : public Stage<Numbers, Heap> {
 public:
  using Parameters = Limit;
  static constexpr StageInfo kInfo{.kind = "cut", .summary = "cuts windows", .numbering = Numbering::opens};
  CutStage(const Parameters& limit, const ReplicaContext&) : limit_(limit) {}
  Step process(Numbers& in, Output<Heap>& out) override {
    for (; used_ < in.items; ++used_) {
      if (!heap_) heap_ = out.begin();
      if (!heap_) return Step::blocked;
      heap_->value[heap_->items++] = in.value[used_];
      if (heap_->items == limit_.most) out.push(std::exchange(heap_, nullptr));
    }
    used_ = 0;
    out.release(&in);
    return Step::done;
  }
  Step drain(Output<Heap>& out) override {
    if (heap_ && limit_.keep) out.push(std::exchange(heap_, nullptr));
    return Step::done;
  }

 private:
  Limit limit_;
  uint32_t used_ = 0;
  Heap* heap_ = nullptr;
};

const Registry& local_registry() {
  static const Registry registry = [] {
    Registry local;
    local.add(describe<CutStage>());
    local.add(describe<PassStage>());
    local.add(describe<CountSource>());
    local.add(describe<HookSink<>>());
    return local;
  }();
  return registry;
}

HarnessOptions options(size_t credits = 16) { return {.credits = credits, .registry = &local_registry()}; }

void push_values(StageHarness<Numbers, Heap>& harness, uint32_t count) {
  Numbers* in = harness.input();
  ASSERT_NE(in, nullptr);
  in->items = count;
  for (uint32_t i = 0; i < count; ++i) in->value[i] = i;
  harness.push(in);
}

TEST(StageHarness, ReadsWhatAStagePushes) {
  StageHarness<Numbers, Heap> harness("cut", "most = 4\nkeep = true", options());
  push_values(harness, 3);
  EXPECT_EQ(harness.next(), nullptr);
  push_values(harness, 6);
  for (uint64_t seq = 0; seq < 2; ++seq) {
    Heap* heap = harness.next();
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(heap->seq, seq);
    EXPECT_EQ(heap->items, 4u);
  }
  EXPECT_EQ(harness.next(), nullptr);
  harness.finish();
  Heap* last = harness.next();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->items, 1u);
  EXPECT_EQ(last->value[0], 5u);
  EXPECT_EQ(harness.next(), nullptr);
  EXPECT_TRUE(harness.ended());
  EXPECT_EQ(harness.runtime().numbers_alive(), 0u);
}

// More windows in one batch than there are credits: the stage is blocked and comes back as the test reads on.
TEST(StageHarness, ABlockedStageGoesOnWhenItsMessagesAreRead) {
  StageHarness<Numbers, Heap> harness("cut", "most = 2", options(2));
  push_values(harness, 20);
  for (uint32_t i = 0; i < 10; ++i) {
    Heap* heap = harness.next();
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(heap->value[1], 2 * i + 1);
  }
  EXPECT_EQ(harness.next(), nullptr);
}

TEST(StageHarness, TellsWhatIsWrongWithParameters) {
  StageHarness<Numbers, Heap> range("cut", "most = 11", options());
  EXPECT_EQ(range.start().size(), 1u);
  StageHarness<Numbers, Heap> unknown("cut", "moist = 3", options());
  EXPECT_EQ(unknown.start().size(), 1u);
  StageHarness<Numbers, Heap> kind("cuts", "", options());
  EXPECT_EQ(kind.start().size(), 1u);
}

TEST(StageHarness, AnyTypeSourcesAndSinks) {
  StageHarness<Numbers, Numbers> pass("pass", "", options());
  Numbers* in = pass.input();
  pass.push(in);
  EXPECT_EQ(pass.next(), in);
  pass.finish();

  StageHarness<void, Numbers> source("count", "", options(4));
  source.services().get<Hooks>()->messages = 9;
  for (uint64_t seq = 0; seq < 9; ++seq) {
    Numbers* out = source.next();
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out->seq, seq);
  }
  EXPECT_EQ(source.next(), nullptr);
  EXPECT_TRUE(source.ended());

  StageHarness<Numbers, Nothing> sink("hook", "", options());
  for (int i = 0; i < 40; ++i) sink.push(sink.input());
  sink.finish();
  EXPECT_EQ(sink.services().get<Hooks>()->seen["hook"].size(), 40u);
}

}  // namespace
}  // namespace trama
