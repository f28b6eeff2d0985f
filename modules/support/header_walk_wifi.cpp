// Header walk: IEEE 802.11 frames, and the radio headers that capture drivers put in front of them.
#include "modules/support/header_walk_layers.hpp"

namespace trama::header_walk {
namespace {

constexpr uint32_t round_up(uint32_t bytes, uint32_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_avs(const Cursor& at) { return (at.big32(0) & 0xfffff000) == 0x80211000; }

}  // namespace

// IEEE 802.11-2020, 9.2.4 and 9.3.2. Only data frames that carry data in clear have an LLC header to go on with: the
// bytes of an encrypted frame are noise, and a later fragment begins anywhere. Of an A-MSDU the first subframe is
// walked: one frame has one verdict. `padded` (radiotap) rounds the header up to 4 bytes.
Layer walk_wifi(Cursor& at, bool padded) {
  if (!at.has(2)) return Layer::cut;
  const uint8_t control = at.byte(0), flags = at.byte(1);
  const bool version_0_data = (control & 0x0f) == 0x08, without_data = control & 0x40, with_qos = control & 0x80;
  const bool four_addresses = (flags & 0x03) == 0x03, encrypted = flags & 0x40, ordered = flags & 0x80;
  if (!version_0_data || without_data || encrypted) return Layer::not_ip;

  const uint32_t qos_offset = four_addresses ? 30 : 24;
  uint32_t header_bytes = qos_offset;
  if (with_qos) header_bytes += ordered ? 2 + 4 : 2;  // in QoS frames the order bit announces the HT control field
  if (padded) header_bytes = round_up(header_bytes, 4);
  if (!at.has(header_bytes)) return Layer::cut;
  const bool later_fragment = at.byte(22) & 0x0f;
  const bool aggregated = with_qos && (at.byte(qos_offset) & 0x80);
  at.skip(header_bytes);
  if (later_fragment) return Layer::not_ip;
  constexpr uint32_t kSubframeBytes = 6 + 6 + 2;  // two addresses and a length
  return !aggregated || at.skip(kSubframeBytes) ? Layer::llc : Layer::cut;
}

// https://www.radiotap.org: version 0, pad, length (little-endian), then words of presence bits as long as bit 31 is
// set, then the fields in the order of the bits. The second one (flags) says if the 802.11 header is padded; before it
// stands the time, if present, on a multiple of 8.
Layer walk_radiotap(Cursor& at) {
  if (!at.has(8)) return Layer::cut;
  const uint32_t header_bytes = at.little16(2), present = at.little32(4);
  if (at.byte(0) != 0 || header_bytes < 8) return Layer::not_ip;
  if (!at.has(header_bytes)) return Layer::cut;
  bool padded = false;
  if (present & 0x2) {
    uint32_t offset = 8;
    for (uint32_t word = present; word & 0x80000000; offset += 4) {
      if (offset + 4 > header_bytes) return Layer::not_ip;
      word = at.little32(offset);
    }
    if (present & 0x1) offset = round_up(offset, 8) + 8;
    if (offset >= header_bytes) return Layer::not_ip;
    padded = at.byte(offset) & 0x20;
  }
  at.skip(header_bytes);
  return padded ? Layer::wifi_padded : Layer::wifi;
}

// LINKTYPE_PRISM_HEADER: 144 bytes, which their second word says in the byte order of the capturing host. Some drivers
// write the AVS header under this link type.
Layer walk_prism(Cursor& at) {
  constexpr uint32_t kPrismBytes = 144;
  if (!at.has(8)) return Layer::cut;
  if (is_avs(at)) return Layer::avs;
  if (at.big32(4) != kPrismBytes && at.little32(4) != kPrismBytes) return Layer::not_ip;
  return at.skip(kPrismBytes) ? Layer::wifi : Layer::cut;
}

// LINKTYPE_IEEE802_11_AVS: 0x80211 and the version, then the length, both big-endian.
Layer walk_avs(Cursor& at) {
  if (!at.has(8)) return Layer::cut;
  const uint32_t header_bytes = at.big32(4);
  if (!is_avs(at) || header_bytes < 8) return Layer::not_ip;
  return at.skip(header_bytes) ? Layer::wifi : Layer::cut;
}

}  // namespace trama::header_walk
