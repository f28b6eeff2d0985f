#include "modules/messages.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

TEST(Null, LetsGoOfEverythingAndTheLedgerKnows) {
  Ledger ledger;
  StageHarness<AddressBatch, Nothing> harness("null", "", {.credits = 2, .observer = &ledger});
  for (int i = 0; i < 100; ++i) {
    AddressBatch* batch = harness.input();
    ASSERT_NE(batch, nullptr);  // with two credits: it was let go of
    batch->tally = {};
    batch->tally[Verdict::ipv6] = 3;
    harness.push(batch);
  }
  harness.finish();
  EXPECT_EQ(ledger.sum()[Verdict::ipv6], 300u);
  EXPECT_EQ(ledger.sum().seen(), 300u);
}

}  // namespace
}  // namespace trama
