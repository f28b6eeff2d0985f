// The header walk of packets in several segments: each frame of header_walk_cases.cpp, cut short at every byte, gets
// what it gets in one piece, wherever it is cut into segments. Every segment is a heap block of its own that ends
// exactly at its last byte.
#include "modules/support/header_walk_segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/modules/support/header_walk_cases.hpp"
#include "tests/support/allocation_counter.hpp"

namespace trama {
namespace {

constexpr uint64_t kSegmentsSeed = 20240717;

// A packet in segments that end at `ends`, which ascend, and at the last byte. Equal ends make empty segments.
class SegmentedPacket {
 public:
  SegmentedPacket(std::span<const uint8_t> bytes, std::vector<size_t> ends) {
    ends.push_back(bytes.size());
    size_t begin = 0;
    for (size_t end : ends) {
      pieces_.emplace_back(bytes.subspan(begin, end - begin));
      segments_.emplace_back(pieces_.back().data(), pieces_.back().captured());
      begin = end;
    }
  }
  std::span<const Segment> segments() const { return segments_; }

 private:
  std::vector<CapturedPacket> pieces_;
  std::vector<Segment> segments_;
};

// The ends of all segments but the last one, as long as `bytes` each.
std::vector<size_t> every(size_t bytes, size_t packet_bytes) {
  std::vector<size_t> ends;
  for (size_t end = bytes; end < packet_bytes; end += bytes) ends.push_back(end);
  return ends;
}

class HeaderWalkSegments : public testing::Test {
 protected:
  Walked walk_in(uint16_t link_type, std::span<const uint8_t> bytes, std::vector<size_t> ends) {
    return walk_segments(link_type, SegmentedPacket(bytes, std::move(ends)).segments(), scratch());
  }
  static Walked walk_whole(uint16_t link_type, std::span<const uint8_t> bytes) {
    const CapturedPacket packet(bytes);
    return walk(link_type, packet.data(), packet.captured());
  }
  WalkScratch scratch() { return WalkScratch(memory_.get(), kMaxCaptured); }

