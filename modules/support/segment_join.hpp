// Headers of a frame that lies in several pieces, in one piece.
//
// Filters and the header walk read a packet at one address. The first piece holds all headers of nearly every frame;
// then it is shown alone, and nothing is copied. Only where the walk's verdict of it is `cut` are bytes joined, a few
// at first and more while it stays `cut`: by the rule that header_walk_segments.hpp rests on, the verdict is then that
// of the whole frame. What a filter reads beyond these bytes is not captured for it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "modules/support/header_walk_segments.hpp"
#include "modules/support/packet_device.hpp"

namespace trama {

// The bytes to show: the first segment, or bytes in `space`. Nothing when `space` is too small for what is left to
// join; a space of kMaxCaptured bytes, as long as nobody has used any of it, is always enough.
std::optional<std::span<const uint8_t>> join_headers(uint16_t link_type, std::span<const Segment> segments,
                                                     JoinSpace& space);

}  // namespace trama
