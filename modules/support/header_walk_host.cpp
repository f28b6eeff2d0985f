// Header walk: headers that an operating system puts in front of packets (loopback, cooked, log and tap formats), raw
// IP, and the links that nothing else shares anything with (InfiniBand, ARCNET).
#include "modules/support/header_walk_layers.hpp"

namespace trama::header_walk {
namespace {

// Address families: IPv4 is 2 everywhere; IPv6 is 10 on Linux, 24 on NetBSD and OpenBSD, 28 on FreeBSD, 30 on macOS.
Layer layer_of_family(uint32_t family) {
  switch (family) {
    case 2: return Layer::ipv4;
    case 10:
    case 24:
    case 28:
    case 30: return Layer::ipv6;
    default: return Layer::not_ip;
  }
}

// LINKTYPE_LINUX_SLL: the meaning of the protocol depends on the kind of device (ARPHRD_ number).
Layer layer_of_cooked(uint16_t device, uint16_t protocol) {
  constexpr uint16_t kFrameRelay = 770, kRadiotap = 803, kNetlink = 824, kProtocolLlc = 0x0004;
  if (device == kRadiotap) return Layer::radiotap;
  if (device == kFrameRelay || device == kNetlink) return Layer::not_ip;
  return protocol == kProtocolLlc ? Layer::llc : layer_of_ethertype(protocol);
}

// RFC 1201 and, without fragments, RFC 1051; the byte at `type_offset` says which. A later fragment (even, not 0)
// begins anywhere in the packet.
Layer walk_arcnet(Cursor& at, uint32_t type_offset, bool has_exceptions) {
  constexpr uint8_t kIpRfc1051 = 240, kIp = 212, kIpv6 = 196, kException = 0xff;
  if (!at.has(type_offset + 1)) return Layer::cut;
  const uint8_t type = at.byte(type_offset);
  at.skip(type_offset + 1);
  if (type == kIpRfc1051) return Layer::ipv4;
  if (type != kIp && type != kIpv6) return Layer::not_ip;
  constexpr uint32_t kSplitBytes = 3;  // split flag, sequence number
  if (!at.has(kSplitBytes)) return Layer::cut;
  uint8_t split = at.byte(0);
  at.skip(kSplitBytes);
  if (split == kException && has_exceptions) {
    // The frame would have had a length that ARCNET can't send: the header stands there once more, with its type.
    if (!at.has(1 + kSplitBytes)) return Layer::cut;
    split = at.byte(1);
    at.skip(1 + kSplitBytes);
  }
  if (split == kException || (split != 0 && split % 2 == 0)) return Layer::not_ip;
  return type == kIp ? Layer::ipv4 : Layer::ipv6;
}

}  // namespace

// Only the version tells the two apart, and nothing else can be on such a link.
Layer walk_raw_ip(Cursor& at) {
  if (!at.has(1)) return Layer::cut;
  switch (at.byte(0) >> 4) {
    case 4: return Layer::ipv4;
    case 6: return Layer::ipv6;
    default: return Layer::malformed;
  }
}

// LINKTYPE_NULL: the family in the byte order of the host that captured. Families are small numbers, so that the value
// tells which order it is.
Layer walk_bsd_null(Cursor& at) {
  if (!at.has(4)) return Layer::cut;
  const uint32_t big = at.big32(0), little = at.little32(0);
  at.skip(4);
  return layer_of_family(big < little ? big : little);
}

// LINKTYPE_LOOP: the family in network byte order.
Layer walk_bsd_loop(Cursor& at) {
  if (!at.has(4)) return Layer::cut;
  const uint32_t family = at.big32(0);
  at.skip(4);
  return layer_of_family(family);
}

// LINKTYPE_LINUX_SLL, 16 bytes: packet type, device, address length, address (8), protocol.
Layer walk_cooked(Cursor& at) {
  if (!at.has(16)) return Layer::cut;
  const uint16_t device = at.big16(2), protocol = at.big16(14);
  at.skip(16);
  return layer_of_cooked(device, protocol);
}

// LINKTYPE_LINUX_SLL2, 20 bytes: protocol, reserved (2), interface (4), device, packet type, address length, address
// (8).
Layer walk_cooked2(Cursor& at) {
  if (!at.has(20)) return Layer::cut;
  const uint16_t protocol = at.big16(0), device = at.big16(8);
  at.skip(20);
  return layer_of_cooked(device, protocol);
}

// LINKTYPE_NFLOG: family, version 0, resource; then records of length, type and value, each on a multiple of 4. Length
// and type are in the byte order of the host that captured: types are small, so that a zero in front of one shows a
// big-endian host. Type 9 is the packet, which ends with its record.
Layer walk_nflog(Cursor& at) {
  constexpr uint16_t kPayload = 9;
  constexpr uint32_t kRecordHeaderBytes = 4;
  if (!at.has(4)) return Layer::cut;
  const Layer payload = layer_of_family(at.byte(0));
  if (at.byte(1) != 0 || payload == Layer::not_ip) return Layer::not_ip;
  at.skip(4);
  while (at.has(kRecordHeaderBytes)) {
    const bool big = at.byte(2) == 0;
    const uint32_t bytes = big ? at.big16(0) : at.little16(0);
    const uint16_t type = big ? at.big16(2) : at.little16(2);
    if (bytes < kRecordHeaderBytes) return Layer::not_ip;
    if (type == kPayload) {
      at.limit(bytes);
      at.skip(kRecordHeaderBytes);
      return payload;
    }
    if (!at.skip((bytes + 3) / 4 * 4)) break;
  }
  return Layer::cut;
}

// LINKTYPE_PKTAP: length of the header, record kind (1 is a packet), link type of the packet; all little-endian.
Layer walk_pktap(Cursor& at) {
  constexpr uint32_t kPacket = 1;
  if (!at.has(12)) return Layer::cut;
  const uint32_t header_bytes = at.little32(0), kind = at.little32(4), link_type = at.little32(8);
  if (kind != kPacket || header_bytes < 12) return Layer::not_ip;
  return at.skip(header_bytes) ? first_layer(link_type) : Layer::cut;
}

// LINKTYPE_PPI: version 0, flags, length of the header, link type of the packet; little-endian.
Layer walk_ppi(Cursor& at) {
  if (!at.has(8)) return Layer::cut;
  const uint32_t header_bytes = at.little16(2), link_type = at.little32(4);
  if (at.byte(0) != 0 || header_bytes < 8) return Layer::not_ip;
  return at.skip(header_bytes) ? first_layer(link_type) : Layer::cut;
}

// LINKTYPE_IPOIB: a global routing header of 40 bytes, filled in or not, then RFC 4391, section 6: ethertype, 2
// reserved.
Layer walk_ipoib(Cursor& at) {
  constexpr uint32_t kGlobalRouteBytes = 40;
  if (!at.has(kGlobalRouteBytes + 4)) return Layer::cut;
  const uint16_t ethertype = at.big16(kGlobalRouteBytes);
  at.skip(kGlobalRouteBytes + 4);
  return layer_of_ethertype(ethertype);
}

// LINKTYPE_ARCNET_BSD: source, destination, type. LINKTYPE_ARCNET_LINUX: two more bytes before the type, and exception
// frames already undone by the kernel.
Layer walk_arcnet_bsd(Cursor& at) { return walk_arcnet(at, 2, true); }
Layer walk_arcnet_linux(Cursor& at) { return walk_arcnet(at, 4, false); }

}  // namespace trama::header_walk
