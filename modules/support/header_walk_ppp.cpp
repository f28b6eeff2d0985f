// Header walk: point-to-point links (PPP in its framings, PPPoE, Cisco HDLC, SLIP).
#include "modules/support/header_walk_layers.hpp"

namespace trama::header_walk {

// RFC 1661: a protocol number, in one byte if that is odd (field compression). FF 03 before it is the address and
// control field of RFC 1662, which may be left out. FF alone can only be a protocol number, of nothing that is IP.
// Compressed (0x002d, 0x00fd) and multilink (0x003d) packets have no IP header to read.
Layer walk_ppp(Cursor& at) {
  if (!at.has(1)) return Layer::cut;
  if (at.byte(0) == 0xff) {
    if (!at.has(2)) return Layer::cut;
    if (at.byte(1) == 0x03) at.skip(2);
    if (!at.has(1)) return Layer::cut;
  }
  uint16_t protocol = at.byte(0);
  uint32_t bytes = 1;
  if (protocol % 2 == 0) {
    if (!at.has(2)) return Layer::cut;
    protocol = at.big16(0);
    bytes = 2;
  }
  at.skip(bytes);
  switch (protocol) {
    case 0x0021: return Layer::ipv4;
    case 0x0057: return Layer::ipv6;
    case 0x0281:
    case 0x0283: return Layer::mpls;
    default: return Layer::not_ip;
  }
}

// One byte says who sent the packet; PPP follows.
Layer walk_ppp_direction(Cursor& at) { return at.skip(1) ? Layer::ppp : Layer::cut; }

// LINKTYPE_PPP_HDLC: the first byte is 0x0f or 0x8f when the line speaks Cisco HDLC, else it is PPP's.
Layer walk_ppp_hdlc(Cursor& at) {
  if (!at.has(1)) return Layer::cut;
  return at.byte(0) == 0x0f || at.byte(0) == 0x8f ? Layer::cisco_hdlc : Layer::ppp;
}

// RFC 2516: version and type (both 1), code (0 in a session), session, length; PPP follows. Other codes are discovery.
Layer walk_pppoe(Cursor& at) {
  if (!at.has(6)) return Layer::cut;
  const bool session = at.byte(0) == 0x11 && at.byte(1) == 0;
  at.skip(6);
  return session ? Layer::ppp : Layer::not_ip;
}

// RFC 1547, section 4.3.1: address, control, and an ethertype.
Layer walk_cisco_hdlc(Cursor& at) {
  if (!at.has(4)) return Layer::cut;
  const uint16_t ethertype = at.big16(2);
  at.skip(4);
  return layer_of_ethertype(ethertype);
}

// LINKTYPE_SLIP: 16 bytes with the direction and, of compressed packets, the header as it was sent; then IP (RFC 1055).
Layer walk_slip(Cursor& at) { return at.skip(16) ? Layer::raw_ip : Layer::cut; }

}  // namespace trama::header_walk
