// Frames in several pieces: what is shown of them gets the verdict of the whole, however they are cut.
#include "modules/support/segment_join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "tests/modules/support/header_walk_cases.hpp"
#include "tests/support/long_tests.hpp"

namespace trama {
namespace {

constexpr uint64_t kJoinSeed = 20250212;

class SegmentJoin : public testing::Test {
 protected:
  // Cut at `ends`, which ascend; each piece is a heap block of its own.
  std::span<const Segment> cut(std::span<const uint8_t> bytes, std::vector<size_t> ends) {
    pieces_.clear();
    segments_.clear();
    ends.push_back(bytes.size());
    size_t begin = 0;
    for (const size_t end : ends) {
      pieces_.push_back(std::make_unique<CapturedPacket>(bytes.subspan(begin, end - begin)));
      segments_.emplace_back(pieces_.back()->data(), pieces_.back()->captured());
      begin = end;
    }
    return segments_;
  }
  JoinSpace space(size_t bytes) {
    memory_.reset(new uint8_t[bytes]);
    return JoinSpace({memory_.get(), bytes});
  }

 private:
  std::vector<std::unique_ptr<CapturedPacket>> pieces_;
  std::vector<Segment> segments_;
  std::unique_ptr<uint8_t[]> memory_;
};

TEST_F(SegmentJoin, GivesTheVerdictOfTheWholeFrame) {
  std::mt19937_64 random(kJoinSeed);
  for (const WalkCase& one : walk_cases()) {
    const PacketBytes& bytes = one.frame.bytes();
    for (uint64_t run = 0; run < runs(8, 400); ++run) {
      std::vector<size_t> ends(1 + random() % 6);
      for (size_t& end : ends) end = random() % (bytes.size() + 1);
      std::sort(ends.begin(), ends.end());
      SCOPED_TRACE(one.words + ", run " + std::to_string(run) + ", seed " + std::to_string(kJoinSeed));
      JoinSpace room = space(kMaxCaptured);
      const auto shown = join_headers(one.link_type, cut(bytes, ends), room);
      ASSERT_TRUE(shown.has_value());
      EXPECT_EQ(walk(one.link_type, shown->data(), static_cast<uint32_t>(shown->size())),
                walk(one.link_type, bytes.data(), static_cast<uint32_t>(bytes.size())));
      EXPECT_TRUE(std::equal(shown->begin(), shown->end(), bytes.begin()));
    }
  }
}

TEST_F(SegmentJoin, CopiesNothingWhenTheFirstSegmentHasAllHeaders) {
  const PacketBytes bytes = ethernet_ipv4_packet(1, 2, 3000);
  const auto segments = cut(bytes, {34});
  JoinSpace room = space(8);
  const auto shown = join_headers(kEthernetLink, segments, room);
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->data(), segments[0].data());
  EXPECT_EQ(shown->size(), 34u);
  EXPECT_EQ(room.left().size(), 8u);
}

TEST_F(SegmentJoin, JoinsNoMoreThanTheHeadersTake) {
  const PacketBytes bytes = ethernet_ipv4_packet(1, 2, 9000);
  JoinSpace room = space(kMaxCaptured);
  const auto shown = join_headers(kEthernetLink, cut(bytes, {20}), room);
  ASSERT_TRUE(shown.has_value());
  EXPECT_LE(shown->size(), 256u);
  EXPECT_EQ(room.left().size(), kMaxCaptured - shown->size());
}

TEST_F(SegmentJoin, WalksOverAnyNumberOfTags) {
  PacketBuilder frame;
  frame.ethernet(kVlanType);
  for (int i = 0; i < 999; ++i) frame.vlan(5, kVlanType);
  const PacketBytes bytes = frame.vlan(5, kIpv4Type).ipv4(kSource, kDestination).bytes();
  JoinSpace room = space(kMaxCaptured);
  const auto shown = join_headers(kEthernetLink, cut(bytes, {1000, 2000, 3000}), room);
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(walk(kEthernetLink, shown->data(), static_cast<uint32_t>(shown->size())),
            (Walked{Verdict::counted, kSource, kDestination}));
}

TEST_F(SegmentJoin, TellsWhenTheSpaceIsUsedUp) {
  const PacketBytes bytes = ethernet_ipv4_packet(1, 2, 500);
  JoinSpace room = space(300);
  EXPECT_TRUE(join_headers(kEthernetLink, cut(bytes, {20}), room).has_value());
  EXPECT_FALSE(join_headers(kEthernetLink, cut(bytes, {20}), room).has_value());
  room.clear();
  EXPECT_TRUE(join_headers(kEthernetLink, cut(bytes, {20}), room).has_value());
}

}  // namespace
}  // namespace trama
