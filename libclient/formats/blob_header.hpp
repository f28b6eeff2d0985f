// The header of a SuiteSparse:GraphBLAS blob, as GB_serialize.c of GraphBLAS 5.2 to 10 writes it: 160 bytes,
// little-endian, no padding. Behind it stand, in the order p, h, b, i, x, the ends of the compressed blocks of each
// array (u64, counted from the start of the array's first block) and then the blocks themselves.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libclient/formats/error.hpp"

namespace trama {

static_assert(std::endian::native == std::endian::little, "blobs are read and written as they lie in memory");

// GraphBLAS' names for the arrays of a matrix.
enum BlobArray : size_t {
  kStarts = 0,   // Ap: start of each vector, nvec + 1 values
  kVectors = 1,  // Ah: number of each vector; hypersparse only
  kBitmap = 2,   // Ab: bitmap form only
  kIndices = 3,  // Ai: index of each entry in its vector
  kValues = 4,   // Ax: values; a single one when iso
  kBlobArrays = 5,
};
inline constexpr const char* kBlobArrayNames[kBlobArrays] = {"starts", "vectors", "bitmap", "indices", "values"};

struct BlobHeader {
  struct Blocks {
    int32_t blocks = 0;
    int32_t method = -1;  // below 0: not compressed; 1000 LZ4, 2000 + level LZ4HC, 3000 + level ZSTD
  };
  uint64_t bytes = 0;      // of the whole blob
  uint32_t type_code = 0;  // bits 0-3: type; GraphBLAS 10: bits 4, 8, 12 say that i, h, p hold 32-bit values
  int32_t version = 0;     // 7004000 is 7.4.0
  uint64_t vector_length = 0, vectors_max = 0;  // by row: columns, rows
  uint64_t vectors = 0, vectors_with_entries = 0;
  uint64_t entries = 0;  // 0 before 7.2.1, where the last start tells
  uint64_t value_bytes = 0;
  std::array<uint64_t, kBlobArrays> array_bytes{};  // not compressed
  float hyper_switch = 0, bitmap_switch = 0;
  uint32_t control = 0;
  uint32_t form = 0;  // 4 × (1 hypersparse, 2 sparse, 4 bitmap, 8 full) + 2 × iso + by column
  std::array<Blocks, kBlobArrays> blocks{};

  uint32_t type() const { return type_code & 15; }
  bool starts_are_32() const { return (type_code >> 12 & 15) == 1; }
  bool vectors_are_32() const { return (type_code >> 8 & 15) == 1; }
  bool indices_are_32() const { return (type_code >> 4 & 15) == 1; }
  bool hypersparse() const { return form >> 2 == 1; }
  bool sparse() const { return form >> 2 == 2; }
  bool iso() const { return (form & 2) != 0; }
  bool by_column() const { return (form & 1) != 0; }
};
static_assert(sizeof(BlobHeader) == 160);

// True if these bytes may be a blob: long enough, and of the length that their first 8 bytes state.
bool looks_like_blob(std::span<const uint8_t> head, uint64_t total_bytes);

// Reads and judges the header: length, version, type (integers and bool), form (sparse and hypersparse) and that the
// lengths of the arrays fit each other. What isn't read is refused by its name. The arrays aren't looked at.
FormatExpected<BlobHeader> read_blob_header(std::span<const uint8_t> blob);

}  // namespace trama
