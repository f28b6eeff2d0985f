// From the parts of a compact encoding to arrays. Part of compact.hpp's reader, not meant for others.
//
// Every loop knows how far it may read and write before it begins; what the values themselves must keep (order, no
// overflow, no zero) is gathered along the way and judged at the end of each part.
#pragma once
#include <cstddef>
#include <cstdint>

#include "libclient/formats/compact_header.hpp"

namespace trama {

inline constexpr size_t kCompactSlack = 4;  // values are stored four at a time

// What to decode into: as many elements as HyperCsr has, and kCompactSlack more in each.
struct CompactArrays {
  uint32_t* row;
  uint32_t* start;
  uint32_t* column;
  uint32_t* count;
};

enum class CompactFault { none, row_starts, row_codes, row_range, column_codes, column_range, count_codes, counts };

// `in` is what the header, which has been read and judged, stands in front of. After a fault the arrays hold anything.
CompactFault decode_compact(const CompactHeader& header, const uint8_t* in, const CompactArrays& arrays) noexcept;

}  // namespace trama
