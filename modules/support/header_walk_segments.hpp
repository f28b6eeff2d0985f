// The header walk of packets whose captured bytes lie in several pieces: chained mbufs (DPDK), multi-buffer frames
// (AF_XDP), where a header may begin in one piece and end in the next, or in a later one.
//
// How a source cuts memory never changes a verdict: walk_segments() gives what walk() gives of the same bytes in one
// piece. It rests on a rule that walk() keeps and its tests hold it to: a shorter capture of a packet gets the verdict
// and the addresses of the longer one, or `cut`. For no step of the walk asks how many bytes are captured except to
// find that a header doesn't end within them, which is `cut`. Lengths that stand in the packet (802.3, radiotap, PPI,
// NFLOG records, ...) are compared with constants and with each other, never with the captured length; there is no
// least length of a frame; and padding lies behind all that is read. So what the first segment tells is final unless it
// is `cut`, and only then are bytes joined: a few at first, and more while the verdict stays `cut`.
#pragma once
#include <cstdint>
#include <span>

#include "modules/support/capture_format.hpp"
#include "modules/support/header_walk.hpp"

namespace trama {

// Some of a packet's captured bytes, at any address; may be empty.
using Segment = std::span<const uint8_t>;

// Where bytes are joined. Belongs to the caller, who uses it again for the next packet; its size is part of its type,
// so that it can't be too small: a packet is judged by its first kMaxCaptured bytes, as it is when it is read from a
// capture file, and behind these its bytes end for the walk. In practice no more than the first kilobyte is touched.
using WalkScratch = std::span<uint8_t, kMaxCaptured>;

// Judges one packet, whose captured bytes are those of `segments` one after the other. Allocates nothing. The time it
// takes is bounded by the captured length. A packet in one segment is walk()'s own business, and faster there.
Walked walk_segments(uint16_t link_type, std::span<const Segment> segments, WalkScratch scratch);

}  // namespace trama
