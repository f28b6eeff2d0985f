#include "modules/support/header_walk_frame.hpp"

#include <gtest/gtest.h>

#include "modules/support/header_walk.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama {
namespace {

struct FrameCase {
  const char* name;
  uint16_t link;
  PacketBytes bytes;
  int type;          // of the made header; -1: can't be shown
  uint32_t skipped;  // bytes of the link header
};

std::vector<FrameCase> cases() {
  const auto v4 = [](PacketBuilder builder) { return builder.ipv4(0x0A000001, 0xC0000201).payload(3).bytes(); };
  const auto v6 = [](PacketBuilder builder) { return builder.ipv6().bytes(); };
  using Builder = PacketBuilder;
  return {{"raw IPv4", 12, v4({}), 0x0800, 0},
          {"raw IPv4", 14, v4({}), 0x0800, 0},
          {"raw IPv4", kRawLink, v4({}), 0x0800, 0},
          {"raw IPv6", kRawLink, v6({}), 0x86dd, 0},
          {"raw, version 5", kRawLink, Builder().ipv4(1, 2, 0x55).bytes(), -1, 0},
          {"raw, empty", kRawLink, {}, -1, 0},
          {"IPv4", kIpv4Link, v4({}), 0x0800, 0},
          {"IPv6", kIpv6Link, v6({}), 0x86dd, 0},
          {"loopback, little", kNullLink, v4(Builder().family(2, ByteOrder::little)), 0x0800, 4},
          {"loopback, big", kNullLink, v6(Builder().family(30, ByteOrder::big)), 0x86dd, 4},
          {"loopback, other", kNullLink, v4(Builder().family(7, ByteOrder::little)), -1, 0},
          {"OpenBSD loopback", kLoopLink, v4(Builder().family(2, ByteOrder::big)), 0x0800, 4},
          {"cooked", kCookedLink, v4(Builder().cooked(kIpv4Type)), 0x0800, 16},
          {"cooked, ARP", kCookedLink, Builder().cooked(kArpType).payload(28).bytes(), -1, 0},
          {"cooked, tagged", kCookedLink, v4(Builder().cooked(kServiceVlanType).vlan(1, kIpv4Type)), 0x8100, 16},
          {"cooked, netlink", kCookedLink, v4(Builder().cooked(kIpv4Type, 824)), -1, 0},
          {"cooked 2", kCooked2Link, v6(Builder().cooked2(kIpv6Type)), 0x86dd, 20},
          {"PPP", kPppLink, v4(Builder().ppp(0x0021)), 0x0800, 2},
          {"PPP, framed", kPppLink, v6(Builder().ppp_framed(0x0057)), 0x86dd, 4},
          {"PPP, LCP", kPppLink, Builder().ppp(0xc021).payload(20).bytes(), -1, 0},
          {"PPP over serial", kPppHdlcLink, v4(Builder().ppp_framed(0x0021)), 0x0800, 4},
          {"Cisco HDLC", kCiscoHdlcLink, v4(Builder().cisco_hdlc(kIpv4Type)), 0x0800, 4},
          {"802.11", kWifiLink, v4(Builder().wifi().snap(kIpv4Type)), -1, 0},
          {"unknown", 147, v4({}), -1, 0}};
}

TEST(EthernetFrames, ShowWhatIsIpBehindALinkHeader) {
  EthernetFrames frames;
  for (const FrameCase& one : cases()) {
    SCOPED_TRACE(one.name);
    const CapturedPacket packet(one.bytes);
    const auto frame = frames.show(packet.packet(one.link));
    ASSERT_EQ(frame.has_value(), one.type >= 0);
    if (!frame) continue;
    PacketBytes expected(12);
    expected.push_back(static_cast<uint8_t>(one.type >> 8));
    expected.push_back(static_cast<uint8_t>(one.type));
    expected.insert(expected.end(), one.bytes.begin() + one.skipped, one.bytes.end());
    EXPECT_EQ(PacketBytes(frame->begin(), frame->end()), expected);
    // Nobody is shown anything else than what is judged.
    EXPECT_EQ(walk(kEthernetLink, frame->data(), static_cast<uint32_t>(frame->size())),
              walk(one.link, packet.data(), packet.captured()));
  }
}

TEST(EthernetFrames, CutPacketsAreShownFromTheIpHeaderOnOrNotAtAll) {
  EthernetFrames frames;
  for (const FrameCase& one : cases()) {
    for (size_t bytes = 0; bytes <= one.bytes.size(); ++bytes) {
      SCOPED_TRACE(std::string(one.name) + ", " + std::to_string(bytes) + " bytes");
      const CapturedPacket packet(one.bytes, bytes);
      const auto frame = frames.show(packet.packet(one.link));
      if (bytes < one.skipped || one.type < 0) {
        EXPECT_FALSE(frame.has_value());
      } else if (frame) {
        EXPECT_EQ(frame->size(), 14 + bytes - one.skipped);
      }
    }
  }
}

TEST(EthernetFrames, EthernetIsShownAsItIs) {
  EthernetFrames frames;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{13}, size_t{60}}) {
    const CapturedPacket packet(PacketBytes(60), bytes);
    const auto frame = frames.show(packet.packet(kEthernetLink));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->data(), packet.data());
    EXPECT_EQ(frame->size(), bytes);
  }
}

}  // namespace
}  // namespace trama
