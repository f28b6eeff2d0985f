// What counts is tested in tests/modules/support/header_walk_test.cpp; here, what becomes of a batch.
#include "modules/messages.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/stage_harness.hpp"

namespace trama {
namespace {

class Parse : public ::testing::Test {
 protected:
  void add(PacketBatch& batch, const PacketBytes& bytes, uint16_t link_type, Verdict verdict = Verdict::counted) {
    kept_.emplace_back(bytes);
    Packet& packet = batch.packets[batch.count];
    packet = kept_.back().packet(link_type, 1000 + static_cast<int64_t>(batch.count));
    packet.verdict = verdict;
    ++batch.count;
  }
  PacketBatch* empty() {
    PacketBatch* batch = harness_.input();
    batch->count = 0;
    batch->tally = {};
    batch->judges = 7;
    return batch;
  }
  std::deque<CapturedPacket> kept_;
  StageHarness<PacketBatch, AddressBatch> harness_{"parse"};
};

TEST_F(Parse, KeepsAddressesTimesAndVerdictsInOrder) {
  PacketBatch* batch = empty();
  add(*batch, ethernet_ipv4_packet(0x0A000001, 0xC0000201), kEthernetLink);
  add(*batch, PacketBuilder().ethernet(kArpType).payload(28).bytes(), kEthernetLink);
  add(*batch, raw_ipv4_packet(3, 4), kRawLink);
  add(*batch, PacketBuilder().ethernet(kIpv6Type).ipv6().bytes(), kEthernetLink);
  add(*batch, {1, 2, 3}, kEthernetLink);
  add(*batch, raw_ipv4_packet(5, 6), 147);
  batch->tally.dropped_kernel = 11;
  harness_.push(batch);
  AddressBatch* out = harness_.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->count, 6u);
  ASSERT_EQ(out->pairs, 2u);
  EXPECT_EQ(out->source[0], 0x0A000001u);
  EXPECT_EQ(out->destination[0], 0xC0000201u);
  EXPECT_EQ(out->source[1], 3u);
  EXPECT_EQ(out->destination[1], 4u);
  EXPECT_EQ(out->time_ns[0], 1000);
  EXPECT_EQ(out->time_ns[1], 1002);
  EXPECT_EQ(out->judges, 7u);
  const std::vector<Verdict> verdicts(out->verdicts.begin(), out->verdicts.begin() + 6);
  EXPECT_EQ(verdicts, (std::vector<Verdict>{Verdict::counted, Verdict::not_ip, Verdict::counted, Verdict::ipv6,
                                            Verdict::cut, Verdict::unknown_link}));
  EXPECT_EQ(out->tally.seen(), 6u);
  EXPECT_EQ(out->tally[Verdict::counted], 2u);
  EXPECT_EQ(out->tally.dropped_kernel, 11u);
}

TEST_F(Parse, LeavesAFiltersVerdictAlone) {
  PacketBatch* batch = empty();
  add(*batch, raw_ipv4_packet(1, 2), kRawLink, Verdict::filtered);
  add(*batch, {}, kRawLink, Verdict::excluded_fault);
  add(*batch, raw_ipv4_packet(1, 2), kRawLink);
  harness_.push(batch);
  AddressBatch* out = harness_.next();
  EXPECT_EQ(out->pairs, 1u);
  EXPECT_EQ(out->tally[Verdict::filtered], 1u);
  EXPECT_EQ(out->tally[Verdict::excluded_fault], 1u);
}

TEST_F(Parse, AnEmptyBatchGoesOn) {
  harness_.push(empty());
  AddressBatch* out = harness_.next();
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->count + out->pairs, 0u);
}

}  // namespace
}  // namespace trama
