// Blobs and compact matrices are tested in tests/libclient/; here, that each way to write one gives the same matrix,
// that the direct writer with the LZ4 library gives the very bytes of GraphBLAS, and that compact matrices come only to
// those who take them.
#include <random>

#include "engine/graph_spec.hpp"
#include "engine/plan.hpp"
#include "modules/support/window_log.hpp"
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
  const bool compact = parameters.find("compact") != std::string::npos;
  EXPECT_EQ(out->encoding, compact ? MatrixEncoding::compact : MatrixEncoding::blob);
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
    const auto compact = read_compact(serialize("encoding = \"compact\"", pairs));
    ASSERT_TRUE(compact);
    EXPECT_EQ(*compact, *right);
  }
}

TEST(Serialize, WhoWatchesTheRunIsToldOfAWindow) {
  StageHarness<TrafficMatrix, SerializedMatrix> harness("serialize");
  TrafficMatrix* matrix = harness.input();
  ASSERT_NE(matrix, nullptr);
  const uint32_t source[] = {1, 1, 2}, destination[] = {5, 6, 5};
  matrix->tally = {};
  matrix->skip = false;
  MatrixBuilder(3).build(source, destination, 3, IndexOrder::numeric, matrix->storage);
  const uint64_t seq = matrix->seq;
  harness.push(matrix);
  const SerializedMatrix* out = harness.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->sources, 2u);
  const auto log = harness.services().get<WindowLog>();
  log->finished(seq, 3, false, 1);
  const auto windows = log->last(1);
  ASSERT_EQ(windows.size(), 1u);
  ASSERT_TRUE(windows[0].quantities);
  EXPECT_EQ(*windows[0].quantities, (Quantities{3, 3, 2, 2, 1, 2, 2, 2, 2}));
}

TEST(Serialize, ACompactMatrixSaysItsIndexOrder) {
  for (const IndexOrder order : {IndexOrder::numeric, IndexOrder::raw}) {
    StageHarness<TrafficMatrix, SerializedMatrix> harness("serialize", "encoding = \"compact\"");
    TrafficMatrix* matrix = harness.input();
    const uint32_t source[] = {1}, destination[] = {2};
    matrix->tally = {};
    matrix->skip = false;
    matrix->index_order = order;
    MatrixBuilder(1).build(source, destination, 1, order, matrix->storage);
    harness.push(matrix);
    const SerializedMatrix* out = harness.next();
    CompactReader reader;
    const auto read = reader.read({out->blob, out->bytes});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->raw_order, order == IndexOrder::raw);
  }
}

class ATail : public testing::TestWithParam<const char*> {};

TEST_P(ATail, HasNoBytes) {
  StageHarness<TrafficMatrix, SerializedMatrix> harness("serialize", GetParam());
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

INSTANTIATE_TEST_SUITE_P(Serialize, ATail, testing::Values("", "encoding = \"compact\""));

TEST(Serialize, WhatIsAboutBlobsIsRefusedForCompactMatrices) {
  for (const char* parameter : {"compression = \"lz4\"", "writer = \"direct\"", "lz4 = \"library\""}) {
    SCOPED_TRACE(parameter);
    StageHarness<TrafficMatrix, SerializedMatrix> harness("serialize",
                                                          "encoding = \"compact\"\n" + std::string(parameter));
    const Diagnostics wrong = harness.start();
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_EQ(wrong[0].place.line, 2);
    StageHarness<TrafficMatrix, SerializedMatrix> blob("serialize", "encoding = \"blob\"\n" + std::string(parameter));
    EXPECT_TRUE(blob.start().empty());
  }
}

// The whole pipeline, with `sink` at its end.
tl::expected<std::unique_ptr<Runtime>, Diagnostics> pipeline(const std::string& encoding, const std::string& sink,
                                                             Services& services, Ledger& ledger) {
  const auto spec = parse_graph(
      "[graph]\nwindow_packets = 1000\nworkers = 1\nlinks = [\"synthetic -> parse -> stamp -> "
      "anonymize -> build -> serialize -> " +
          sink +
          "\"]\n"
          "[stages.synthetic]\npackets = 2500\n"
          "[stages.serialize]\nencoding = \"" +
          encoding + "\"\n",
      "graph.toml");
  auto checked = check(spec.value(), Registry::instance());
  const auto plan = make_plan(std::move(checked.value()), {0});
  return Runtime::make(plan.value(), services, &ledger);
}

TEST(Serialize, CompactMatricesNeverComeToAnArchive) {
  Services services;
  Ledger ledger;
  const auto refused = pipeline("compact", "archive", services, ledger);
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().size(), 1u);
  EXPECT_EQ(refused.error()[0].text, "`serialize` writes compact matrices, but `archive` takes blobs");
  EXPECT_EQ(refused.error()[0].place, (Place{"graph.toml", 8}));
  Services others;
  EXPECT_TRUE(pipeline("blob", "archive", others, ledger));
}

TEST(Serialize, CompactMatricesAreMeasuredInFrontOfNull) {
  Services services;
  Ledger ledger;
  auto runtime = pipeline("compact", "null", services, ledger);
  ASSERT_TRUE(runtime);
  ASSERT_TRUE((*runtime)->run());
  EXPECT_EQ(ledger.sum()[Verdict::counted], 2500u);
  for (const StageCounters& stage : (*runtime)->counters()) {
    if (stage.name == "serialize") {
      EXPECT_EQ(stage.replicas[0].items, 2500u);
    }
  }
}

}  // namespace
}  // namespace trama
