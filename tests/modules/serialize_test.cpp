// Blobs are tested in tests/libclient/blob_test.cpp; here, that each way to write one gives the same matrix, and that
// the direct writer with the LZ4 library gives the very bytes of GraphBLAS.
#include <random>

#include "tests/modules/address_batches.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

// Puts one matrix through a serialize stage.
std::vector<uint8_t> serialize(const std::string& parameters, const std::vector<test::Pair>& pairs) {
  StageHarness<TrafficMatrix, SerializedMatrix> harness(
      "serialize", parameters, {.sizes = {.batch_items = 64, .window_items = 20000}, .credits = 2});
  TrafficMatrix* matrix = harness.input();
  if (matrix == nullptr) return {};
  std::vector<uint32_t> source, destination;
  for (const auto& [s, d] : pairs) {
    source.push_back(s);
    destination.push_back(d);
  }
  MatrixBuilder(20000).build(source.data(), destination.data(), pairs.size(), IndexOrder::numeric, matrix->storage);
  matrix->tally = {};
  matrix->tally[Verdict::counted] = pairs.size();
  matrix->skip = false;
  const uint64_t links = matrix->storage.view().links();
  harness.push(matrix);
  SerializedMatrix* out = harness.next();
  if (out == nullptr) return {};
  EXPECT_EQ(out->packets, pairs.size());
  EXPECT_EQ(out->links, links);
  return {out->blob, out->blob + out->bytes};
}

TEST(Serialize, EveryWayGivesTheSameMatrix) {
  for (const size_t pairs_wanted : {size_t{1}, size_t{2}, size_t{3}, size_t{40}, size_t{20000}}) {
    SCOPED_TRACE(pairs_wanted);
    std::mt19937 random(static_cast<uint32_t>(pairs_wanted));
    std::vector<test::Pair> pairs(pairs_wanted);
    for (auto& [s, d] : pairs) s = static_cast<uint32_t>(random() % 5000), d = static_cast<uint32_t>(random());
    const auto right = read_blob(serialize("", pairs));
    ASSERT_TRUE(right);
    static const char* const kWays[] = {"compression = \"zstd\"",
                                        "compression = \"none\"",
                                        "lz4 = \"library\"",
                                        "writer = \"graphblas\"",
                                        "writer = \"graphblas\"\ncompression = \"zstd\"",
                                        "writer = \"graphblas\"\ncompression = \"none\""};
    for (const char* way : kWays) {
      const auto matrix = read_blob(serialize(way, pairs));
      ASSERT_TRUE(matrix) << way;
      EXPECT_EQ(*matrix, *right) << way;
    }
    EXPECT_EQ(serialize("lz4 = \"library\"", pairs), serialize("writer = \"graphblas\"", pairs));
  }
}

TEST(Serialize, ATailHasNoBlob) {
  StageHarness<TrafficMatrix, SerializedMatrix> harness("serialize");
  TrafficMatrix* matrix = harness.input();
  matrix->tally = {};
  matrix->tally[Verdict::ipv6] = 4;
  matrix->storage.set_size(0, 0);
  matrix->skip = true;
  harness.push(matrix);
  SerializedMatrix* out = harness.next();
  EXPECT_TRUE(out->skip);
  EXPECT_EQ(out->bytes, 0u);
  EXPECT_EQ(out->tally[Verdict::ipv6], 4u);
}

}  // namespace
}  // namespace trama
