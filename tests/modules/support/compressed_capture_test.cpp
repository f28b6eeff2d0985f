// Captures that are compressed, recognised by their content: one stream or several, cut, damaged, and trickling in.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>

#include "tests/support/capture_reading.hpp"
#include "tests/support/compress.hpp"
#include "tests/support/scratch_folder.hpp"

namespace trama::test {
namespace {

// `count` packets of 60 bytes, half of them compressible.
PcapBuilder capture_of(uint32_t count) {
  PcapBuilder file;
  for (uint32_t i = 0; i < count; ++i) {
    file.packet(i % 2 == 0 ? PacketBytes(60, static_cast<uint8_t>(i)) : patterned(60, i), int64_t{i} * 1'000'000);
  }
  return file;
}

PacketBytes joined(std::initializer_list<PacketBytes> parts) {
  PacketBytes all;
  for (const PacketBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

void expect_well(std::span<const uint8_t> bytes, const std::vector<BuiltPacket>& packets) {
  const CaptureRead from_file = read_from_file(bytes);
  EXPECT_EQ(from_file.packets, packets);
  EXPECT_EQ(from_file.report.status, InputStatus::ok) << from_file.report.detail;
  EXPECT_EQ(from_file.report.bytes, bytes.size());
  for (size_t piece : {1, 1000}) {
    if (piece == 1 && bytes.size() > 100'000) continue;
    const CaptureRead from_pipe = read_from_pipe(bytes, pieces_of(piece));
    EXPECT_EQ(from_pipe.packets, packets) << piece;
    EXPECT_EQ(from_pipe.report.status, InputStatus::ok) << from_pipe.report.detail;
  }
}

class CompressedCapture : public testing::TestWithParam<InputCompression> {
 protected:
  PacketBytes pack(std::span<const uint8_t> bytes) const { return compress(GetParam(), bytes); }
};
INSTANTIATE_TEST_SUITE_P(All, CompressedCapture, testing::ValuesIn(kCompressions),
                         [](const auto& about) { return std::string(to_string(about.param)); });

TEST_P(CompressedCapture, SmallAndLarge) {
  for (uint32_t count : {0u, 10u, 20'000u}) {
    const PcapBuilder file = capture_of(count);
    expect_well(pack(file.bytes()), file.packets());
  }
}

TEST_P(CompressedCapture, SeveralMembersInARow) {
  const PcapBuilder file = capture_of(300);
  const std::span<const uint8_t> bytes = file.bytes();
  // Cut where no record ends; an empty member, too.
  expect_well(joined({pack(bytes.first(1)), pack(bytes.subspan(1, 100)), pack({}), pack(bytes.subspan(101))}),
              file.packets());
}

TEST_P(CompressedCapture, PcapngToo) {
  PcapngBuilder file;
  file.section(ByteOrder::big).interface();
  for (uint32_t i = 0; i < 100; ++i) file.enhanced(0, i, patterned(i, i));
  expect_well(pack(file.bytes()), file.packets());
}

// Cut at any byte, the whole packets before the cut stay, and it is never called whole.
TEST_P(CompressedCapture, CutAnywhere) {
  const PcapBuilder file = capture_of(3000);
  const PacketBytes packed = pack(file.bytes());
  size_t most = 0;
  std::vector<size_t> sizes = {packed.size() / 4, packed.size() / 2, packed.size() * 3 / 4};
  for (size_t size = 6; size < 60; ++size) sizes.push_back(size);
  for (size_t size = packed.size() - 30; size < packed.size(); ++size) sizes.push_back(size);
  for (size_t size : sizes) {
    SCOPED_TRACE(std::to_string(size) + " of " + std::to_string(packed.size()));
    const CaptureRead read = read_from_file(std::span(packed).first(size));
    EXPECT_EQ(read.report.status, InputStatus::truncated) << read.report.detail;
    EXPECT_NE(read.report.detail.find("ends at byte " + std::to_string(size)), std::string::npos) << read.report.detail;
    ASSERT_LE(read.packets.size(), file.packets().size());
    EXPECT_TRUE(std::equal(read.packets.begin(), read.packets.end(), file.packets().begin()));
    EXPECT_EQ(read_from_pipe(std::span(packed).first(size), pieces_of(77)).packets, read.packets);
    most = std::max(most, read.packets.size());
  }
  EXPECT_GT(most, 1000u);
}

// What comes out before the cut depends on the compression: maybe the file header, maybe nothing. It is all the same.
TEST_P(CompressedCapture, CutBeforeTheFirstPacketIsNotReadable) {
  const PcapBuilder file = capture_of(1);
  const PacketBytes packed = pack(file.bytes());
  for (size_t size = 6; size < packed.size(); ++size) {
    const CaptureRead read = read_from_file(std::span(packed).first(size));
    EXPECT_EQ(read.report.status, InputStatus::truncated) << size;
    EXPECT_EQ(read.report.readable, !read.packets.empty()) << size;
  }
  for (size_t size = 0; size < 24 + 16 + 60; ++size) {
    if (size == 24) continue;  // a whole capture without packets
    const CaptureRead read = read_from_file(pack(std::span(file.bytes()).first(size)));
    EXPECT_EQ(read.report.status, InputStatus::truncated) << size;
    EXPECT_FALSE(read.report.readable) << size;
  }
}

// A reader that looks again and again while a writer stalls inside a frame must not take that for damage.
TEST_P(CompressedCapture, AWriterMayStallForLong) {
  PcapBuilder capture;
  for (uint32_t i = 0; i < 10; ++i) capture.packet(patterned(60, i), i * 1000);
  const PacketBytes packed = pack(capture.bytes());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  CaptureReader reader = CaptureReader::from_fd(ends[0], "pipe", true);
  PacketBlock block;
  std::vector<Packet> packets(64);
  size_t count = 0, seen = 0;
  for (const auto& part : {std::span(packed).first(30), std::span(packed).subspan(30)}) {
    ASSERT_EQ(write(ends[1], part.data(), part.size()), static_cast<ssize_t>(part.size()));
    for (int look = 0; look < 100; ++look) {
      ASSERT_NE(reader.read(block, packets, count), CaptureReader::Status::end) << reader.report().detail;
      seen += count;
    }
  }
  close(ends[1]);
  EXPECT_EQ(reader.read(block, packets, count), CaptureReader::Status::end);
  EXPECT_EQ(reader.report().status, InputStatus::ok) << reader.report().detail;
  EXPECT_EQ(seen + count, 10u);
}

TEST_P(CompressedCapture, ContentIsCutInsideWholeCompression) {
  const PcapBuilder file = capture_of(10);
  const CaptureRead read = read_from_file(pack(std::span(file.bytes()).first(file.bytes().size() - 7)));
  EXPECT_EQ(read.packets.size(), 9u);
  EXPECT_EQ(read.report.status, InputStatus::truncated);
  EXPECT_NE(read.report.detail.find("unpacked from " + std::string(to_string(GetParam()))), std::string::npos);
}

TEST_P(CompressedCapture, WhatIsNoCaptureIsRefused) {
  for (const PacketBytes& content : {patterned(2000, 1), PacketBytes{}, pack(capture_of(3).bytes())}) {
    const CaptureRead read = read_from_file(pack(content));
    EXPECT_NE(read.report.status, InputStatus::ok);
    EXPECT_FALSE(read.report.readable);
    EXPECT_FALSE(read.report.detail.empty());
  }
}

TEST_P(CompressedCapture, GarbageBehindIsReported) {
  const PcapBuilder file = capture_of(10);
  const CaptureRead read = read_from_file(joined({pack(file.bytes()), patterned(500, 3)}));
  EXPECT_EQ(read.packets, file.packets());
  EXPECT_EQ(read.report.status, InputStatus::corrupt) << read.report.detail;
}

// Every format here has a checksum: damage is never called well. What stands before it in whole blocks stays.
TEST_P(CompressedCapture, DamageIsFound) {
  const PcapBuilder file = capture_of(3000);
  const PacketBytes packed = pack(file.bytes());
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 25; ++round) {
    PacketBytes damaged = packed;
    const size_t place = packed.size() / 2 + random() % (packed.size() / 2);
    damaged[place] = static_cast<uint8_t>(damaged[place] ^ (1 + random() % 255));
    const CaptureRead read = read_from_file(damaged);
    EXPECT_NE(read.report.status, InputStatus::ok) << place;
    EXPECT_TRUE(read.report.readable || read.packets.empty());
    read_from_pipe(damaged, pieces_of(4096));
  }
}

TEST(GzipCapture, ZeroPaddingIsTolerated) {
  const PcapBuilder file = capture_of(10);
  const std::span<const uint8_t> bytes = file.bytes();
  expect_well(joined({gzip(bytes), PacketBytes(1000, 0)}), file.packets());
  expect_well(joined({gzip(bytes.first(50)), PacketBytes(3, 0), gzip(bytes.subspan(50)), PacketBytes(1, 0)}),
              file.packets());
}

TEST(XzCapture, StreamPaddingIsTolerated) {
  const PcapBuilder file = capture_of(10);
  expect_well(joined({xz(file.bytes()), PacketBytes(16, 0)}), file.packets());
}

TEST(ZstdCapture, SkippableFramesComeFirst) {
  const PcapBuilder file = capture_of(10);
  for (uint8_t low : PacketBytes{0x50, 0x5f}) {
    expect_well(joined({{low, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, zstd(file.bytes())}), file.packets());
  }
}

TEST(ZstdCapture, HugeWindowIsRefused) {
  const PcapBuilder file = capture_of(10);
  expect_well(zstd(file.bytes(), 27), file.packets());
  const CaptureRead read = read_from_file(zstd(file.bytes(), 28));
  EXPECT_EQ(read.report.status, InputStatus::unsupported) << read.report.detail;
  EXPECT_FALSE(read.report.readable);
}

// A few bytes can stand for hours: who was told to stop doesn't unpack them all.
TEST(ZstdCapture, LittleIsUnpackedAfterTheStop) {
  const PacketBytes packed = zstd(PacketBytes(ByteStream::kMostUnpacked + (8 << 20)));
  ASSERT_LT(packed.size(), 60'000u);  // it fits into a pipe
  const auto unpacked = [](int fd) {
    ByteStream stream(InputDescriptor(fd, true));
    PacketBytes room(1 << 20);
    uint64_t bytes = stream.read(room).bytes;
    EXPECT_NE(bytes, 0u);
    stream.stop_reading();
    for (;;) {
      const ByteStream::Result result = stream.read(room);
      if (result.state != ByteStream::State::bytes) {
        EXPECT_EQ(result.state, ByteStream::State::wait);
        return bytes;
      }
      bytes += result.bytes;
    }
  };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], packed.data(), packed.size()), static_cast<ssize_t>(packed.size()));
  const uint64_t of_pipe = unpacked(ends[0]);
  close(ends[1]);
  EXPECT_GE(of_pipe, ByteStream::kMostUnpacked);
  EXPECT_LE(of_pipe, ByteStream::kMostUnpacked + (1 << 20));
  const ScratchFolder folder;
  write_file(folder / "zeros.zst", packed);
  EXPECT_LE(unpacked(open((folder / "zeros.zst").c_str(), O_RDONLY)), uint64_t{1} << 20);
}

TEST(Compressions, ToldByTheirFirstBytesAlone) {
  using enum InputCompression;
  struct Case {
    PacketBytes head;
    InputCompression open, ended;
  };
  const Case cases[] = {
      {{}, undecided, none},
      {{0x1f}, undecided, none},
      {{0x1f, 0x8b}, gzip, gzip},
      {{0x1f, 0x8c}, none, none},
      {{0x28, 0xb5, 0x2f}, undecided, none},
      {{0x28, 0xb5, 0x2f, 0xfd}, zstd, zstd},
      {{0x5f, 0x2a, 0x4d}, undecided, none},
      {{0x50, 0x2a, 0x4d, 0x18}, zstd, zstd},
      {{0x60, 0x2a, 0x4d, 0x18}, none, none},
      {{0xfd, '7', 'z', 'X', 'Z'}, undecided, none},
      {{0xfd, '7', 'z', 'X', 'Z', 0}, xz, xz},
      {{0x04, 0x22, 0x4d}, undecided, none},
      {{0x04, 0x22, 0x4d, 0x18, 0x40}, lz4, lz4},
      {{0xd4}, none, none},
      {{0x0a}, none, none},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(recognise_compression(one.head, false), one.open);
    EXPECT_EQ(recognise_compression(one.head, true), one.ended);
  }
}

}  // namespace
}  // namespace trama::test
