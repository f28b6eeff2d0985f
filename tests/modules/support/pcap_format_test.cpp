// The pcap format in all its variants, and what is wrong with files of it.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/capture_reading.hpp"

namespace trama::test {
namespace {

constexpr int64_t kFirstNs = 1'700'000'000'000'000'000;

struct Variant {
  std::string name;
  PcapVariant file;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    const std::string side = order == ByteOrder::little ? "little" : "big";
    all.push_back({"micro " + side, {.order = order}});
    all.push_back({"nano " + side, {.order = order, .magic = PcapVariant::kNano}});
    all.push_back({"modified " + side, {.order = order, .magic = PcapVariant::kModified}});
    all.push_back({"snap length 0 " + side, {.order = order, .snap_length = 0}});
    all.push_back({"snap length 524288 " + side, {.order = order, .snap_length = 524288}});
    all.push_back({"snap length 2^32 - 1 " + side, {.order = order, .snap_length = 0xffffffff}});
    all.push_back({"snap length below the packets " + side, {.order = order, .snap_length = 4}});
    all.push_back({"flags beside the link type " + side, {.order = order, .link_word = 0xf4018071}});
    all.push_back({"version 2.2 " + side, {.order = order, .minor = 2}});
    all.push_back({"version 2.3 " + side, {.order = order, .minor = 3}});
  }
  return all;
}

PcapBuilder filled(const PcapVariant& variant) {
  PcapBuilder file(variant);
  file.packet(patterned(60, 1), kFirstNs + 999'999'999)
      .packet(patterned(1, 2), 0)
      .packet(patterned(34, 3), kFirstNs, 1500);
  return file.packet(patterned(1514, 4), (int64_t{1} << 32) * 1'000'000'000 - 1);
}

TEST(PcapFormat, ReadsEveryVariantInPieces) {
  for (const Variant& variant : variants()) {
    const PcapBuilder file = filled(variant.file);
    for (size_t piece : {1, 7, 16, 24, 100, 100000}) {
      SCOPED_TRACE(variant.name + " in pieces of " + std::to_string(piece));
      const CaptureRead read = read_by_parser(file.bytes(), pieces_of(piece));
      EXPECT_EQ(read.packets, file.packets());
      EXPECT_EQ(read.report.status, InputStatus::ok);
      EXPECT_TRUE(read.report.readable);
    }
  }
}

TEST(PcapFormat, EmptyCaptureIsWell) {
  const CaptureRead read = read_by_parser(PcapBuilder().bytes(), pieces_of(5));
  EXPECT_EQ(read.report.status, InputStatus::ok);
  EXPECT_TRUE(read.report.readable);
  EXPECT_TRUE(read.packets.empty());
}

// Cut at any byte: whole packets stay, and only a cut between two records is none.
TEST(PcapFormat, CutAnywhereKeepsWholePackets) {
  PcapBuilder file;
  std::vector<size_t> ends = {file.bytes().size()};
  for (uint32_t i = 0; i < 4; ++i) ends.push_back(file.packet(patterned(20 + i, i), kFirstNs).bytes().size());
  for (size_t size = 4; size <= file.bytes().size(); ++size) {
    SCOPED_TRACE(size);
    const CaptureRead read = read_by_parser(std::span(file.bytes()).first(size), pieces_of(size));
    const auto whole = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
    EXPECT_EQ(read.packets.size(), whole == 0 ? 0 : whole - 1);
    EXPECT_EQ(read.report.readable, whole != 0);
    const bool between = std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(read.report.status, between ? InputStatus::ok : InputStatus::truncated);
  }
}

TEST(PcapFormat, OtherVersionsAreRefusedByNumber) {
  struct Case {
    uint16_t major, minor;
    const char* named;
  };
  for (const Case& wrong : {Case{1, 4, "1.4"}, Case{2, 5, "2.5"}, Case{3, 0, "3.0"}, Case{543, 0, "543.0"}}) {
    const PcapBuilder file = filled({.order = ByteOrder::big, .major = wrong.major, .minor = wrong.minor});
    const CaptureRead read = read_by_parser(file.bytes(), pieces_of(100));
    EXPECT_EQ(read.report.status, InputStatus::unsupported);
    EXPECT_NE(read.report.detail.find(std::string("version ") + wrong.named), std::string::npos) << read.report.detail;
    EXPECT_FALSE(read.report.readable);
    EXPECT_TRUE(read.packets.empty());
  }
}

TEST(PcapFormat, CapturedMoreThanOriginalIsUsed) {
  PcapBuilder file;
  file.record(5, 6, 40, 30, patterned(40, 1));
  const CaptureRead read = read_by_parser(file.bytes(), pieces_of(9));
  ASSERT_EQ(read.packets.size(), 1u);
  EXPECT_EQ(read.packets[0].data, patterned(40, 1));
  EXPECT_EQ(read.packets[0].original, 30u);
}

// In version 2.3 some writers swapped the lengths: the smaller one is the captured one.
TEST(PcapFormat, SwappedLengthsOfVersion23) {
  PcapBuilder file({.minor = 3});
  file.record(1, 0, 1500, 40, patterned(40, 1)).record(2, 0, 40, 1500, patterned(40, 2));
  const CaptureRead read = read_by_parser(file.bytes(), pieces_of(9));
  ASSERT_EQ(read.packets.size(), 2u);
  for (const BuiltPacket& packet : read.packets) {
    EXPECT_EQ(packet.data.size(), 40u);
    EXPECT_EQ(packet.original, 1500u);
  }
}

// Writers put nanoseconds under the microsecond magic, and worse: the fraction is added as it stands.
TEST(PcapFormat, FractionsBeyondASecond) {
  PcapBuilder file;
  const uint32_t most = std::numeric_limits<uint32_t>::max();
  file.record(10, 999'999'999, 1, 1, patterned(1, 1)).record(most, most, 1, 1, patterned(1, 2));
  const CaptureRead read = read_by_parser(file.bytes(), pieces_of(9));
  ASSERT_EQ(read.packets.size(), 2u);
  EXPECT_EQ(read.packets[0].time_ns, 10'000'000'000 + 999'999'999'000);
  EXPECT_EQ(read.packets[1].time_ns, int64_t{most} * 1'000'000'000 + int64_t{most} * 1000);
}

TEST(PcapFormat, ImpossibleLengthIsCorruptAtItsPlace) {
  for (uint32_t captured : {kMaxRecord + 1, 0x7fffffffu, 0xffffffffu}) {
    PcapBuilder file;
    file.packet(patterned(10, 1), kFirstNs).record(1, 1, captured, 60, patterned(kMaxCaptured + 10, 2));
    for (size_t piece : {7, 1 << 20}) {
      const CaptureRead read = read_by_parser(file.bytes(), pieces_of(piece));
      EXPECT_EQ(read.packets, file.packets());
      EXPECT_EQ(read.report.status, InputStatus::corrupt);
      EXPECT_TRUE(read.report.detail.starts_with("at byte 50: ")) << read.report.detail;
      // What is read as a length may be an address.
      EXPECT_EQ(read.report.detail.find(std::to_string(captured)), std::string::npos) << read.report.detail;
    }
  }
}

// The longest records: presented with their first kMaxCaptured bytes, and what follows them is found.
TEST(PcapFormat, LongRecordsAreCutAndSkipped) {
  for (uint32_t captured : {kMaxCaptured - 1, kMaxCaptured, kMaxCaptured + 1, kMaxRecord}) {
    PcapBuilder file;
    file.record(1, 1, captured, captured, patterned(captured, 1)).packet(patterned(30, 2), kFirstNs);
    for (size_t piece : {size_t{100'000}, size_t{40} << 20}) {
      SCOPED_TRACE(std::to_string(captured) + " in pieces of " + std::to_string(piece));
      const CaptureRead read = read_by_parser(file.bytes(), pieces_of(piece));
      ASSERT_EQ(read.packets.size(), 2u);
      EXPECT_EQ(read.packets[0].data, patterned(std::min(captured, kMaxCaptured), 1));
      EXPECT_EQ(read.packets[0].original, captured);
      EXPECT_EQ(read.packets[1], file.packets()[0]);
      EXPECT_EQ(read.report.status, InputStatus::ok);
    }
  }
}

TEST(PcapFormat, LongRecordCutInTheSkippedPartIsTruncated) {
  PcapBuilder file;
  file.record(1, 1, kMaxCaptured + 100, kMaxCaptured + 100, patterned(kMaxCaptured + 50, 1));
  const CaptureRead read = read_by_parser(file.bytes(), pieces_of(1 << 20));
  EXPECT_EQ(read.packets.size(), 1u);
  EXPECT_EQ(read.report.status, InputStatus::truncated);
}

TEST(PcapFormat, AnyBatchSize) {
  PcapBuilder file;
  for (uint32_t i = 0; i < 50; ++i) file.packet(patterned(i, i), kFirstNs + i * 1000);
  for (size_t batch : {1, 2, 7, 49, 50, 51}) {
    const CaptureRead read = read_by_parser(file.bytes(), pieces_of(64), batch);
    EXPECT_EQ(read.packets, file.packets()) << batch;
    EXPECT_EQ(read.report.status, InputStatus::ok);
  }
}

}  // namespace
}  // namespace trama::test
