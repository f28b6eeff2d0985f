// The header walk: from the first captured byte of a packet to its outermost IP header.
//
// walk() steps over the link layer and over tags, labels and session headers (VLAN, MPLS, PPPoE, LLC/SNAP, ...), reads
// the two addresses of an IPv4 header, and gives every packet exactly one verdict. Tunnels are not entered.
// docs/counting.md says in words what counts and why. In this order:
//   1. The captured bytes end inside a link header, tag or label: cut.
//   2. What follows is not IP, or can't be known: not_ip. On a raw-IP link an impossible version is malformed.
//   3. IPv4: fewer than 20 bytes: cut; version not 4 or header length under 5 words: malformed; else counted.
//      IPv6: fewer than 40 bytes: cut; version not 6: malformed; else ipv6.
// Options, total length and checksum are not judged: segmentation offload writes zeros there.
//
// Each step moves forward in the packet, so that the work is bounded by its captured length. Nothing is allocated,
// nothing is logged, and no function here has state, so that any thread may call any of them. Link types are LINKTYPE_
// numbers (https://www.tcpdump.org/linktypes.html), which capture files hold.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "modules/support/tally.hpp"

namespace trama {

// The verdict is one of counted, ipv6, not_ip, malformed, cut and unknown_link. The addresses are numbers, 1.2.3.4 is
// 0x01020304, and mean something only when the packet is counted; else they are 0.
struct Walked {
  Verdict verdict = Verdict::cut;
  uint32_t source = 0;
  uint32_t destination = 0;
  bool operator==(const Walked&) const = default;
};

// The outermost IPv4 header, of which at least 20 bytes are captured, when the packet is counted; else null.
struct FoundHeader {
  const uint8_t* ipv4 = nullptr;
  Verdict verdict = Verdict::cut;
};

// What walk() does, for any link type, one layer after the other, and without reading the addresses.
FoundHeader find_header(uint16_t link_type, const uint8_t* data, uint32_t captured);

// False: every packet of this link type is unknown_link.
bool walks(uint16_t link_type);

// For messages: "EN10MB (Ethernet)", or "link type 147" for one that isn't walked. Valid until the next call in this
// thread.
const char* link_type_name(uint16_t link_type);

// The packets of link types Ethernet and raw IP that are nearly all that is seen in practice: an untagged one with a
// sound IPv4 header. Gives that header, or null when it takes find_header() to tell.
inline const uint8_t* find_plain_ipv4(uint16_t link_type, const uint8_t* data, uint32_t captured) {
  constexpr uint16_t kEthernet = 1, kRawIp = 101;
  constexpr uint32_t kEthernetBytes = 14, kIpv4Bytes = 20;
  const uint8_t* ip = data;
  if (link_type == kEthernet) {
    if (captured < kEthernetBytes + kIpv4Bytes || data[12] != 0x08 || data[13] != 0x00) [[unlikely]]
      return nullptr;
    ip += kEthernetBytes;
  } else if (link_type != kRawIp || captured < kIpv4Bytes) [[unlikely]] {
    return nullptr;
  }
  // Version 4 and a header length of 5 to 15 words are the values 0x45 to 0x4f of one byte.
  return static_cast<uint8_t>(ip[0] - 0x45) <= 0x4f - 0x45 ? ip : nullptr;
}

// Judges one packet. Reads nothing outside data[0] .. data[captured - 1]; `data` may be null when `captured` is 0.
// The plain packets are judged here, in the caller's loop, and all others, with the same result for these, by
// find_header().
inline Walked walk(uint16_t link_type, const uint8_t* data, uint32_t captured) {
  const uint8_t* ipv4 = find_plain_ipv4(link_type, data, captured);
  if (ipv4 == nullptr) [[unlikely]] {
    const FoundHeader found = find_header(link_type, data, captured);
    if (found.verdict != Verdict::counted) return {found.verdict};
    ipv4 = found.ipv4;
  }
  uint32_t pair[2];
  std::memcpy(pair, ipv4 + 12, sizeof pair);
  if constexpr (std::endian::native == std::endian::little) {
    pair[0] = __builtin_bswap32(pair[0]);
    pair[1] = __builtin_bswap32(pair[1]);
  }
  return {Verdict::counted, pair[0], pair[1]};
}

}  // namespace trama
