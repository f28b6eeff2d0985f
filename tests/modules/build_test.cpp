// Sorting and summing are tested in tests/modules/support/traffic_matrix_test.cpp; here, what becomes of windows.
#include "tests/modules/address_batches.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

using test::Pair;

TEST(Build, SumsDuplicatesAndKeepsWhatTheWindowCarries) {
  StageHarness<AnonymizedWindow, TrafficMatrix> harness("build");
  AnonymizedWindow* window = harness.input();
  test::fill(*window, {{5, 6}, {1, 2}, {5, 6}, {0xFFFFFFFF, 0}});
  const auto key = window->key = std::make_shared<const AnonymizationKey>();
  window->closed_by = ClosedBy::end;
  harness.push(window);
  TrafficMatrix* out = harness.next();
  ASSERT_NE(out, nullptr);
  const HyperCsr matrix = out->storage.view();
  EXPECT_EQ(std::vector(matrix.row.begin(), matrix.row.end()), (std::vector<uint32_t>{1, 5, 0xFFFFFFFF}));
  EXPECT_EQ(std::vector(matrix.column.begin(), matrix.column.end()), (std::vector<uint32_t>{2, 6, 0}));
  EXPECT_EQ(std::vector(matrix.count.begin(), matrix.count.end()), (std::vector<uint32_t>{1, 2, 1}));
  EXPECT_EQ(out->key, key);
  EXPECT_EQ(out->closed_by, ClosedBy::end);
  EXPECT_EQ(out->tally[Verdict::counted], 4u);
}

TEST(Build, RawOrderSwapsTheBytes) {
  StageHarness<AnonymizedWindow, TrafficMatrix> harness("build", "index_order = \"raw\"");
  AnonymizedWindow* window = harness.input();
  test::fill(*window, {{0x01020304, 0x0A000001}});
  harness.push(window);
  TrafficMatrix* out = harness.next();
  EXPECT_EQ(out->storage.view().row[0], 0x04030201u);
  EXPECT_EQ(out->storage.view().column[0], 0x0100000Au);
  EXPECT_EQ(out->index_order, IndexOrder::raw);
}

TEST(Build, ATailIsAnEmptyMatrix) {
  StageHarness<AnonymizedWindow, TrafficMatrix> harness("build");
  AnonymizedWindow* window = harness.input();
  test::fill(*window, {});
  window->skip = true;
  window->tally[Verdict::cut] = 9;
  harness.push(window);
  TrafficMatrix* out = harness.next();
  EXPECT_TRUE(out->skip);
  EXPECT_EQ(out->storage.view().links(), 0u);
  EXPECT_EQ(out->tally[Verdict::cut], 9u);
}

}  // namespace
}  // namespace trama
