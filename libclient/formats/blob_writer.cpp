// The writing half of blob.hpp. GB_serialize_array.c says what the library does: arrays under 256 bytes are stored as
// they are, longer ones are compressed as one block (with one thread, up to 1 GB); the code of the method is stored per
// array; empty arrays have no block.
#define LZ4_STATIC_LINKING_ONLY
#define ZSTD_STATIC_LINKING_ONLY
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/lz4_emitter.hpp"

namespace trama {
namespace {

constexpr size_t kLeastCompressedBytes = 256;
constexpr int kZstdLevel = 1;
constexpr int32_t kMethodNone = -1, kMethodLz4 = 1000, kMethodZstd = 3000 + kZstdLevel;
constexpr uint64_t kDimension = uint64_t{1} << 32;
constexpr uint32_t kTypeUint32 = 7, kFormHypersparse = 4, kFormIso = 2;
constexpr size_t kMostBlocks = 4;  // p, h, i, x

// One array of the matrix: 32-bit values, in the blob 64-bit ones except the counts.
struct Source {
  BlobArray array;
  std::span<const uint32_t> values;
  size_t value_bytes;
  size_t bytes() const { return values.size() * value_bytes; }
};

void widen(std::span<const uint32_t> from, uint8_t* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const uint64_t wide = from[i];
    std::memcpy(to + 8 * i, &wide, sizeof wide);
  }
}

bool all_equal(std::span<const uint32_t> values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), [&](uint32_t v) { return v == values[0]; });
}

// Bytes that one array may take up in a blob.
size_t array_bound(Compression compression, Lz4Writer lz4, size_t values, size_t value_bytes) {
  const size_t bytes = std::max(values * value_bytes, kLeastCompressedBytes);
  if (compression == Compression::none) return bytes;
  if (compression == Compression::zstd) return ZSTD_compressBound(bytes);
  if (lz4 == Lz4Writer::library) return static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes)));
  return std::max(bytes, value_bytes == 4 ? lz4_counts_bound(values) : lz4_index_bound(values));
}

size_t bound_of(Compression compression, Lz4Writer lz4, size_t max_links) {
  return sizeof(BlobHeader) + kMostBlocks * sizeof(uint64_t) + 3 * array_bound(compression, lz4, max_links + 1, 8) +
         array_bound(compression, lz4, max_links, 4);
}

}  // namespace

size_t blob_bound(size_t max_links) {
  return std::max({bound_of(Compression::none, Lz4Writer::own, max_links),
                   bound_of(Compression::lz4, Lz4Writer::own, max_links),
                   bound_of(Compression::lz4, Lz4Writer::library, max_links),
                   bound_of(Compression::zstd, Lz4Writer::own, max_links)});
}

struct BlobWriter::Codec {
  size_t max_links;
  Compression compression;
  Lz4Writer lz4;
  size_t bound = 0;
  std::vector<uint64_t> wide;          // an array in 64 bits, for compressors that read it so
  std::unique_ptr<uint64_t[]> memory;  // of the compressor
  ZSTD_CCtx* zstd = nullptr;           // lives in `memory`

  Codec(size_t most, Compression how, Lz4Writer lz4_writer) : max_links(most), compression(how), lz4(lz4_writer) {
    const bool own = how == Compression::lz4 && lz4_writer == Lz4Writer::own;
    if (how != Compression::none && !own) wide.resize(most + 1);
    if (how == Compression::lz4 && !own) memory = std::make_unique<uint64_t[]>(size_t(LZ4_sizeofState()) / 8 + 1);
    if (how == Compression::zstd) {
      // A context of zstd's own making gives memory back and takes it again when windows become smaller.
      const size_t bytes = (ZSTD_estimateCCtxSize(kZstdLevel) + 7) / 8 * 8;
      memory = std::make_unique<uint64_t[]>(bytes / 8);
      zstd = ZSTD_initStaticCCtx(memory.get(), bytes);
      assert(zstd != nullptr);
    }
    bound = bound_of(how, lz4_writer, most);
  }

  static size_t store(const Source& source, uint8_t* out) {
    if (source.value_bytes == 8) {
      widen(source.values, out);
    } else if (!source.values.empty()) {
      std::memcpy(out, source.values.data(), source.bytes());
    }
    return source.bytes();
  }

