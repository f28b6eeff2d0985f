#include "modules/support/packet_socket_frame.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <algorithm>
#include <cstring>

namespace trama {
namespace {

constexpr uint16_t kEthernet = 1, kRawIp = 101, kCooked = 113;
constexpr uint32_t kTagBytes = 4, kCookedBytes = 16;
constexpr uint16_t kArphrd6Lowpan = 825, kArphrdVsockmon = 826;

void put_big16(uint8_t* at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

// LINKTYPE_LINUX_SLL: packet type, kind of device, length of address, address (8), protocol; in network byte order,
// as the protocol of a sockaddr_ll is already.
void write_cooked_header(uint8_t* at, const sockaddr_ll& address) {
  put_big16(at, address.sll_pkttype);
  put_big16(at + 2, address.sll_hatype);
  put_big16(at + 4, address.sll_halen);
  std::memcpy(at + 6, address.sll_addr, 8);
  std::memcpy(at + 14, &address.sll_protocol, 2);
}

// Moves the `before` bytes in front of the tag's place, which in a frame of Ethernet are the two addresses.
void put_tag_back(Packet& packet, uint32_t before, uint16_t protocol, uint16_t tag) {
  if (packet.captured < before) return;
  auto* const data = const_cast<uint8_t*>(packet.data) - kTagBytes;
  std::memmove(data, packet.data, before);
  put_big16(data + before, protocol);
  put_big16(data + before + 2, tag);
  packet.data = data;
  packet.captured += kTagBytes;
  packet.original += kTagBytes;
}

}  // namespace

uint16_t link_type_of(uint16_t hardware_type) {
  switch (hardware_type) {
    case ARPHRD_ETHER:
    case ARPHRD_LOOPBACK: return kEthernet;
    case ARPHRD_NONE:
    case ARPHRD_RAWIP:
    case ARPHRD_RAWHDLC:
    case ARPHRD_SLIP:
    case ARPHRD_CSLIP:
    case ARPHRD_SLIP6:
    case ARPHRD_CSLIP6:
    case ARPHRD_ADAPT:
    case ARPHRD_TUNNEL:
    case ARPHRD_TUNNEL6:
    case ARPHRD_SIT:
    case kArphrd6Lowpan: return kRawIp;
    case ARPHRD_IEEE802:
    case ARPHRD_IEEE802_TR: return 6;
    case ARPHRD_FDDI: return 10;
    case ARPHRD_CISCO: return 104;
    case ARPHRD_IEEE80211: return 105;
    case ARPHRD_IEEE80211_PRISM: return 119;
    case ARPHRD_IEEE80211_RADIOTAP: return 127;
    case ARPHRD_ARCNET: return 129;
    case ARPHRD_IRDA: return 144;
    case ARPHRD_CAN: return 227;
    case ARPHRD_IEEE802154:
    case ARPHRD_IEEE802154_MONITOR: return 230;
    case ARPHRD_NETLINK: return 253;
    case kArphrdVsockmon: return 271;
    default: return kCooked;
  }
}

Packet packet_of(uint8_t* frame) noexcept {
  const auto& header = *reinterpret_cast<const tpacket3_hdr*>(frame);
  const auto& address = *reinterpret_cast<const sockaddr_ll*>(frame + TPACKET_ALIGN(sizeof(tpacket3_hdr)));
  Packet packet{.data = frame + header.tp_mac,
                .time_ns = int64_t{header.tp_sec} * 1'000'000'000 + header.tp_nsec,
                .captured = header.tp_snaplen,
                .original = header.tp_len,
                .link_type = link_type_of(address.sll_hatype),
                .verdict = Verdict::counted};
  uint32_t before_tag = 2 * ETH_ALEN;
  if (packet.link_type == kCooked || packet.link_type == kRawIp) {
    // From the network header on; what the device has in front of it, if anything, is its own affair.
    const uint32_t link_bytes = std::min<uint32_t>(header.tp_net - header.tp_mac, packet.captured);
    packet.data += link_bytes;
    packet.captured -= link_bytes;
    packet.original -= std::min(link_bytes, packet.original);
  }
  if (packet.link_type == kCooked) {
    auto* const data = const_cast<uint8_t*>(packet.data) - kCookedBytes;
    write_cooked_header(data, address);
    packet.data = data;
    packet.captured += kCookedBytes;
    packet.original += kCookedBytes;
    before_tag = kCookedBytes - 2;
  }
  const bool tagged = (header.tp_status & TP_STATUS_VLAN_VALID) != 0;
  if (tagged && (packet.link_type == kEthernet || packet.link_type == kCooked)) {
    const bool said = (header.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    put_tag_back(packet, before_tag, said ? header.hv1.tp_vlan_tpid : uint16_t{ETH_P_8021Q},
                 static_cast<uint16_t>(header.hv1.tp_vlan_tci));
  }
  return packet;
}

}  // namespace trama
