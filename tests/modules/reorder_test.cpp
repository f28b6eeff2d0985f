// The buffer itself is tested in tests/engine/reorder_test.cpp; here, that the stage is wired to it.
#include "engine/graph_spec.hpp"
#include "modules/messages.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

TEST(Reorder, HandsOnInOrder) {
  StageHarness<AddressBatch, AddressBatch> harness("reorder");
  std::vector<AddressBatch*> pushed;
  for (int i = 0; i < 8; ++i) {
    pushed.push_back(harness.input());
    harness.push(pushed.back());
  }
  for (uint64_t seq = 0; seq < 8; ++seq) {
    AddressBatch* out = harness.next();
    ASSERT_EQ(out, pushed[seq]);
    EXPECT_EQ(out->seq, seq);
  }
  EXPECT_EQ(harness.next(), nullptr);
}

TEST(Reorder, RestoresOrderAndSaysSo) {
  EXPECT_EQ(Registry::instance().find("reorder")->info.ordering, Ordering::restores);
  EXPECT_EQ(Registry::instance().find("reorder")->info.parallelism, Parallelism::serial);
}

}  // namespace
}  // namespace trama
