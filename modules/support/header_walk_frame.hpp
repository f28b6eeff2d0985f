// Packets of any link type as Ethernet frames, for programs that know nothing else (XDP).
//
// An Ethernet packet is shown as it is. Of raw IP, loopback, cooked and point-to-point links the link header is taken
// off, and what is behind it, IPv4, IPv6 or a VLAN tag, is shown behind a made Ethernet header with addresses of zeros.
// Everything else can't be shown: other link types, packets cut inside their link header, and what isn't IP there.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "modules/support/packet.hpp"

namespace trama {

class EthernetFrames {
 public:
  EthernetFrames();

  // Valid until the next call. Allocates nothing.
  std::optional<std::span<const uint8_t>> show(const Packet& packet) noexcept;

  static const uint32_t kMostBytes;  // of a frame that is shown

 private:
  std::unique_ptr<uint8_t[]> made_;  // the made header and a copy of what is behind it
};

}  // namespace trama