  static size_t emit(const Source& source, uint8_t* out) {
    if (source.array == kValues) return emit_counts(source.values, out);
    if (source.array == kIndices) return emit_column(source.values, out);
    return emit_index(source.values, out);
  }

  // Compresses the bytes as they lie in a GrB_Matrix.
  size_t compress(const Source& source, uint8_t* out) {
    const void* data = source.values.data();
    if (source.value_bytes == 8) {
      widen(source.values, reinterpret_cast<uint8_t*>(wide.data()));
      data = wide.data();
    }
    const size_t room = array_bound(compression, lz4, source.values.size(), source.value_bytes);
    if (compression == Compression::zstd) {
      const size_t length = ZSTD_compressCCtx(zstd, out, room, data, source.bytes(), kZstdLevel);
      return ZSTD_isError(length) ? 0 : length;
    }
    return static_cast<size_t>(LZ4_compress_fast_extState(memory.get(), static_cast<const char*>(data),
                                                          reinterpret_cast<char*>(out),
                                                          static_cast<int>(source.bytes()), static_cast<int>(room), 1));
  }

  // Appends one array and says in `blocks` how; its length, or 0 if there is nothing to append.
  size_t append(const Source& source, BlobHeader::Blocks& blocks, uint8_t* out) {
    blocks = {source.values.empty() ? 0 : 1, kMethodNone};
    if (compression == Compression::none || source.bytes() < kLeastCompressedBytes) return store(source, out);
    blocks.method = compression == Compression::zstd ? kMethodZstd : kMethodLz4;
    return compression == Compression::lz4 && lz4 == Lz4Writer::own ? emit(source, out) : compress(source, out);
  }
};

BlobWriter::BlobWriter(size_t max_links, Compression compression, Lz4Writer lz4)
    : codec_(std::make_unique<Codec>(std::clamp(max_links, size_t{1}, kMaxBlobLinks), compression, lz4)) {
  assert(max_links >= 1 && max_links <= kMaxBlobLinks);
}
BlobWriter::~BlobWriter() = default;
BlobWriter::BlobWriter(BlobWriter&&) noexcept = default;
BlobWriter& BlobWriter::operator=(BlobWriter&&) noexcept = default;

size_t BlobWriter::bound() const { return codec_->bound; }

size_t BlobWriter::write(const HyperCsr& matrix, std::span<uint8_t> out) noexcept {
  const size_t links = matrix.links();
  if (links > codec_->max_links || matrix.rows() > links || matrix.start.size() != matrix.rows() + 1 ||
      matrix.count.size() != links || out.size() < codec_->bound) {
    return 0;
  }
  const bool iso = all_equal(matrix.count);
  const Source sources[] = {{kStarts, matrix.start, 8},
                            {kVectors, matrix.row, 8},
                            {kIndices, matrix.column, 8},
                            {kValues, iso ? matrix.count.first(1) : matrix.count, 4}};
  BlobHeader header;
  header.type_code = kTypeUint32;
  header.version = 7'004'000;
  header.vector_length = header.vectors_max = kDimension;
  header.vectors = header.vectors_with_entries = matrix.rows();
  header.entries = links;
  header.value_bytes = 4;
  header.hyper_switch = 0.0625F;  // the library's defaults for a matrix of these dimensions
  header.bitmap_switch = 0.4F;
  header.control = 15;
  header.form = kFormHypersparse | (iso ? kFormIso : 0);

  const size_t blocks = 1 + (links == 0 ? 0 : 3);  // an empty matrix has one start and nothing else
  size_t position = sizeof header;
  size_t end = position + blocks * sizeof(uint64_t);
  for (const Source& source : sources) {
    header.array_bytes[source.array] = source.bytes();
    const uint64_t length = codec_->append(source, header.blocks[source.array], out.data() + end);
    if (source.values.empty()) continue;
    if (length == 0) return 0;
    std::memcpy(out.data() + position, &length, sizeof length);
    position += sizeof length;
    end += length;
  }
  header.bytes = end;
  std::memcpy(out.data(), &header, sizeof header);
  return end;
}

}  // namespace trama
