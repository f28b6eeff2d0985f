// The pcapng format: sections, interfaces, clocks, the three kinds of packets, other blocks, and damage.
#include "modules/support/pcapng_format.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/support/capture_reading.hpp"

namespace trama::test {
namespace {

constexpr uint64_t kFirstUs = 1'700'000'000'000'000;  // in the default unit, microseconds

void expect_read(const PcapngBuilder& file, InputStatus status = InputStatus::ok, const std::string& detail = "") {
  for (size_t piece : {size_t{1}, size_t{5}, size_t{28}, size_t{1000}, file.bytes().size()}) {
    if (piece < 100 && file.bytes().size() > 20'000) continue;
    for (size_t batch : {1, 1024}) {
      SCOPED_TRACE("pieces of " + std::to_string(piece) + ", batch of " + std::to_string(batch));
      const CaptureRead read = read_by_parser(file.bytes(), pieces_of(piece), batch);
      EXPECT_EQ(read.packets, file.packets());
      EXPECT_EQ(read.report.status, status) << read.report.detail;
      EXPECT_TRUE(read.report.detail.starts_with(detail)) << read.report.detail;
    }
  }
}

std::string at_byte(size_t place) { return "at byte " + std::to_string(place) + ": "; }

TEST(PcapngFormat, SectionsInterfacesAndPackets) {
  PcapngBuilder file;
  for (ByteOrder order : {ByteOrder::big, ByteOrder::little, ByteOrder::big}) {
    file.section(order).interface({.link_type = 1}).interface({.link_type = 101, .snap_length = 50});
    file.enhanced(0, kFirstUs, patterned(60, 1))
        .enhanced(1, kFirstUs + 1, patterned(33, 2), 1500)
        .simple(patterned(61, 3));
    file.interface({.link_type = 147})
        .enhanced(2, kFirstUs + 2, patterned(2, 4))
        .obsolete(1, kFirstUs + 3, patterned(40, 5), 41);
    file.enhanced(0, kFirstUs + 4, patterned(0, 6), 100).enhanced(0, kFirstUs + 5, patterned(64, 7), 0, 20);
  }
  ASSERT_EQ(file.packets().size(), 21u);
  expect_read(file);
}

TEST(PcapngFormat, MinorVersionAndSectionLengthDoNotMatter) {
  PcapngBuilder file;
  file.section(ByteOrder::little, 1, 2, 12345678).interface().enhanced(0, kFirstUs, patterned(60, 1));
  file.section(ByteOrder::big, 1, 0, 0).interface().enhanced(0, kFirstUs, patterned(60, 2));
  expect_read(file);
}

TEST(PcapngFormat, FilesWithoutPacketsAreWell) {
  PcapngBuilder file;
  expect_read(file.section());
  expect_read(file.interface());
}

TEST(PcapngFormat, SimplePacketIsLimitedByTheFirstInterface) {
  PcapngBuilder file;
  file.section().interface({.snap_length = 20}).interface({.snap_length = 10});
  file.enhanced(1, kFirstUs, patterned(10, 1)).simple(patterned(20, 2), 1000).simple(patterned(19, 3));
  EXPECT_EQ(file.packets()[1].time_ns, file.packets()[0].time_ns);  // the time of the packet before
  expect_read(file);
}

TEST(PcapngFormat, Clocks) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  struct Case {
    uint8_t resolution;
    int64_t offset_s;
    uint64_t units;
    int64_t time_ns;
  };
  const Case cases[] = {
      {6, 0, 1, 1000},
      {0, 0, 3, 3'000'000'000},
      {9, 0, 1'700'000'000'123'456'789, 1'700'000'000'123'456'789},
      {9, 0, ~uint64_t{0}, kMost},
      {6, 0, ~uint64_t{0}, kMost},
      {6, 0, 9'223'372'036'854'775, 9'223'372'036'854'775'000},
      {6, 0, 9'223'372'036'854'776, kMost},
      {12, 0, 1'999, 1},
      {12, 0, 1'700'000'000'000'000'000, 1'700'000'000'000'000},
      {27, 0, ~uint64_t{0}, 18},
      {28, 0, ~uint64_t{0}, 1},
      {29, 0, ~uint64_t{0}, 0},
      {0x7f, 0, ~uint64_t{0}, 0},
      {0x80, 0, 5, 5'000'000'000},
      {0x80 | 10, 0, 1024 * 7 + 512, 7'500'000'000},
      {0x80 | 32, 0, (uint64_t{1'700'000'000} << 32) | 0x80000000, 1'700'000'000'500'000'000},
      {0x80 | 63, 0, uint64_t{1} << 63, 1'000'000'000},
      {0x80 | 64, 0, uint64_t{1} << 63, 500'000'000},
      {0x80 | 94, 0, ~uint64_t{0}, 0},
      {0xff, 0, ~uint64_t{0}, 0},
      {6, 1000, 5'000'000, 1'005'000'000'000},
      {6, -10, 5'000'000, -5'000'000'000},
      {0x80 | 1, -3, 3, -1'500'000'000},
      {6, std::numeric_limits<int64_t>::max(), 0, kMost},
      {6, std::numeric_limits<int64_t>::min(), 0, kLeast},
      {9, -9'000'000'000, 9'100'000'000'000'000'000, 100'000'000'000'000'000},
      {9, -18'000'000'000, 18'000'000'000'000'000'001u, 1},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(PcapngClock(one.resolution, one.offset_s).time_ns(one.units), one.time_ns)
        << int{one.resolution} << " " << one.offset_s << " " << one.units;
  }
  EXPECT_EQ(PcapngClock().time_ns(7), 7000);
}

TEST(PcapngFormat, EachPacketByTheClockOfItsInterface) {
  for (ByteOrder order : {ByteOrder::big, ByteOrder::little}) {
    PcapngBuilder file;
    file.section(order).interface({.resolution = 9}).interface({.resolution = 3, .offset_s = 1000});
    file.interface({.offset_s = -5, .comment_bytes = 7}).interface({.resolution = 0, .comment_bytes = 60'000});
    file.enhanced(0, kFirstUs, patterned(9, 1)).enhanced(1, 77, patterned(9, 1)).enhanced(2, kFirstUs, patterned(9, 1));
    file.enhanced(3, 1'700'000'000, patterned(9, 1));
    expect_read(file);
  }
}

TEST(PcapngFormat, OtherBlocksAreNoPackets) {
  PcapngBuilder file;
  file.section().interface().enhanced(0, kFirstUs, patterned(60, 1));
  for (uint32_t type : {4u, 5u, 9u, 10u, 0x0badu, 0x40000badu, 0x7fffffffu, 0xffffffffu, 0u}) {
    file.block(type, patterned(type % 40, type)).block(type, {});
  }
  file.block(0x0bad, patterned(3 << 20, 9)).enhanced(0, kFirstUs, patterned(60, 2));
  expect_read(file);
}

TEST(PcapngFormat, ManyInterfacesButNotAnyNumber) {
  PcapngBuilder file;
  file.section();
  for (size_t i = 0; i < PcapngFormat::kMaxInterfaces; ++i) file.interface({.link_type = static_cast<uint16_t>(i)});
  file.enhanced(300, kFirstUs, patterned(5, 1)).enhanced(65535, kFirstUs, patterned(5, 2));
  expect_read(file);
  const size_t place = file.bytes().size();
  file.interface();
  expect_read(file, InputStatus::unsupported, at_byte(place) + "more than 65536 interfaces");
}

TEST(PcapngFormat, PacketsOfNoInterface) {
  PcapngBuilder first;
  first.section();
  const size_t place = first.bytes().size();
  first.enhanced(0, kFirstUs, patterned(60, 1));
  expect_read(first, InputStatus::corrupt, at_byte(place) + "a packet before any interface");

  for (const auto& add : std::vector<std::function<void(PcapngBuilder&)>>{
           [](PcapngBuilder& file) { file.enhanced(2, kFirstUs, patterned(60, 1)); },
           [](PcapngBuilder& file) { file.enhanced(0xffffffff, kFirstUs, patterned(60, 1)); },
           [](PcapngBuilder& file) { file.obsolete(2, kFirstUs, patterned(60, 1)); }}) {
    PcapngBuilder file;
    file.section().interface().interface().enhanced(1, kFirstUs, patterned(60, 1));
    const size_t bad = file.bytes().size();
    add(file);
    file.enhanced(0, kFirstUs, patterned(60, 2));
    const CaptureRead read = read_by_parser(file.bytes(), pieces_of(10));
    EXPECT_EQ(read.packets.size(), 1u);
    EXPECT_EQ(read.report.status, InputStatus::corrupt);
    EXPECT_TRUE(read.report.detail.starts_with(at_byte(bad) + "a packet of an interface ")) << read.report.detail;
  }
  // A new section forgets the interfaces of the one before.
  PcapngBuilder second;
  second.section().interface().enhanced(0, kFirstUs, patterned(60, 1)).section();
  const size_t bad = second.bytes().size();
  second.simple(patterned(60, 2));
  expect_read(second, InputStatus::corrupt, at_byte(bad) + "a packet before any interface");
}

TEST(PcapngFormat, OtherVersionsAreRefusedByNumber) {
  PcapngBuilder file;
  expect_read(file.section(ByteOrder::big, 2, 0), InputStatus::unsupported, at_byte(0) + "pcapng version 2.0");
  PcapngBuilder later;
  later.section().interface().enhanced(0, kFirstUs, patterned(60, 1));
  const size_t place = later.bytes().size();
  later.section(ByteOrder::little, 0, 9);
  // Behind packets it may be a packet's bytes.
  expect_read(later, InputStatus::unsupported, at_byte(place) + "pcapng version is not read, only 1.x is");
}

// A good packet, one damaged block, a good packet that must not be reached.
void expect_damage(const std::function<void(PcapngBuilder&)>& damage, const std::string& what) {
  for (ByteOrder order : {ByteOrder::big, ByteOrder::little}) {
    PcapngBuilder file;
    file.section(order).interface({.snap_length = 30}).enhanced(0, kFirstUs, patterned(30, 1));
    const size_t place = file.bytes().size();
    damage(file);
    file.raw(PcapngBuilder(file).enhanced(0, kFirstUs, patterned(30, 2)).bytes());
    for (size_t piece : {size_t{1}, size_t{20}, file.bytes().size()}) {
      const CaptureRead read = read_by_parser(file.bytes(), pieces_of(piece));
      EXPECT_EQ(read.packets.size(), 1u) << what;
      EXPECT_EQ(read.report.status, InputStatus::corrupt) << what;
      EXPECT_TRUE(read.report.detail.starts_with(at_byte(place))) << read.report.detail;
      EXPECT_NE(read.report.detail.find(what), std::string::npos) << read.report.detail;
    }
  }
}

TEST(PcapngFormat, DamagedLengthsAreCorruptAtTheirPlace) {
  for (uint32_t type : {1u, 2u, 3u, 4u, 6u, 99u, 0x0badu}) {
    SCOPED_TRACE(type);
    for (uint32_t length : {0u, 4u, 8u}) {
      expect_damage([=](PcapngBuilder& file) { file.block(type, patterned(40, 1), length); },
                    "which its kind takes at least");
    }
    for (uint32_t length : {13u, 42u, 0xffffffffu}) {
      expect_damage([=](PcapngBuilder& file) { file.block(type, patterned(40, 1), length); }, "no multiple of 4");
    }
  }
  expect_damage([](PcapngBuilder& file) { file.block(6, {}, 28); }, "which its kind takes at least");
  expect_damage([](PcapngBuilder& file) { file.block(1, {}, 16); }, "which its kind takes at least");
  for (uint32_t type : {4u, 0x0badu}) {
    expect_damage([=](PcapngBuilder& file) { file.block(type, patterned(40, 1), {}, 56); },
                  "differs from the one behind it");
  }
  expect_damage(
      [](PcapngBuilder& file) { file.block(6, file.body().u32(0).u64(0).u32(4).u32(4).u32(0).bytes(), {}, 40); },
      "differs from the one behind it");
}

TEST(PcapngFormat, CapturedBytesBeyondTheBlockAreCorrupt) {
  for (uint32_t captured : {41u, 0x7fffffffu, 0xffffffffu}) {
    const auto fields = [=](NumberWriter start) {
      return start.u64(1).u32(captured).u32(captured).raw(patterned(40, 1)).bytes();
    };
    expect_damage([&](PcapngBuilder& file) { file.block(6, fields(file.body().u32(0))); }, "captured bytes");
    expect_damage([&](PcapngBuilder& file) { file.block(2, fields(file.body().u32(0))); }, "captured bytes");
  }
  // 30 bytes by interface 0's snap length, but only 28 are in the block.
  expect_damage([](PcapngBuilder& file) { file.block(3, file.body().u32(100).raw(patterned(28, 1)).bytes()); },
                "captured bytes");
}

TEST(PcapngFormat, DamagedInterfaceOptionsAreCorrupt) {
  const auto damage = [](uint16_t code, uint16_t length) {
    PcapngBuilder file;
    file.section().interface().enhanced(0, kFirstUs, patterned(30, 1));
    const size_t place = file.bytes().size() + 16;
    file.block(1, file.body().u16(1).u16(0).u32(0).u16(code).u16(length).u32(6).bytes());
    expect_read(file, InputStatus::corrupt, at_byte(place) + "an option of an interface has a length");
  };
  damage(9, 2);
  damage(14, 4);
  damage(1, 5);
  damage(2, 0xffff);
}

// Where a file is damaged, lengths, types and numbers are read from packets, and may be addresses.
TEST(PcapngFormat, FailuresTellNoValueOfTheFile) {
  static constexpr uint32_t kAddress = 0x0a141e28, kOdd = 0x0a141e29;
  const std::function<void(PcapngBuilder&)> kDamages[] = {
      [](PcapngBuilder& file) { file.block(kAddress, patterned(40, 1), kOdd); },
      [](PcapngBuilder& file) { file.block(kAddress, patterned(40, 1), 8); },
      [](PcapngBuilder& file) { file.block(1, patterned(40, 1), kAddress); },
      [](PcapngBuilder& file) { file.block(kAddress, patterned(40, 1), {}, kAddress); },
      [](PcapngBuilder& file) { file.enhanced(kAddress, kFirstUs, patterned(60, 1)); },
      [](PcapngBuilder& file) {
        file.block(6, file.body().u32(0).u64(1).u32(kAddress).u32(kAddress).raw(patterned(40, 1)).bytes());
      },
      [](PcapngBuilder& file) {
        file.block(1, file.body().u16(1).u16(0).u32(0).u16(kAddress >> 16).u16(kAddress & 0xffff).u32(6).bytes());
      },
      [](PcapngBuilder& file) { file.section(ByteOrder::big, kAddress >> 16, kAddress & 0xffff); },
      [](PcapngBuilder& file) { file.block(kAddress, patterned(40, 1), kAddress); },
  };
  for (const auto& damage : kDamages) {
    PcapngBuilder file;
    file.section().interface().enhanced(0, kFirstUs, patterned(30, 1));
    damage(file);
    const std::string said = read_from_file(file.bytes()).report.detail;
    EXPECT_FALSE(said.empty());
    for (const uint32_t value : {kAddress, kOdd, kAddress >> 16, kAddress & 0xffff})
      EXPECT_EQ(said.find(std::to_string(value)), std::string::npos) << said;
  }
}

TEST(PcapngFormat, CutAnywhereKeepsWholePackets) {
  PcapngBuilder file;
  std::vector<size_t> packet_ends;
  std::vector<size_t> block_ends = {file.section().bytes().size(), file.interface().bytes().size()};
  for (uint32_t i = 0; i < 3; ++i) {
    packet_ends.push_back(file.enhanced(0, kFirstUs, patterned(20 + i, i), 0, 8 * i).bytes().size());
    block_ends.push_back(packet_ends.back());
    block_ends.push_back(file.block(5, patterned(9, i)).bytes().size());
  }
  for (size_t size = 4; size <= file.bytes().size(); ++size) {
    SCOPED_TRACE(size);
    const CaptureRead read = read_by_parser(std::span(file.bytes()).first(size), pieces_of(size));
    const auto whole = std::upper_bound(packet_ends.begin(), packet_ends.end(), size) - packet_ends.begin();
    EXPECT_EQ(read.packets.size(), static_cast<size_t>(whole));
    const bool between = std::find(block_ends.begin(), block_ends.end(), size) != block_ends.end();
    EXPECT_EQ(read.report.status, between ? InputStatus::ok : InputStatus::truncated);
    EXPECT_EQ(read.report.readable, size >= block_ends[0]);
  }
}

TEST(PcapngFormat, LongPacketsAndLongOptions) {
  PcapngBuilder file;
  file.section().interface();
  file.enhanced(0, kFirstUs, patterned(kMaxCaptured, 1)).enhanced(0, kFirstUs, patterned(60, 2), 0, kMaxNeed + 100);
  expect_read(file);
  // More than is presented: cut, not lost.
  PcapngBuilder longer;
  longer.section().interface().enhanced(0, kFirstUs, patterned(kMaxCaptured + 5, 1));
  longer.enhanced(0, kFirstUs, patterned(kMaxNeed + 5, 2)).enhanced(0, kFirstUs, patterned(60, 3));
  for (size_t piece : {size_t{1000}, longer.bytes().size()}) {
    const CaptureRead read = read_by_parser(longer.bytes(), pieces_of(piece));
    ASSERT_EQ(read.packets.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      PacketBytes kept = longer.packets()[i].data;
      kept.resize(std::min<size_t>(kept.size(), kMaxCaptured));
      EXPECT_EQ(read.packets[i].data, kept);
      EXPECT_EQ(read.packets[i].original, longer.packets()[i].original);
    }
    EXPECT_EQ(read.report.status, InputStatus::ok);
  }
}

TEST(PcapngFormat, VeryLongInterfaceBlockIsRefused) {
  PcapngBuilder file;
  file.section();
  const size_t place = file.bytes().size();
  file.block(1, PacketBytes(kMaxNeed, 0));
  expect_read(file, InputStatus::unsupported, at_byte(place) + "an interface block of more than 524288 bytes");
}

}  // namespace
}  // namespace trama::test