 private:
  std::unique_ptr<uint8_t[]> memory_{new uint8_t[kMaxCaptured]};
};

TEST_F(HeaderWalkSegments, TwoCutAtEveryByteOfEveryTruncation) {
  for (const WalkCase& one : walk_cases()) {
    const size_t step = one.frame.size() > 300 ? 97 : 1;  // records of zeros, all truncations of which are seconds
    for (size_t captured = one.frame.size() % step; captured <= one.frame.size(); captured += step) {
      const std::span<const uint8_t> bytes = std::span(one.frame.bytes()).first(captured);
      const Walked whole = walk_whole(one.link_type, bytes);
      for (size_t end = 0; end <= captured; ++end) {
        ASSERT_TRUE(walk_in(one.link_type, bytes, {end}) == whole)
            << one.words << " on link type " << one.link_type << ": " << end << " of " << captured << " bytes first";
      }
    }
  }
}

TEST_F(HeaderWalkSegments, ManyCutAtRandom) {
  std::mt19937_64 random(kSegmentsSeed);
  SCOPED_TRACE("seed " + std::to_string(kSegmentsSeed));
  for (const WalkCase& one : walk_cases()) {
    for (int round = 0; round < 100; ++round) {
      const size_t captured = round % 2 == 0 ? one.frame.size() : random() % (one.frame.size() + 1);
      const std::span<const uint8_t> bytes = std::span(one.frame.bytes()).first(captured);
      std::vector<size_t> ends(2 + random() % 6);
      for (size_t& end : ends) end = random() % (captured + 1);
      std::sort(ends.begin(), ends.end());
      ASSERT_TRUE(walk_in(one.link_type, bytes, ends) == walk_whole(one.link_type, bytes))
          << one.words << " on link type " << one.link_type << ", " << captured << " bytes, round " << round;
    }
  }
}

TEST_F(HeaderWalkSegments, OneByteEach) {
  for (const WalkCase& one : walk_cases()) {
    const std::span<const uint8_t> bytes = one.frame.bytes();
    EXPECT_TRUE(walk_in(one.link_type, bytes, every(1, bytes.size())) == walk_whole(one.link_type, bytes)) << one.words;
  }
}

TEST_F(HeaderWalkSegments, NothingCaptured) {
  const std::vector<Segment> empty(3);
  for (size_t count = 0; count <= empty.size(); ++count) {
    const auto segments = std::span(empty).first(count);
    EXPECT_EQ(walk_segments(kEthernetLink, segments, scratch()), Walked{Verdict::cut});
    EXPECT_EQ(walk_segments(147, segments, scratch()), Walked{Verdict::unknown_link});
  }
}

// What the first segment tells is not looked for anywhere else.
TEST_F(HeaderWalkSegments, CopiesNothingThatItDoesNotNeed) {
  std::fill(scratch().begin(), scratch().end(), uint8_t{0xee});
  const auto untouched = [this](size_t from) {
    return std::all_of(scratch().begin() + static_cast<std::ptrdiff_t>(from), scratch().end(),
                       [](uint8_t byte) { return byte == 0xee; });
  };
  const PacketBytes frame = ethernet_ipv4_packet(kSource, kDestination, 9000);
  const Walked right{Verdict::counted, kSource, kDestination};
  EXPECT_EQ(walk_in(kEthernetLink, frame, {34}), right);
  EXPECT_TRUE(untouched(0));
  EXPECT_EQ(walk_in(kEthernetLink, frame, {33}), right);
  EXPECT_TRUE(untouched(1024));
}

// Stacks that are longer than what is joined at first, in segments as network cards fill them.
TEST_F(HeaderWalkSegments, HeadersOfAnyLength) {
  const Walked right{Verdict::counted, kSource, kDestination};
  for (size_t tags : {1u, 55u, 56u, 57u, 255u, 256u, 3000u, 60'000u}) {
    PacketBuilder frame;
    frame.ethernet(kVlanType);
    for (size_t i = 1; i < tags; ++i) frame.vlan(1, kVlanType);
    frame.vlan(1, kIpv4Type).ipv4(kSource, kDestination);
    for (size_t bytes : {64u, 128u, 2048u}) {
      EXPECT_EQ(walk_in(kEthernetLink, frame.bytes(), every(bytes, frame.size())), right) << tags << " tags";
      const auto cut = std::span(frame.bytes()).first(frame.size() - 1);
      EXPECT_EQ(walk_in(kEthernetLink, cut, every(bytes, cut.size())), Walked{Verdict::cut}) << tags << " tags";
    }
  }
}

// A packet is judged by its first kMaxCaptured bytes, as if it had been read from a file.
TEST_F(HeaderWalkSegments, EndsWhereAFilesPacketsEnd) {
  for (uint32_t ends_early : {2u, 1u, 0u}) {
    PacketBuilder frame;
    frame.pktap(kRawLink, kMaxCaptured - ends_early - 19).ipv4(kSource, kDestination).payload(5000);
    const Walked right = walk_whole(kPktapLink, std::span(frame.bytes()).first(kMaxCaptured));
    EXPECT_EQ(right.verdict, ends_early == 0 ? Verdict::cut : Verdict::counted);
    for (size_t bytes : {4096u, 100'000u, kMaxCaptured - 1, kMaxCaptured, kMaxCaptured + 1}) {
      EXPECT_EQ(walk_in(kPktapLink, frame.bytes(), every(bytes, frame.size())), right) << bytes;
    }
  }
}

TEST_F(HeaderWalkSegments, AllocatesNothing) {
  if (!test::kCountsAllocations) GTEST_SKIP() << "a sanitizer's allocator can't be counted";
  const PacketBytes frame = ethernet_ipv4_packet(kSource, kDestination);
  const SegmentedPacket packet(frame, every(10, frame.size()));
  const WalkScratch memory = scratch();
  test::count_this_thread();
  test::start_counting();
  const Walked walked = walk_segments(kEthernetLink, packet.segments(), memory);
  test::stop_counting();
  EXPECT_EQ(test::allocations_counted(), 0u);
  EXPECT_EQ(walked.verdict, Verdict::counted);
}

}  // namespace
}  // namespace trama
