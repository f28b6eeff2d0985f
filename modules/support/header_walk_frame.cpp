#include "modules/support/header_walk_frame.hpp"

#include <cstring>

#include "modules/support/capture_format.hpp"
#include "modules/support/header_walk_layers.hpp"

namespace trama {
namespace {

using header_walk::Cursor;
using header_walk::Layer;

constexpr uint16_t kEthernetLink = 1;
constexpr uint32_t kEthernetBytes = 14, kTypeOffset = 12;

// Steps over link headers that may stand in front of an IP packet, and no further.
Layer behind_link_header(uint16_t link_type, Cursor& at) {
  Layer layer = header_walk::first_layer(link_type);
  for (;;) {
    switch (layer) {
      case Layer::bsd_loop: layer = header_walk::walk_bsd_loop(at); break;
      case Layer::bsd_null: layer = header_walk::walk_bsd_null(at); break;
      case Layer::cisco_hdlc: layer = header_walk::walk_cisco_hdlc(at); break;
      case Layer::cooked: layer = header_walk::walk_cooked(at); break;
      case Layer::cooked2: layer = header_walk::walk_cooked2(at); break;
      case Layer::ppp: layer = header_walk::walk_ppp(at); break;
      case Layer::ppp_direction: layer = header_walk::walk_ppp_direction(at); break;
      case Layer::ppp_hdlc: layer = header_walk::walk_ppp_hdlc(at); break;
      case Layer::raw_ip: layer = header_walk::walk_raw_ip(at); break;
      default: return layer;
    }
  }
}

// 0: can't be shown.
uint16_t ethertype_of(Layer layer) {
  switch (layer) {
    case Layer::ipv4: return 0x0800;
    case Layer::ipv6: return 0x86dd;
    case Layer::vlan: return 0x8100;  // whichever of the tags it was: the next type stands inside it
    default: return 0;
  }
}

}  // namespace

const uint32_t EthernetFrames::kMostBytes = kEthernetBytes + kMaxCaptured;

EthernetFrames::EthernetFrames() : made_(new uint8_t[kMostBytes]) { std::memset(made_.get(), 0, kEthernetBytes); }

std::optional<std::span<const uint8_t>> EthernetFrames::show(const Packet& packet) noexcept {
  if (packet.link_type == kEthernetLink) return std::span(packet.data, packet.captured);
  Cursor at(packet.data, packet.captured);
  const uint16_t type = ethertype_of(behind_link_header(packet.link_type, at));
  const auto skipped = static_cast<uint32_t>(at.data() - packet.data);
  if (type == 0 || packet.captured > kMaxCaptured) return std::nullopt;
  const uint32_t bytes = packet.captured - skipped;
  made_[kTypeOffset] = static_cast<uint8_t>(type >> 8);
  made_[kTypeOffset + 1] = static_cast<uint8_t>(type);
  if (bytes > 0) std::memcpy(made_.get() + kEthernetBytes, at.data(), bytes);
  return std::span<const uint8_t>(made_.get(), kEthernetBytes + bytes);
}

}  // namespace trama
