// A packet as a source hands it on: a view into the source's memory, never a copy of the payload.
#pragma once
#include <cstdint>

#include "modules/support/tally.hpp"

namespace trama {

struct Packet {
  const uint8_t* data = nullptr;       // captured bytes, from the first byte of the link layer
  int64_t time_ns = 0;                 // nanoseconds since the epoch, UTC
  uint32_t captured = 0;               // bytes at `data`; may be more or fewer than `original`
  uint32_t original = 0;               // bytes on the wire, as the capture says
  uint16_t link_type = 0;              // LINKTYPE_ number (tcpdump.org/linktypes.html), the packet's own interface's
  Verdict verdict = Verdict::counted;  // `counted` while nobody has judged otherwise: filters write here
};
static_assert(sizeof(Packet) == 32);

}  // namespace trama
