// Header walk: Ethernet, its tags and labels, and the older local networks that share LLC/SNAP with it.
#include "modules/support/header_walk_layers.hpp"

namespace trama::header_walk {
namespace {

constexpr uint32_t kVlanBytes = 2 + 2;  // control information, then length or type

// IEEE 802.3, clause 3.2.6: up to 1500 the field is a length and LLC follows; from 1536 on it is an ethertype. No
// ethertype that is walked lies between the two.
Layer layer_of_length_or_type(uint16_t value) { return value <= 1500 ? Layer::llc : layer_of_ethertype(value); }

// A header of `bytes` bytes, the last two of which say what follows it. VLAN tags are the most usual thing to follow,
// so that they are taken along here, on a cursor that the compiler keeps in registers.
Layer walk_tag(Cursor& at, uint32_t bytes) {
  Cursor ahead = at;
  uint16_t next = 0;
  do {
    if (!ahead.has(bytes)) return Layer::cut;
    next = ahead.big16(bytes - 2);
    ahead.skip(bytes);
    bytes = kVlanBytes;
  } while (layer_of_length_or_type(next) == Layer::vlan);
  at = ahead;
  return layer_of_length_or_type(next);
}

}  // namespace

// https://www.iana.org/assignments/ieee-802-numbers. 0x9100 and 0x9200 were never assigned, but stacked tags bear them.
Layer layer_of_ethertype(uint16_t ethertype) {
  switch (ethertype) {
    case 0x0800: return Layer::ipv4;
    case 0x86dd: return Layer::ipv6;
    case 0x8100:
    case 0x88a8:
    case 0x9100:
    case 0x9200: return Layer::vlan;
    case 0x8847:
    case 0x8848: return Layer::mpls;
    case 0x8864: return Layer::pppoe;
    case 0x88e7: return Layer::pbb;
    case 0x893f: return Layer::e_tag;
    case 0x8926: return Layer::vn_tag;
    case 0x894f: return Layer::nsh;
    default: return Layer::not_ip;
  }
}

// Two addresses of 6 bytes, then length or type.
Layer walk_ethernet(Cursor& at) { return walk_tag(at, 14); }

// IEEE 802.1Q. The others differ in the size of their control information only: Cisco VN-Tag has 4 bytes, IEEE 802.1BR
// E-tag 6.
Layer walk_vlan(Cursor& at) { return walk_tag(at, kVlanBytes); }
Layer walk_vn_tag(Cursor& at) { return walk_tag(at, 4 + 2); }
Layer walk_e_tag(Cursor& at) { return walk_tag(at, 6 + 2); }

// IEEE 802.1ah (provider backbone bridges): 4 bytes with the service's number, then the customer's Ethernet frame.
Layer walk_pbb(Cursor& at) { return at.skip(4) ? Layer::ethernet : Layer::cut; }

// RFC 3032: labels of 4 bytes up to one with the bottom bit. What is behind them is not said anywhere: equipment looks
// at the first nibble (RFC 4928), and so does the walk.
Layer walk_mpls(Cursor& at) {
  Cursor ahead = at;
  bool bottom = false;
  while (!bottom) {
    if (!ahead.has(4)) return Layer::cut;
    bottom = ahead.byte(2) & 1;
    ahead.skip(4);
  }
  at = ahead;
  if (!at.has(1)) return Layer::cut;
  switch (at.byte(0) >> 4) {
    case 4: return Layer::ipv4;
    case 6: return Layer::ipv6;
    default: return Layer::not_ip;
  }
}

// RFC 8300: version (2 bits), length in words (low 6 bits of the second byte), next protocol (fourth byte).
Layer walk_nsh(Cursor& at) {
  if (!at.has(4)) return Layer::cut;
  const uint32_t header_bytes = (at.byte(1) & 0x3fu) * 4;
  const uint8_t next = at.byte(3);
  if (at.byte(0) >> 6 != 0 || header_bytes < 8) return Layer::not_ip;
  if (!at.skip(header_bytes)) return Layer::cut;
  switch (next) {
    case 1: return Layer::ipv4;
    case 2: return Layer::ipv6;
    case 3: return Layer::ethernet;
    case 4: return Layer::nsh;
    case 5: return Layer::mpls;
    default: return Layer::not_ip;
  }
}

// IEEE 802.2 and, behind AA AA 03, SNAP (RFC 1042): an organization and its protocol number. For two organizations the
// number is an ethertype: 00-00-00, and 00-00-F8, which bridges use (802.1H). 06 06 03 is IP without SNAP (RFC 948).
Layer walk_llc(Cursor& at) {
  if (!at.has(3)) return Layer::cut;
  const uint32_t header = at.big16(0) << 8 | at.byte(2);
  at.skip(3);
  if (header == 0x060603) return Layer::ipv4;
  if (header != 0xaaaa03) return Layer::not_ip;
  if (!at.has(5)) return Layer::cut;
  const uint32_t organization = at.big16(0) << 8 | at.byte(2);
  const uint16_t protocol = at.big16(3);
  at.skip(5);
  return organization == 0x000000 || organization == 0x0000f8 ? layer_of_ethertype(protocol) : Layer::not_ip;
}

// IEEE 802.5: access control, frame control, two addresses, and a route if the source address has its top bit set. The
// route's first byte holds its length in the low 5 bits. Frame control 01xxxxxx is LLC, everything else keeps the ring
// going.
Layer walk_token_ring(Cursor& at) {
  if (!at.has(14)) return Layer::cut;
  const bool llc = at.byte(1) >> 6 == 1, routed = at.byte(8) & 0x80;
  at.skip(14);
  if (!llc) return Layer::not_ip;
  if (!routed) return Layer::llc;
  if (!at.has(2)) return Layer::cut;
  const uint32_t route_bytes = at.byte(0) & 0x1f;
  if (route_bytes < 2 || route_bytes % 2 != 0) return Layer::not_ip;
  return at.skip(route_bytes) ? Layer::llc : Layer::cut;
}

// ISO 9314-2: frame control, two addresses. x101xxxx is LLC with addresses of 6 bytes.
Layer walk_fddi(Cursor& at) {
  if (!at.has(13)) return Layer::cut;
  const bool llc = (at.byte(0) & 0x70) == 0x50;
  at.skip(13);
  return llc ? Layer::llc : Layer::not_ip;
}

}  // namespace trama::header_walk
