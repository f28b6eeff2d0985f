// Frames and blocks of a TPACKET_V3 ring as the kernel writes them (tpacket_rcv() in net/packet/af_packet.c).
#pragma once
#include <arpa/inet.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "modules/support/packet_socket_frame.hpp"

namespace trama::test {

struct RingFrame {
  std::vector<uint8_t> bytes;  // captured, from the link header on
  uint32_t link_bytes = 14;    // in front of the network header
  uint32_t original = 0;       // 0: as many as were captured
  uint16_t hardware_type = ARPHRD_ETHER;
  uint16_t protocol = ETH_P_IP;
  uint32_t status = TP_STATUS_USER;  // with TP_STATUS_VLAN_VALID and so on
  uint16_t tag = 0, tag_protocol = 0;
  int64_t time_ns = 0;
  uint8_t packet_type = PACKET_HOST;
};

inline uint32_t mac_offset(const RingFrame& frame) {
  const uint32_t header = TPACKET_ALIGN(sizeof(tpacket3_hdr)) + sizeof(sockaddr_ll);
  return TPACKET_ALIGN(header + std::max(frame.link_bytes, 16u)) + kFrameReserveBytes - frame.link_bytes;
}
inline uint32_t frame_bytes(const RingFrame& frame) {
  return mac_offset(frame) + static_cast<uint32_t>(frame.bytes.size());
}

// At an address that is a multiple of 16, with frame_bytes() there.
inline void write_frame(uint8_t* at, const RingFrame& frame, uint32_t to_next) {
  auto* const header = new (at) tpacket3_hdr{};
  header->tp_next_offset = to_next;
  header->tp_sec = static_cast<uint32_t>(frame.time_ns / 1'000'000'000);
  header->tp_nsec = static_cast<uint32_t>(frame.time_ns % 1'000'000'000);
  header->tp_snaplen = static_cast<uint32_t>(frame.bytes.size());
  header->tp_len = frame.original != 0 ? frame.original : header->tp_snaplen;
  header->tp_status = frame.status;
  header->tp_mac = static_cast<uint16_t>(mac_offset(frame));
  header->tp_net = static_cast<uint16_t>(header->tp_mac + frame.link_bytes);
  header->hv1.tp_vlan_tci = frame.tag;
  header->hv1.tp_vlan_tpid = frame.tag_protocol;
  auto* const address = new (at + TPACKET_ALIGN(sizeof(tpacket3_hdr))) sockaddr_ll{};
  address->sll_family = AF_PACKET;
  address->sll_protocol = htons(frame.protocol);
  address->sll_hatype = frame.hardware_type;
  address->sll_pkttype = frame.packet_type;
  address->sll_halen = 6;
  std::memcpy(address->sll_addr, "\1\2\3\4\5\6", 6);
  std::copy(frame.bytes.begin(), frame.bytes.end(), at + header->tp_mac);
}

// A frame in memory of its own, which ends where the packet does.
class LoneFrame {
 public:
  explicit LoneFrame(const RingFrame& frame) : memory_(new uint8_t[frame_bytes(frame)]) {
    write_frame(memory_.get(), frame, 0);
  }
  uint8_t* get() { return memory_.get(); }

 private:
  std::unique_ptr<uint8_t[]> memory_;
};

}  // namespace trama::test
