// The header of a compact encoding, and where the parts behind it lie: docs/formats.md.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libclient/formats/error.hpp"

namespace trama {

static_assert(std::endian::native == std::endian::little, "numbers are read and written as they lie in memory");

inline constexpr std::array<uint8_t, 4> kCompactMagic = {0xD4, 'T', 'C', 'M'};
inline constexpr uint16_t kCompactVersion = 1;
inline constexpr uint16_t kCompactRawOrder = 1;  // flags
inline constexpr uint16_t kCompactAllOnes = 2;   // every count is 1; counts have no codes and no data

// The format's own limit: every length of a part fits 32 bits.
inline constexpr uint64_t kCompactFormatLinks = (uint64_t{1} << 30) - 1;

struct CompactHeader {
  std::array<uint8_t, 4> magic = kCompactMagic;
  uint16_t version = kCompactVersion;
  uint16_t flags = 0;
  uint64_t bytes = 0;    // of all, with the header
  uint64_t packets = 0;  // the sum of all counts
  uint32_t rows = 0, links = 0;
  uint32_t column_base = 0;                                // the least column
  uint32_t row_data = 0, column_data = 0, count_data = 0;  // bytes

  bool all_ones() const { return (flags & kCompactAllOnes) != 0; }
};
static_assert(sizeof(CompactHeader) == 48);

// Where each part begins, from the start of the encoding; `end` is where the last one ends. Computed without overflow
// from any header with at most kCompactFormatLinks links and rows.
struct CompactLayout {
  explicit CompactLayout(const CompactHeader& header)
      : row_codes(row_starts + (uint64_t{header.links} + 7) / 8),
        column_codes(row_codes + (uint64_t{header.rows} + 3) / 4),
        count_codes(column_codes + (uint64_t{header.links} + 3) / 4),
        row_data(count_codes + (header.all_ones() ? 0 : (uint64_t{header.links} + 3) / 4)),
        column_data(row_data + header.row_data),
        count_data(column_data + header.column_data),
        end(count_data + header.count_data) {}

  uint64_t row_starts = sizeof(CompactHeader);
  uint64_t row_codes, column_codes, count_codes, row_data, column_data, count_data, end;
};

// Reads and judges the header: magic, version, flags, and that the lengths fit each other and the bytes given. What
// stands behind it isn't looked at. A header that is returned has at most 4 links for each byte.
FormatExpected<CompactHeader> read_compact_header(std::span<const uint8_t> bytes);

}  // namespace trama
