// Parts of LZ4 sequences for lz4_emitter.hpp, where the format is explained.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace trama {

inline constexpr unsigned kLz4ElementBytes = 8;

// The token of an element with so many literals, 1 .. 4: the match takes the other bytes, and 4 is its least length.
constexpr uint8_t lz4_element_token(unsigned literals) {
  return static_cast<uint8_t>(literals << 4 | (kLz4ElementBytes - literals - 4));
}

// Writes the part of a length that its nibble, 15, doesn't hold; returns where that ends.
inline uint8_t* put_lz4_length(size_t rest, uint8_t* out) {
  for (; rest >= 255; rest -= 255) *out++ = 255;
  *out++ = static_cast<uint8_t>(rest);
  return out;
}

// How two elements become two sequences with one byte shuffle. The shuffle's input is 16 bytes: the two elements, then
// the two offsets, 4 bytes each.
struct Lz4PairTable {
  // Indexed by (literals of the first - 1) + 4 * (literals of the second - 1).
  alignas(16) uint8_t shuffle[16][16];  // where each byte comes from; 0x80 for zero
  alignas(16) uint8_t tokens[16][16];   // what is added to the shuffled bytes
  uint8_t length[16];                   // of both sequences, 8 .. 14
};

constexpr Lz4PairTable make_lz4_pair_table() {
  constexpr uint8_t kZero = 0x80;
  Lz4PairTable table{};
  for (unsigned code = 0; code < 16; ++code) {
    const std::array<unsigned, 2> literals = {(code & 3) + 1, (code >> 2) + 1};
    unsigned at = 0;
    for (unsigned element = 0; element < 2; ++element) {
      table.shuffle[code][at] = kZero;
      table.tokens[code][at++] = lz4_element_token(literals[element]);
      for (unsigned byte = 0; byte < literals[element]; ++byte) {
        table.shuffle[code][at++] = static_cast<uint8_t>(4 * element + byte);
      }
      for (unsigned byte = 0; byte < 2; ++byte)
        table.shuffle[code][at++] = static_cast<uint8_t>(8 + 4 * element + byte);
    }
    table.length[code] = static_cast<uint8_t>(at);
    while (at < 16) table.shuffle[code][at++] = kZero;
  }
  return table;
}

inline constexpr Lz4PairTable kLz4Pairs = make_lz4_pair_table();

}  // namespace trama
