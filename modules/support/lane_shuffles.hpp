// Byte shuffles that bring selected 32-bit lanes of a 16-byte vector to its front, for targets with vectors of that
// size.
//
// hn::Compress does this too, but Highway 1.0.3 keeps the table for such vectors as a local constant, which GCC 12 may
// copy to the stack at each use.
#pragma once
#include <cstdint>

namespace trama {

struct LaneShuffles {
  alignas(16) uint8_t shuffle[16][16];  // [mask of lanes][byte]: the byte that comes here, 0x80 for zero
};

constexpr LaneShuffles make_lane_shuffles() {
  LaneShuffles table{};
  for (unsigned mask = 0; mask < 16; ++mask) {
    unsigned filled = 0;
    for (unsigned lane = 0; lane < 4; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (unsigned byte = 0; byte < 4; ++byte) table.shuffle[mask][filled++] = static_cast<uint8_t>(4 * lane + byte);
    }
    while (filled < 16) table.shuffle[mask][filled++] = 0x80;
  }
  return table;
}

inline constexpr LaneShuffles kLaneShuffles = make_lane_shuffles();

}  // namespace trama
