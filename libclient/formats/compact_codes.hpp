// Tables of the compact encoding. Variable bytes in groups of four values (Stream VByte: Lemire, Kurz, Rupp 2018): one
// byte of codes says how many bytes each of the four has, and one byte shuffle packs or unpacks them all.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace trama {

struct CompactCodes {
  std::array<uint8_t, 4> bytes;         // of a value, by its code
  alignas(16) uint8_t pack[256][16];    // by the byte of codes: where each byte of the data comes from
  alignas(16) uint8_t unpack[256][16];  // where each byte of the four values comes from; 0x80 for zero
  std::array<uint8_t, 256> length;      // of the four values' data, 0 .. 16
};

constexpr CompactCodes make_compact_codes(std::array<uint8_t, 4> bytes) {
  constexpr uint8_t kZero = 0x80;
  CompactCodes codes{};
  codes.bytes = bytes;
  for (unsigned code = 0; code < 256; ++code) {
    unsigned at = 0;
    for (unsigned value = 0; value < 4; ++value) {
      const unsigned size = bytes[code >> 2 * value & 3];
      for (unsigned byte = 0; byte < 4; ++byte) {
        codes.unpack[code][4 * value + byte] = byte < size ? static_cast<uint8_t>(at + byte) : kZero;
      }
      for (unsigned byte = 0; byte < size; ++byte) codes.pack[code][at++] = static_cast<uint8_t>(4 * value + byte);
    }
    codes.length[code] = static_cast<uint8_t>(at);
    while (at < 16) codes.pack[code][at++] = kZero;
  }
  return codes;
}

inline constexpr CompactCodes kIndexCodes = make_compact_codes({1, 2, 3, 4});
inline constexpr CompactCodes kCountCodes = make_compact_codes({0, 1, 2, 4});  // most counts are 1, stored as 0

// By the bits that say which of four links begin a row, masks: the link is one; the link before, or two before, is of
// the same row; the last of the four before is.
struct RowStartMasks {
  alignas(16) uint32_t is_first[16][4], same_row_1[16][4], same_row_2[16][4], row_before[16][4];
};
constexpr RowStartMasks make_row_start_masks() {
  RowStartMasks masks{};
  for (unsigned starts = 0; starts < 16; ++starts) {
    for (unsigned link = 0; link < 4; ++link) {
      const auto none_in = [starts](unsigned first, unsigned last) {
        for (unsigned i = first; i <= last; ++i)
          if ((starts >> i & 1) != 0) return uint32_t{0};
        return UINT32_MAX;
      };
      masks.is_first[starts][link] = ~none_in(link, link);
      masks.same_row_1[starts][link] = link >= 1 ? none_in(link, link) : 0;
      masks.same_row_2[starts][link] = link >= 2 ? none_in(link - 1, link) : 0;
      masks.row_before[starts][link] = none_in(0, link);
    }
  }
  return masks;
}
inline constexpr RowStartMasks kRowStarts = make_row_start_masks();

// Links are walked in pieces of 64: one word of the bits that say where rows start.
inline constexpr size_t kCompactPiece = 64;

}  // namespace trama
