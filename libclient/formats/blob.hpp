// Blobs of SuiteSparse:GraphBLAS: one serialized traffic matrix. Written as GxB_Matrix_serialize of GraphBLAS 7.4 does,
// so that 7.4 to 10 and python-graphblas open them; read by a checked decoder of our own, because the library's trusts
// what it reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "libclient/formats/blob_header.hpp"
#include "libclient/formats/error.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

enum class Compression { none, lz4, zstd };  // zstd is level 1
enum class Lz4Writer {
  own,      // several times faster; other bytes, the same matrix
  library,  // the very bytes of GxB_Matrix_serialize, with one thread
};

// The most links of a matrix that is written: each array stays one block, and a blob below the 2 GiB of a member.
inline constexpr size_t kMaxBlobLinks = size_t{1} << 26;

// Bytes that suffice for the blob of any matrix of up to max_links entries, however it is compressed.
size_t blob_bound(size_t max_links);

// Writes blobs of windows up to a size. All memory is taken by the constructor. Not for two threads at once.
class BlobWriter {
 public:
  // 1 <= max_links <= kMaxBlobLinks. `lz4` counts with Compression::lz4 only.
  explicit BlobWriter(size_t max_links, Compression compression = Compression::lz4, Lz4Writer lz4 = Lz4Writer::own);
  ~BlobWriter();
  BlobWriter(BlobWriter&&) noexcept;
  BlobWriter& operator=(BlobWriter&&) noexcept;

  // Bytes that `out` of write() must have, for any matrix of up to max_links entries; blobs are far shorter.
  size_t bound() const;

  // Writes the blob of a GrB_UINT32 matrix of 2^32 × 2^32, by row, hypersparse (iso when all counts are equal), and
  // returns its length. Bytes of `out` behind it may have been overwritten. 0 if the matrix has more than max_links
  // entries, its arrays don't fit each other in length, or `out` has fewer than bound() bytes.
  size_t write(const HyperCsr& matrix, std::span<uint8_t> out) noexcept;

 private:
  struct Codec;
  std::unique_ptr<Codec> codec_;
};

// Reads a blob that may come from anywhere: every length, block and index is checked, and memory is taken only for what
// the bytes given can hold, one array after the other, each checked before the next: about 2 GB for kMaxBlobLinks.
// Integers and bool, sparse and hypersparse, by row or by column (which is transposed), 64-bit and 32-bit indices. Rows
// without entries vanish. Errors: not a blob, cut, damaged; another type or form; negative or zero counts; indices
// beyond 32 bits; more than max_links entries; out of memory.
FormatExpected<Matrix> read_blob(std::span<const uint8_t> blob, uint64_t max_links = kMaxBlobLinks);

}  // namespace trama
