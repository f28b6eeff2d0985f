#include "modules/messages.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

TEST(Pass, HandsOnTheSameMessages) {
  StageHarness<PacketBatch, PacketBatch> harness("pass");
  for (int i = 0; i < 5; ++i) {
    PacketBatch* batch = harness.input();
    batch->tally[Verdict::cut] = static_cast<uint64_t>(i);
    harness.push(batch);
    PacketBatch* out = harness.next();
    ASSERT_EQ(out, batch);
    EXPECT_EQ(out->tally[Verdict::cut], static_cast<uint64_t>(i));
  }
  harness.finish();
  EXPECT_EQ(harness.next(), nullptr);
  EXPECT_TRUE(harness.ended());
}

}  // namespace
}  // namespace trama
