#include "modules/support/packet_socket_frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/support/header_walk.hpp"
#include "tests/modules/support/packet_frames.hpp"

namespace trama {
namespace {

using Bytes = std::vector<uint8_t>;
using test::LoneFrame;
using test::RingFrame;

const Bytes kIpv4 = {0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 168, 0, 1};

Bytes ethernet(Bytes payload, uint16_t type = ETH_P_IP) {
  Bytes frame = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)};
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}
Bytes bytes_of(const Packet& packet) { return {packet.data, packet.data + packet.captured}; }

Verdict verdict_of(const RingFrame& frame) {
  LoneFrame lone(frame);
  const Packet packet = packet_of(lone.get());
  return walk(packet.link_type, packet.data, packet.captured).verdict;
}

TEST(PacketSocketFrame, IsThePacketWhereItLies) {
  RingFrame frame{.bytes = ethernet(kIpv4), .original = 1500, .time_ns = 1'700'000'000'123'456'789};
  LoneFrame lone(frame);
  const Packet packet = packet_of(lone.get());
  EXPECT_EQ(packet.data, lone.get() + test::mac_offset(frame));
  EXPECT_EQ(bytes_of(packet), frame.bytes);
  EXPECT_EQ(packet.captured, 34u);
  EXPECT_EQ(packet.original, 1500u);
  EXPECT_EQ(packet.time_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(packet.link_type, 1);
  EXPECT_EQ(packet.verdict, Verdict::counted);
}

TEST(PacketSocketFrame, TheVlanTagIsPutBack) {
  const uint32_t valid = TP_STATUS_USER | TP_STATUS_VLAN_VALID, said = valid | TP_STATUS_VLAN_TPID_VALID;
  const struct {
    uint32_t status;
    uint16_t tag, protocol;
    Bytes wanted;
  } cases[] = {
      {TP_STATUS_USER, 0x1234, 0x88a8, {}},
      {valid, 0x2007, 0, {0x81, 0x00, 0x20, 0x07}},
      {valid, 0, 0, {0x81, 0x00, 0x00, 0x00}},
      {said, 0x0fff, 0x88a8, {0x88, 0xa8, 0x0f, 0xff}},
      {said, 0xffff, 0x9100, {0x91, 0x00, 0xff, 0xff}},
  };
  for (const auto& right : cases) {
    SCOPED_TRACE(right.status);
    const Bytes plain = ethernet(kIpv4);
    LoneFrame lone({.bytes = plain, .status = right.status, .tag = right.tag, .tag_protocol = right.protocol});
    const Packet packet = packet_of(lone.get());
    Bytes wanted = plain;
    wanted.insert(wanted.begin() + 12, right.wanted.begin(), right.wanted.end());
    EXPECT_EQ(bytes_of(packet), wanted);
    EXPECT_EQ(packet.original, wanted.size());
    EXPECT_EQ(walk(packet.link_type, packet.data, packet.captured), (Walked{Verdict::counted, 0x0a000001, 0xc0a80001}));
  }
}

// Nothing in front of the addresses to be moved, or nothing behind them to be read.
TEST(PacketSocketFrame, TheTagOfAFrameThatWasCutInItsAddresses) {
  const uint32_t status = TP_STATUS_USER | TP_STATUS_VLAN_VALID;
  for (size_t captured = 0; captured <= 34; ++captured) {
    SCOPED_TRACE(captured);
    Bytes bytes = ethernet(kIpv4);
    bytes.resize(captured);
    LoneFrame lone({.bytes = bytes, .original = 34, .status = status, .tag = 7});
    const Packet packet = packet_of(lone.get());
    const uint32_t tag_bytes = captured >= 12 ? 4 : 0;
    EXPECT_EQ(packet.captured, captured + tag_bytes);
    EXPECT_EQ(packet.original, 34 + tag_bytes);
    EXPECT_EQ(walk(1, packet.data, packet.captured).verdict, captured < 34 ? Verdict::cut : Verdict::counted);
  }
}

TEST(PacketSocketFrame, EveryKindOfDeviceHasALinkType) {
  const struct {
    uint16_t hardware_type, link_type;
  } cases[] = {
      {ARPHRD_ETHER, 1},       {ARPHRD_LOOPBACK, 1}, {ARPHRD_NONE, 101},    {ARPHRD_TUNNEL, 101},
      {ARPHRD_SIT, 101},       {ARPHRD_PPP, 113},    {ARPHRD_IPGRE, 113},   {ARPHRD_INFINIBAND, 113},
      {ARPHRD_IEEE80211, 105}, {ARPHRD_FDDI, 10},    {ARPHRD_CISCO, 104},   {ARPHRD_IEEE80211_RADIOTAP, 127},
      {ARPHRD_IEEE802_TR, 6},  {ARPHRD_ARCNET, 129}, {ARPHRD_NETLINK, 253}, {ARPHRD_IEEE80211_PRISM, 119},
      {ARPHRD_CAN, 227},       {12345, 113},
  };
  for (const auto& right : cases) EXPECT_EQ(link_type_of(right.hardware_type), right.link_type) << right.hardware_type;
  for (const uint16_t unknown : {uint16_t{ARPHRD_CAN}, uint16_t{ARPHRD_NETLINK}}) {
    EXPECT_FALSE(walks(link_type_of(unknown)));
    EXPECT_EQ(verdict_of({.bytes = kIpv4, .link_bytes = 0, .hardware_type = unknown}), Verdict::unknown_link);
  }
}

TEST(PacketSocketFrame, WithoutALinkHeaderTheNetworkHeaderComesFirst) {
  for (const uint32_t link_bytes : {0u, 4u, 24u}) {
    SCOPED_TRACE(link_bytes);
    Bytes bytes(link_bytes, 0xee);
    bytes.insert(bytes.end(), kIpv4.begin(), kIpv4.end());
    LoneFrame lone({.bytes = bytes, .link_bytes = link_bytes, .hardware_type = ARPHRD_NONE});
    const Packet packet = packet_of(lone.get());
    EXPECT_EQ(packet.link_type, 101);
    EXPECT_EQ(bytes_of(packet), kIpv4);
    EXPECT_EQ(packet.original, kIpv4.size());
  }
}

TEST(PacketSocketFrame, DevicesOfTheirOwnKindGetACookedHeader) {
  for (const uint32_t link_bytes : {0u, 4u, 28u}) {
    SCOPED_TRACE(link_bytes);
    Bytes bytes(link_bytes, 0xee);
    bytes.insert(bytes.end(), kIpv4.begin(), kIpv4.end());
    RingFrame frame{.bytes = bytes, .link_bytes = link_bytes, .hardware_type = ARPHRD_PPP};
    frame.packet_type = PACKET_OUTGOING;
    LoneFrame lone(frame);
    const Packet packet = packet_of(lone.get());
    EXPECT_EQ(packet.link_type, 113);
    Bytes wanted = {0, 4, 512 >> 8, 512 & 255, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0};
    wanted.insert(wanted.end(), kIpv4.begin(), kIpv4.end());
    EXPECT_EQ(bytes_of(packet), wanted);
    EXPECT_EQ(walk(113, packet.data, packet.captured), (Walked{Verdict::counted, 0x0a000001, 0xc0a80001}));

    frame.protocol = ETH_P_ARP;
    EXPECT_EQ(verdict_of(frame), Verdict::not_ip);
    frame.protocol = ETH_P_IP;
    frame.status |= TP_STATUS_VLAN_VALID;
    EXPECT_EQ(verdict_of(frame), Verdict::counted);
    frame.bytes.resize(link_bytes + 19);
    EXPECT_EQ(verdict_of(frame), Verdict::cut);
    frame.bytes.resize(link_bytes / 2);
    EXPECT_EQ(verdict_of(frame), Verdict::cut);
  }
}

}  // namespace
}  // namespace trama
