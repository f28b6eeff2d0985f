// The reader: files, pipes, FIFOs, writers that stall, blocks that packets straddle, and what isn't a capture.
#include "modules/support/capture_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/capture_reading.hpp"

namespace trama::test {
namespace {

using std::string_literals::operator""s;

PacketBytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

// Numbers of a seed that a failing test shows.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_()) % limit; }
  uint32_t any() { return static_cast<uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

size_t any_size(Dice& dice) {
  switch (dice.below(8)) {
    case 0: return dice.below(3);
    case 1: return 1500 + dice.below(8000);
    case 2: return dice.below(70'000);
    default: return 40 + dice.below(80);
  }
}

PcapBuilder any_pcap(Dice& dice, size_t packets) {
  PcapVariant variant;
  variant.order = dice.below(2) ? ByteOrder::big : ByteOrder::little;
  variant.magic = std::array{PcapVariant::kMicro, PcapVariant::kNano, PcapVariant::kModified}[dice.below(3)];
  PcapBuilder file(variant);
  for (size_t i = 0; i < packets; ++i) {
    file.packet(patterned(any_size(dice), dice.any()), int64_t{1000} * dice.any(), dice.below(99));
  }
  return file;
}

PcapngBuilder any_pcapng(Dice& dice, size_t packets) {
  PcapngBuilder file;
  const auto begin = [&] { file.section(dice.below(2) ? ByteOrder::big : ByteOrder::little).interface().interface(); };
  begin();
  for (size_t i = 0; i < packets; ++i) {
    const PacketBytes data = patterned(any_size(dice), dice.any());
    switch (dice.below(16)) {
      case 0: file.obsolete(1, dice.any(), data); break;
      case 1: file.simple(data); break;
      case 2: file.block(static_cast<uint32_t>(dice.below(2) ? 0x0bad : 5), data); break;
      case 3: begin(); break;
      default: file.enhanced(dice.below(2), dice.any(), data, dice.below(99), dice.below(3) * 4); break;
    }
  }
  return file;
}

// The invariant of the reader: whatever the pieces, batches and ways of reading, the same packets.
void expect_same_by_all_ways(std::span<const uint8_t> bytes, const std::vector<BuiltPacket>& packets, Dice& dice) {
  for (const uint32_t batch : {1024u, 1 + dice.below(50)}) {
    const CaptureRead from_file = read_from_file(bytes, batch);
    EXPECT_EQ(from_file.packets, packets);
    EXPECT_EQ(from_file.report.status, InputStatus::ok) << from_file.report.detail;
    EXPECT_EQ(from_file.report.bytes, bytes.size());
    const Pieces any = [&dice](size_t) { return dice.below(4) == 0 ? 1 + dice.below(20) : 1 + dice.below(4096); };
    const CaptureRead from_pipe = read_from_pipe(bytes, any, batch);
    EXPECT_EQ(from_pipe.packets, packets);
    EXPECT_EQ(from_pipe.report.status, InputStatus::ok) << from_pipe.report.detail;
    EXPECT_EQ(read_by_parser(bytes, any, batch).packets, packets);
  }
}

TEST(CaptureReader, SamePacketsByAllWays) {
  for (int round = 0; round < 8; ++round) {
    const uint32_t seed = std::random_device{}();
    Dice dice(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PcapBuilder pcap = any_pcap(dice, 200);
    expect_same_by_all_ways(pcap.bytes(), pcap.packets(), dice);
    const PcapngBuilder pcapng = any_pcapng(dice, 200);
    expect_same_by_all_ways(pcapng.bytes(), pcapng.packets(), dice);
  }
}

// The end of the stream is seen while a large packet, carried over, is still only partly in the block.
TEST(CaptureReader, NothingIsLostWhenTheEndWasSeenAhead) {
  for (const uint32_t batch : {1u, 2u, 5u, 10u}) {
    PcapBuilder pcap;
    for (uint32_t i = 0; i < 40; ++i) pcap.packet(patterned(i % 10 == 9 ? 50000 : 40, i), i * 1000);
    const CaptureRead read = read_from_file(pcap.bytes(), batch);
    EXPECT_EQ(read.packets, pcap.packets());
    EXPECT_EQ(read.report.status, InputStatus::ok);
  }
}

TEST(CaptureReader, StallsBetweenAnyTwoBytes) {
  PcapBuilder pcap;
  for (uint32_t i = 0; i < 5; ++i) pcap.packet(patterned(30 + i, i), i * 1000);
  EXPECT_EQ(read_from_pipe(pcap.bytes(), pieces_of(1)).packets, pcap.packets());
  PcapngBuilder pcapng;
  pcapng.section().interface().enhanced(0, 1, patterned(30, 1)).block(5, patterned(9, 1)).simple(patterned(9, 2));
  EXPECT_EQ(read_from_pipe(pcapng.bytes(), pieces_of(1)).packets, pcapng.packets());
}

// A packet is handed out as soon as its last byte is there, not when more has come.
TEST(CaptureReader, WholePacketsAreNotHeldBack) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CaptureReader reader = CaptureReader::from_fd(ends[0], "pipe", true);
  PacketBlock block;
  std::vector<Packet> packets(8);
  size_t count = 0;
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::wait);
  const PcapBuilder file = PcapBuilder().packet(patterned(60, 1), 0).packet(patterned(60, 2), 0);
  const size_t first = file.bytes().size() - 76 - 1;
  ASSERT_EQ(write(ends[1], file.bytes().data(), first), static_cast<ssize_t>(first));
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::wait);
  ASSERT_EQ(write(ends[1], file.bytes().data() + first, 5), 5);
  ASSERT_EQ(reader.read(block, packets, count), CaptureReader::Status::packets);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(copy_of(packets[0]), file.packets()[0]);
  EXPECT_EQ(reader.report().packets, 1u);
  EXPECT_EQ(reader.report().bytes, first + 5);
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::wait);
  close(ends[1]);
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::end);
  EXPECT_EQ(reader.report().status, InputStatus::truncated);
  EXPECT_EQ(reader.report().detail, "truncated at byte 100: only 4 bytes of the record header are there");
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::end);
}

