// Captures of the kinds that users of other tools reported as refused, miscounted, or read past their end: each built
// here in small, read from a file and from a pipe whose writer stalls early, and walked packet by packet in memory that
// ends where the captured bytes do.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "modules/support/header_walk.hpp"
#include "tests/support/capture_reading.hpp"

namespace trama::test {
namespace {

using Frame = PacketBuilder;
using enum Verdict;
using Counts = std::map<Verdict, size_t>;

constexpr uint32_t kSource = 0x0a010203, kDestination = 0xc0000201;
constexpr int64_t kReportedNs = 1'700'000'000'000'000'000;

struct Case {
  std::string words;
  PacketBytes file;
  Counts right;
  InputStatus status = InputStatus::ok;
};

Frame ip_frame() { return Frame().ethernet(kIpv4Type).ipv4(kSource, kDestination).payload(8); }
PacketBytes raw_frame() { return raw_ipv4_packet(kSource, kDestination, 8); }

PacketBytes first_bytes(PacketBytes bytes, size_t count) {
  bytes.resize(count);
  return bytes;
}

// A pcap of these packets.
PacketBytes capture(const std::vector<Frame>& frames, PcapVariant variant = {}) {
  PcapBuilder file(variant);
  for (const Frame& frame : frames) file.packet(frame.bytes(), kReportedNs);
  return file.bytes();
}

// One packet, cut to each of these lengths.
PacketBytes cuts(const Frame& frame, const std::vector<size_t>& lengths) {
  PcapBuilder file;
  for (const size_t length : lengths)
    file.packet(first_bytes(frame.bytes(), length), kReportedNs, static_cast<uint32_t>(frame.size()));
  return file.bytes();
}

// An IPv4 packet with this in its header's first 10 bytes, whatever follows.
Frame ipv4_with(uint8_t first_byte, uint16_t total_length, uint16_t fragment = 0, uint8_t protocol = 17) {
  Frame frame;
  frame.ethernet(kIpv4Type).raw({first_byte, 0}).number16(total_length).number16(1).number16(fragment);
  return frame.raw({64, protocol, 0, 0}).number32(kSource).number32(kDestination);
}

void add_files(std::vector<Case>& all) {
  PcapngBuilder links;
  links.section();
  for (const uint16_t link_type : {kEthernetLink, kRawLink, kCookedLink, kNullLink, uint16_t{147}, kCooked2Link})
    links.interface({.link_type = link_type, .snap_length = link_type == kCooked2Link ? 96u : 0u});
  links.enhanced(0, 1, ip_frame().bytes()).enhanced(1, 2, raw_frame());
  links.enhanced(2, 3, Frame().cooked(kIpv4Type).raw(raw_frame()).bytes());
  links.enhanced(3, 4, Frame().family(2, ByteOrder::little).raw(raw_frame()).bytes());
  links.enhanced(4, 5, raw_frame()).enhanced(5, 6, Frame().cooked2(kIpv4Type).raw(raw_frame()).bytes());
  all.push_back({"pcapng with six link types", links.bytes(), {{counted, 5}, {unknown_link, 1}}});

  PcapngBuilder many;
  many.section();
  for (int i = 0; i < 300; ++i) many.interface({.link_type = i == 299 ? kRawLink : kEthernetLink});
  for (int i = 0; i < 5; ++i) many.enhanced(299, 1, raw_frame()).enhanced(i % 2 == 0 ? 0 : 255, 1, ip_frame().bytes());
  all.push_back({"pcapng with 300 interfaces", many.bytes(), {{counted, 10}}});

  PcapngBuilder others;
  others.section(ByteOrder::big).interface();
  for (const uint32_t custom : {0x0badu, 0x40000badu, 5u, 4u, 10u}) others.block(custom, raw_frame());
  others.enhanced(0, 1, ip_frame().bytes());
  all.push_back({"blocks that are no packets", others.bytes(), {{counted, 1}}});

  for (const uint32_t snap_length : {0u, 524288u, 0xffffffffu}) {
    all.push_back({"snap length " + std::to_string(snap_length),
                   capture({ip_frame(), ip_frame()}, {.snap_length = snap_length}),
                   {{counted, 2}}});
  }
  for (const ByteOrder order : {ByteOrder::big, ByteOrder::little}) {
    all.push_back(
        {"nanoseconds", capture({ip_frame()}, {.order = order, .magic = PcapVariant::kNano}), {{counted, 1}}});
  }
  PcapBuilder late;
  late.record(1'700'000'000, 999'999'999, 54, 54, ip_frame().payload(12).bytes());
  all.push_back({"nanoseconds under the microsecond magic", late.bytes(), {{counted, 1}}});
  PcapBuilder longer({.snap_length = 40});
  longer.packet(ip_frame().bytes(), kReportedNs, 30);
  all.push_back({"captured more than the original length and the snap length", longer.bytes(), {{counted, 1}}});

  PcapBuilder ten;
  for (int i = 0; i < 10; ++i) ten.packet(ip_frame().bytes(), kReportedNs);
  const std::span<const uint8_t> bytes = ten.bytes();
  all.push_back({"last record cut", {bytes.begin(), bytes.end() - 5}, {{counted, 9}}, InputStatus::truncated});
  ten.raw(patterned(7, 1));
  all.push_back({"7 bytes of another record header", ten.bytes(), {{counted, 10}}, InputStatus::truncated});
  PcapngBuilder blocks;
  blocks.section().interface().enhanced(0, 1, ip_frame().bytes()).enhanced(0, 2, ip_frame().bytes());
  const PacketBytes& both = blocks.bytes();
  all.push_back({"last block cut", {both.begin(), both.end() - 1}, {{counted, 1}}, InputStatus::truncated});
  all.push_back({"an empty file", {}, {}, InputStatus::truncated});
  all.push_back({"10 bytes of a file header", first_bytes(capture({}), 10), {}, InputStatus::truncated});
  all.push_back({"a file header alone", capture({}), {}});
}

void add_raw_links(std::vector<Case>& all) {
  const Frame v4 = Frame().raw(raw_frame()), v6 = Frame().ipv6();
  for (const uint32_t link_type : {12u, 14u, 101u}) {
    const std::string words = "raw IP as link type " + std::to_string(link_type);
    all.push_back({words, capture({v4, v6, v4}, {.link_word = link_type}), {{counted, 2}, {ipv6, 1}}});
  }
  all.push_back({"IPv6 under IPv4's link type", capture({v4, v6}, {.link_word = 228}), {{counted, 1}, {malformed, 1}}});
  Frame long_v4 = v4;
  long_v4.payload(40);
  all.push_back({"and the other way", capture({long_v4, v6}, {.link_word = 229}), {{ipv6, 1}, {malformed, 1}}});
}

void add_tags(std::vector<Case>& all) {
  const auto ip = [](Frame frame) { return frame.ipv4(kSource, kDestination).payload(4); };
  const std::vector<Frame> tagged = {
      ip(Frame().ethernet(kIpv4Type)),  // the tag was taken off
      ip(Frame().ethernet(kVlanType).vlan(7, kIpv4Type)),
      ip(Frame().ethernet(kVlanType).vlan(0, kIpv4Type)),
      ip(Frame().ethernet(kVlanType).vlan(0xf007, kIpv4Type)),
      ip(Frame().ethernet(kServiceVlanType).vlan(7, kVlanType).vlan(8, kIpv4Type)),
      ip(Frame().ethernet(kVlanType).vlan(7, kVlanType).vlan(8, kIpv4Type)),
      ip(Frame().ethernet(kOldVlanType).vlan(7, kVlanType).vlan(8, kIpv4Type)),
      ip(Frame().ethernet(kVlanType).vlan(7, kVlanType).vlan(8, kVlanType).vlan(9, kIpv4Type)),
      ip(Frame().ethernet(kServiceVlanType).vlan(7, kVlanType).vlan(8, kPppoeType).pppoe().ppp(0x0021)),
  };
  all.push_back({"every stack of tags", capture(tagged), {{counted, tagged.size()}}});
  const Frame plain = ip(Frame().ethernet(kIpv4Type)), vlan = ip(Frame().ethernet(kVlanType).vlan(7, kIpv4Type));
  all.push_back({"short snapshots", cuts(plain, {14, 20, 33, 34, 35}), {{counted, 2}, {cut, 3}}});
  all.push_back({"short snapshots of a tagged packet", cuts(vlan, {15, 16, 17, 18, 37, 38}), {{counted, 1}, {cut, 5}}});
}

void add_ip(std::vector<Case>& all) {
  const auto source_route = [] {
    return ipv4_with(0x47, 28).raw({131, 7, 4}).number32(0xcb007107).raw({0});  // by way of another destination
  };
  all.push_back({"IPv4 headers with much that is odd and two that are impossible",
                 capture({ipv4_with(0x45, 20), ipv4_with(0x44, 20), ipv4_with(0x4f, 60), ipv4_with(0x45, 0),
                          ipv4_with(0x45, 10), ipv4_with(0x45, 65535), ipv4_with(0x55, 20), source_route(),
                          ipv4_with(0x45, 20, 0x2000), ipv4_with(0x45, 20, 0x00b9)}),
                 {{counted, 8}, {malformed, 2}}});
  all.push_back({"header length 0", capture({ipv4_with(0x40, 20)}), {{malformed, 1}}});
  all.push_back({"BIG TCP, 80 kB", capture({ipv4_with(0x45, 0).payload(80'000)}), {{counted, 1}}});
  all.push_back({"IPv6 jumbogram", capture({Frame().ethernet(kIpv6Type).ipv6().payload(70'000)}), {{ipv6, 1}}});
  all.push_back({"a frame of 18 bytes padding, and one with a checksum behind it",
                 capture({ip_frame().filled(18), ip_frame().raw({1, 2, 3, 4})}),
                 {{counted, 2}}});
  const Frame inner = Frame().ipv4(0x08080808, 0x08080404);
  all.push_back({"tunnels count by their outer header",
                 capture({ipv4_with(0x45, 40, 0, 4).raw(inner.bytes()), ipv4_with(0x45, 60, 0, 41).ipv6(),
                          ipv4_with(0x45, 44, 0, 47).number16(0).number16(kIpv4Type).raw(inner.bytes()),
                          ipv4_with(0x45, 70).filled(16).ethernet(kIpv4Type).raw(inner.bytes()),
                          Frame().ethernet(kIpv6Type).ipv6().raw(inner.bytes())}),
                 {{counted, 4}, {ipv6, 1}}});
  all.push_back({"an ICMP error that quotes a header",
                 capture({ipv4_with(0x45, 48, 0, 1).filled(8).raw(inner.bytes())}),
                 {{counted, 1}}});
  all.push_back({"IPv6, ARP, spanning tree and a short frame between IPv4",
                 capture({ip_frame(), Frame().ethernet(kIpv6Type).ipv6(), Frame().ethernet(kArpType).filled(28),
                          Frame().ethernet(38).llc(0x42, 0x42, 3).filled(35), Frame().filled(13),
                          Frame().ethernet(36).snap(kIpv4Type).raw(raw_frame())}),
                 {{counted, 2}, {ipv6, 1}, {not_ip, 2}, {cut, 1}}});
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  add_files(all);
  add_raw_links(all);
  add_tags(all);
  add_ip(all);
  return all;
}

// The verdicts; every counted packet has the one pair, and nothing of what it carries or is routed by.
Counts walked(const std::vector<BuiltPacket>& packets) {
  Counts verdicts;
  for (const BuiltPacket& packet : packets) {
    const CapturedPacket exact(packet.data);
    const Walked judged = walk(packet.link_type, exact.data(), exact.captured());
    ++verdicts[judged.verdict];
    if (judged.verdict == counted) {
      EXPECT_EQ(judged, (Walked{counted, kSource, kDestination}));
    }
  }
  return verdicts;
}

TEST(ReportedCaptures, EveryPacketGetsItsVerdict) {
  for (const Case& one : all_cases()) {
    SCOPED_TRACE(one.words);
    const CaptureRead from_file = read_from_file(one.file);
    EXPECT_EQ(walked(from_file.packets), one.right);
    EXPECT_EQ(from_file.report.status, one.status) << from_file.report.detail;
    bool first = true;
    const CaptureRead from_pipe =
        read_from_pipe(one.file, [&](size_t) { return std::exchange(first, false) ? 30 : 4096; });
    EXPECT_EQ(from_pipe.packets, from_file.packets);
    EXPECT_EQ(from_pipe.report.status, one.status);
    EXPECT_EQ(from_pipe.report.detail, from_file.report.detail);
  }
}

// Five packets a second apart, by four clocks.
TEST(ReportedCaptures, TimesAreTheSameByEveryClock) {
  constexpr uint64_t kSeconds = 1'700'000'000;
  PcapngBuilder file;
  file.section().interface({.resolution = 9}).interface().interface({.resolution = 0x80 | 10});
  file.interface({.offset_s = 1000});
  file.enhanced(0, kSeconds * 1'000'000'000, raw_frame()).enhanced(1, (kSeconds + 1) * 1'000'000, raw_frame());
  file.enhanced(2, (kSeconds + 2) << 10, raw_frame()).enhanced(3, (kSeconds - 1000 + 3) * 1'000'000, raw_frame());
  file.enhanced(0, (kSeconds + 4) * 1'000'000'000, raw_frame());
  const CaptureRead read = read_from_file(file.bytes());
  ASSERT_EQ(read.packets.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(read.packets[i].time_ns, kReportedNs + static_cast<int64_t>(i) * 1'000'000'000);
}

}  // namespace
}  // namespace trama::test
