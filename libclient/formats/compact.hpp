// The compact encoding of one traffic matrix: delta and variable byte. Half as long as a blob with LZ4 and several
// times faster to read, for streams; docs/formats.md has the format, byte by byte.
//
//   std::vector<uint8_t> out(compact_bound(matrix.links()));
//   out.resize(write_compact(matrix, false, out));
//
//   CompactReader reader;  // one for a stream: its memory is used again for each matrix
//   auto read = reader.read(out);
//   if (read) use(read->matrix);
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "libclient/formats/compact_header.hpp"
#include "libclient/formats/error.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

// How the bytes of a serialized matrix are to be read.
enum class MatrixEncoding {
  blob,     // GraphBLAS' own (blob.hpp): what archives hold
  compact,  // this one
};

// The most links that a reader takes unless told otherwise; those of the largest window.
inline constexpr uint64_t kMaxCompactLinks = uint64_t{1} << 26;

// Bytes that suffice for any matrix of up to max_links entries; 13 for each link, where 5 to 7 are usual.
constexpr size_t compact_bound(size_t max_links) {
  constexpr size_t kStoreBytes = 16;  // the last store may reach that far behind the end
  return sizeof(CompactHeader) + (max_links + 7) / 8 + 3 * ((max_links + 3) / 4) + 3 * 4 * max_links + kStoreBytes;
}

// Writes a matrix and returns its length. The same matrix gives the same bytes on every processor. `raw_order` says
// what the indices are: false, 1.2.3.4 is 0x01020304; true, 0x04030201. Does not allocate. Bytes of `out` behind the
// end may have been overwritten. 0 if the arrays don't fit each other in length, there are more than
// kCompactFormatLinks entries, or `out` has fewer than compact_bound(matrix.links()) bytes. That the arrays keep the
// rules of HyperCsr is for the caller to see to.
size_t write_compact(const HyperCsr& matrix, bool raw_order, std::span<uint8_t> out) noexcept;

struct CompactMatrix {
  HyperCsr matrix;
  uint64_t packets = 0;  // the sum of all counts
  bool raw_order = false;
};

// Reads encodings that may come from anywhere: whatever the bytes are, the result is a matrix that keeps the rules of
// HyperCsr, or an error. Not for two threads at once.
class CompactReader {
 public:
  explicit CompactReader(uint64_t max_links = kMaxCompactLinks) : max_links_(max_links) {}

  // The matrix, in memory of the reader: valid until the next call. That memory grows with the largest matrix so far:
  // 16 bytes a link, never for more than max_links, nor for more than 4 links for each byte given.
  // Errors: not a compact encoding, of another version, cut, damaged, more than max_links entries, out of memory.
  FormatExpected<CompactMatrix> read(std::span<const uint8_t> bytes);

 private:
  bool make_room(size_t links);

  uint64_t max_links_;
  size_t capacity_ = 0;  // links that the arrays can hold; rows as well, as there are never more of them
  std::unique_ptr<uint32_t[]> memory_;
};

// The same for readers of single matrices: the result owns its arrays.
FormatExpected<Matrix> read_compact(std::span<const uint8_t> bytes, uint64_t max_links = kMaxCompactLinks);

}  // namespace trama