// Sizes that change all at once: what was read too much has to come again, in order and whole.
TEST(CaptureReader, PacketSizesThatChange) {
  PcapBuilder file;
  for (uint32_t i = 0; i < 300; ++i) file.packet(patterned(60'000, i), 0);
  for (uint32_t i = 0; i < 30'000; ++i) file.packet(patterned(i % 3, i), 0);
  for (uint32_t i = 0; i < 10; ++i) file.packet(patterned(kMaxCaptured - i, i), 0);
  for (size_t batch : {7, 1024}) {
    const CaptureRead read = read_from_file(file.bytes(), batch);
    EXPECT_EQ(read.packets, file.packets());
    EXPECT_EQ(read.report.status, InputStatus::ok);
  }
}

TEST(CaptureReader, VeryLongBlocksAndRecordsAreSkipped) {
  PcapngBuilder pcapng;
  pcapng.section().interface().enhanced(0, 1, patterned(60, 1)).block(77, PacketBytes(40 << 20, 7));
  pcapng.enhanced(0, 2, patterned(60, 2));
  EXPECT_EQ(read_from_file(pcapng.bytes()).packets, pcapng.packets());
  PcapBuilder pcap;
  pcap.record(1, 1, kMaxRecord, kMaxRecord, patterned(kMaxRecord, 1)).packet(patterned(60, 2), 5000);
  const CaptureRead read = read_from_file(pcap.bytes());
  ASSERT_EQ(read.packets.size(), 2u);
  EXPECT_EQ(read.packets[0].data, patterned(kMaxCaptured, 1));
  EXPECT_EQ(read.packets[1], pcap.packets()[0]);
  const CaptureRead cut = read_from_file(std::span(pcap.bytes()).first(kMaxRecord));
  EXPECT_EQ(cut.packets.size(), 1u);
  EXPECT_EQ(cut.report.status, InputStatus::truncated);
  EXPECT_EQ(cut.report.detail, "truncated at byte 40: only 16777176 bytes of the record data are there");
}

TEST(CaptureReader, WhatIsNoCaptureIsNamed) {
  struct Case {
    PacketBytes content;
    InputStatus status;
    std::string named;
  };
  const PcapBuilder pcap = PcapBuilder().packet(patterned(60, 1), 0);
  PacketBytes tar(512, 0);
  std::copy_n("ustar", 5, tar.begin() + 257);
  const Case cases[] = {
      {{}, InputStatus::truncated, "it is empty"},
      {{0xd4}, InputStatus::truncated, "the file header needs 24 bytes, 1 are there"},
      {{0x0a, 0x0d, 0x0d}, InputStatus::truncated, "the file header needs 24 bytes, 3 are there"},
      {PacketBytes(pcap.bytes().begin(), pcap.bytes().begin() + 10), InputStatus::truncated,
       "only 10 bytes of the file header are there"},
      {{0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0, 0, 0}, InputStatus::truncated, "only 8 bytes of the block header are there"},
      {{'d', 'a'}, InputStatus::unsupported, "not a capture file"},
      {patterned(2000, 5), InputStatus::unsupported, "not a capture file"},
      {PacketBytes(5000, 0), InputStatus::unsupported, "not a capture file"},
      {bytes_of("snoop\0\0\0\0\0\0\2"s), InputStatus::unsupported, "a Sun snoop capture"},
      {bytes_of("iptrace 2.0"), InputStatus::unsupported, "an AIX iptrace capture"},
      {bytes_of("GMBU\0\2"s), InputStatus::unsupported, "a Microsoft Network Monitor 2 capture"},
      {bytes_of("RTSS\0\2"s), InputStatus::unsupported, "a Microsoft Network Monitor 1 capture"},
      {bytes_of("XCP\0"s), InputStatus::unsupported, "a NetXRay or Sniffer capture"},
      {{0x01, 0x10, 0x4c, 0x00}, InputStatus::unsupported, "perhaps a LANalyzer capture"},
      {bytes_of("BZh91AY&SY"), InputStatus::unsupported, "bzip2 data"},
      {bytes_of("PK\3\4"), InputStatus::unsupported, "a ZIP archive"},
      {tar, InputStatus::unsupported, "a TAR archive"},
      {{0x02, 0x21, 0x4c, 0x18, 1, 2}, InputStatus::unsupported, "LZ4 data in the legacy format"},
      {bytes_of("version https://git-lfs.github.com/spec/v1\n"), InputStatus::unsupported, "a Git LFS pointer"},
      {{0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0, 0, 0, 1, 2, 3, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
       InputStatus::unsupported,
       "without its byte-order magic"},
  };
  for (const Case& one : cases) {
    for (size_t piece : {1, 4096}) {
      const CaptureRead read = read_from_pipe(one.content, pieces_of(piece));
      EXPECT_EQ(read.report.status, one.status) << read.report.detail;
      EXPECT_NE(read.report.detail.find(one.named), std::string::npos) << read.report.detail;
      EXPECT_FALSE(read.report.readable);
      EXPECT_TRUE(read.packets.empty());
    }
  }
}

// "Nothing could be read from this" against "lost something at the end": one whole packet makes the difference.
TEST(CaptureReader, ReadableTellsAFailureFromALoss) {
  const auto readable = [](std::span<const uint8_t> bytes) { return read_from_file(bytes).report.readable; };
  EXPECT_TRUE(readable(PcapBuilder().bytes()));
  EXPECT_FALSE(readable(PcapBuilder().raw(patterned(15, 1)).bytes()));
  EXPECT_FALSE(readable(PcapBuilder().record(1, 1, 60, 60, patterned(59, 1)).bytes()));
  EXPECT_TRUE(readable(PcapBuilder().packet({1}, 1).raw(patterned(15, 1)).bytes()));
  EXPECT_FALSE(readable(PcapBuilder().record(1, 1, ~0u, ~0u, {}).bytes()));
  EXPECT_TRUE(readable(PcapBuilder().packet({1}, 1).record(1, 1, ~0u, ~0u, {}).bytes()));
  EXPECT_TRUE(readable(PcapngBuilder().section().bytes()));
  EXPECT_FALSE(readable(PcapngBuilder().section().interface().raw(patterned(7, 1)).bytes()));
  EXPECT_FALSE(readable(PcapngBuilder().section().simple({1}).bytes()));
  EXPECT_TRUE(readable(PcapngBuilder().section().interface().simple({1}).enhanced(9, 1, {1}).bytes()));
}

TEST(CaptureReader, DamageGivesTheSameByAllWays) {
  for (int round = 0; round < 150; ++round) {
    const uint32_t seed = std::random_device{}();
    Dice dice(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    PacketBytes bytes = round % 2 ? any_pcap(dice, 8).bytes() : any_pcapng(dice, 8).bytes();
    bytes.resize(std::min<size_t>(bytes.size(), 30'000));
    for (size_t i = 0; i < 1 + dice.below(4); ++i)
      bytes[4 + dice.any() % (bytes.size() - 4)] = static_cast<uint8_t>(dice.any());
    const CaptureRead whole = read_from_file(bytes);
    const Pieces any = [&dice](size_t) { return 1 + dice.below(200); };
    const CaptureRead piped = read_from_pipe(bytes, any, 1 + dice.below(5));
    const CaptureRead parsed = read_by_parser(bytes, any, 1 + dice.below(5));
    EXPECT_EQ(piped.packets, whole.packets);
    EXPECT_EQ(piped.report.detail, whole.report.detail);
    EXPECT_EQ(piped.report.status, whole.report.status);
    EXPECT_EQ(parsed.packets, whole.packets);
    EXPECT_EQ(parsed.report.status, whole.report.status);
  }
}

}  // namespace
}  // namespace trama::test
