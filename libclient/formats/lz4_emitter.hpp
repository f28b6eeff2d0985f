// Writes LZ4 blocks of a traffic matrix's arrays without a compressor: the arrays' structure says where matches are.
//
//   std::vector<uint8_t> out(lz4_index_bound(matrix.row.size()));
//   const size_t bytes = emit_index(matrix.row, out.data());
//
// The input is 32-bit numbers; an index array decodes to 64-bit little-endian numbers (what GraphBLAS stores), so that
// no widened copy is ever made. Any LZ4 decoder reads the blocks, whatever the values are: order and spread only change
// how short they get.
//
// What is used of the LZ4 block format (lz4_Block_format.md of the LZ4 project):
// * A block is a row of sequences: a token, literals, a match. The token's high 4 bits are the number of literals, its
//   low 4 bits the length of the match less 4. A nibble of 15 is continued in bytes that are added up, the last one
//   below 255: those of the literals follow the token, those of the match follow the offset.
// * The offset, two bytes little-endian, is how far back the match starts: 1 .. 65535. It may overlap what it makes.
// * The last sequence has literals only, at least the last 5 bytes of the data, and the last match starts at least 12
//   bytes before the end of the data. Blocks of 12 bytes or less are therefore literals only.
//
// An element of 64 bits with a high half of zero becomes one sequence: its low bytes as literals, as many as differ
// from an earlier element (at least 1), then the other 4 to 7 bytes as a match in that element. That is 4 to 7 bytes
// for 8. Elements that repeat the one before them for long become one match.
//
// All functions: the same bytes on every processor; no allocation; no element outside the span is read; bytes of `out`
// behind the block, up to the bound, may be overwritten. An LZ4 block holds at most 0x7E000000 bytes, so that x.size()
// must be at most kLz4MaxIndices or kLz4MaxCounts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace trama {

inline constexpr size_t kLz4MaxIndices = 0x7E000000 / 8;
inline constexpr size_t kLz4MaxCounts = 0x7E000000 / 4;

// Bytes that emit_index and emit_column may write for n elements.
constexpr size_t lz4_index_bound(size_t n) { return 7 * n + 6; }

// The block of `x` as 64-bit numbers; returns its length. Matches each element with the one before: for sorted arrays.
size_t emit_index(std::span<const uint32_t> x, uint8_t* out) noexcept;

// The same for arrays that are sorted in pieces, like columns: matches each element with the one before or with the
// most recent one within the reach of an offset that shares its top 8 bits, or its top 16 bits where a sample of the
// array says that they recur, whichever is nearest.
size_t emit_column(std::span<const uint32_t> x, uint8_t* out) noexcept;

// Bytes that emit_counts may write for n elements.
constexpr size_t lz4_counts_bound(size_t n) { return 4 * n + 4 * n / 255 + 48; }

// The block of `x` as 32-bit numbers; returns its length. Runs of equal numbers become matches.
size_t emit_counts(std::span<const uint32_t> x, uint8_t* out) noexcept;

}  // namespace trama
