// The reading half of blob.hpp. Nothing that the blob states is believed: block ends are checked against the bytes
// given, compressed blocks must give exactly their share of the array, and every index is looked at.
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/blob_arrays.hpp"

namespace trama {
namespace {

// The most bytes that one compressed byte can become. LZ4: a length byte of 255. ZSTD: a block of up to 128 KiB that
// repeats one byte takes four (RFC 8878 3.1.1.2).
constexpr uint64_t kLz4Ratio = 255, kZstdRatio = (128 << 10) / 4;

// The bytes of one array: a view into the blob, or decompressed into memory of its own.
struct Array {
  std::span<const uint8_t> bytes;
  std::unique_ptr<uint8_t[]> memory;
};

tl::unexpected<FormatError> damaged(size_t array, const std::string& what) {
  return format_failure(std::string("damaged blob: ") + what + " (" + kBlobArrayNames[array] + ")");
}

// First uncompressed byte of a block: GB_PARTITION of the library, in double arithmetic.
uint64_t block_start(uint64_t block, uint64_t bytes, uint64_t blocks) {
  if (block == 0) return 0;
  if (block == blocks) return bytes;
  const double start = static_cast<double>(block) * static_cast<double>(bytes) / static_cast<double>(blocks);
  return std::min(bytes, static_cast<uint64_t>(start));
}

// Walks the blob from the header on and takes the arrays out of it.
class Reader {
 public:
  Reader(std::span<const uint8_t> blob, const BlobHeader& header) : blob_(blob), header_(header) {}

  // One array after the other, in the order in which they stand in the blob, and none is kept longer than it is needed:
  // the arrays of a blob that lies may be a thousand times as long as the blob.
  FormatExpected<Matrix> read() {
    Matrix matrix;
    if (auto table = find_blocks(); !table) return tl::unexpected(std::move(table.error()));
    for (const auto step : {&Reader::read_rows, &Reader::read_columns, &Reader::read_counts})
      if (auto done = (this->*step)(matrix); !done) return tl::unexpected(std::move(done.error()));
    if (auto tail = check_tail(); !tail) return tl::unexpected(std::move(tail.error()));
    if (header_.by_column()) return transposed(matrix);
    return matrix;
  }

 private:
  FormatExpected<void> read_rows(Matrix& matrix) {
    auto starts = read_array(kStarts);
    if (!starts) return tl::unexpected(std::move(starts.error()));
    // A matrix that never had an entry has none.
    const bool has_starts = !starts->bytes.empty();
    if (has_starts)
      if (auto sound = check_starts(header_, starts->bytes); !sound) return sound;
    auto vectors = read_array(kVectors);
    if (!vectors) return tl::unexpected(std::move(vectors.error()));
    if (has_starts)
      if (auto taken = take_rows(header_, starts->bytes, vectors->bytes, matrix); !taken) return taken;
    auto bitmap = read_array(kBitmap);
    if (!bitmap) return tl::unexpected(std::move(bitmap.error()));
    return {};
  }

  FormatExpected<void> read_columns(Matrix& matrix) {
    auto indices = read_array(kIndices);
    if (!indices) return tl::unexpected(std::move(indices.error()));
    return take_columns(header_, indices->bytes, matrix);
  }

  FormatExpected<void> read_counts(Matrix& matrix) {
    auto values = read_array(kValues);
    if (!values) return tl::unexpected(std::move(values.error()));
    return take_counts(header_, values->bytes, matrix);
  }

  FormatExpected<void> find_blocks() {
    size_t position = sizeof(BlobHeader);
    for (size_t array = 0; array < kBlobArrays; ++array) {
      const int64_t blocks = header_.blocks[array].blocks;
      const uint64_t most = (blob_.size() - position) / sizeof(uint64_t);
      if (blocks < 0 || static_cast<uint64_t>(blocks) > most) return damaged(array, "impossible number of blocks");
      ends_at_[array] = position;
      position += static_cast<size_t>(blocks) * sizeof(uint64_t);
    }
    position_ = position;
    return {};
  }

  uint64_t block_end(size_t array, uint64_t block) const {
    uint64_t end;
    std::memcpy(&end, blob_.data() + ends_at_[array] + block * sizeof end, sizeof end);
    return end;
  }

  FormatExpected<Array> read_array(size_t array) {
    const uint64_t bytes = header_.array_bytes[array];
    const auto blocks = static_cast<uint64_t>(header_.blocks[array].blocks);
    // A matrix that never had an entry has no starts; everything else is there or has no length.
    if (blocks == 0 && bytes != 0 && header_.array_bytes[kIndices] != 0) return damaged(array, "no blocks");
    if (blocks == 0) return Array();
    if (bytes == 0) return damaged(array, "blocks of nothing");
    const uint64_t stored = block_end(array, blocks - 1);
    if (stored > blob_.size() - position_) return damaged(array, "a block ends behind the blob");
    const auto source = blob_.subspan(position_, static_cast<size_t>(stored));
    position_ += static_cast<size_t>(stored);
    const int32_t method = header_.blocks[array].method;
    if (method < 0) {
      if (blocks != 1 || stored != bytes) return damaged(array, "the length of a plain block is wrong");
      return Array{source, nullptr};
    }
    return decompress(array, source, method);
  }

  FormatExpected<Array> decompress(size_t array, std::span<const uint8_t> source, int32_t method) {
    const uint64_t bytes = header_.array_bytes[array];
    const bool zstd = method / 1000 == 3;
    if (!zstd && method / 1000 != 1 && method / 1000 != 2) {
      return format_failure("unknown compression method in the blob (known are LZ4, LZ4HC and ZSTD)");
    }
    if (bytes / (zstd ? kZstdRatio : kLz4Ratio) > source.size()) {
      return damaged(array, "the length stated is beyond what the compressed bytes can give");
    }
    Array result;
    result.memory.reset(new uint8_t[static_cast<size_t>(bytes)]);
    uint8_t* out = result.memory.get();
    result.bytes = {out, static_cast<size_t>(bytes)};
    const auto blocks = static_cast<uint64_t>(header_.blocks[array].blocks);
    uint64_t from = 0;
    for (uint64_t block = 0; block < blocks; ++block) {
      const uint64_t to = block_end(array, block), start = block_start(block, bytes, blocks),
                     end = block_start(block + 1, bytes, blocks);
      if (to <= from || to > source.size() || end <= start || to - from > INT32_MAX || end - start > INT32_MAX) {
        return damaged(array, "impossible block");
      }
      const auto packed = source.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
      if (!unpack(zstd, packed, {out + start, static_cast<size_t>(end - start)})) {
        return damaged(array, "a block does not decompress to its length");
      }
      from = to;
    }
    return result;
  }

  static bool unpack(bool zstd, std::span<const uint8_t> packed, std::span<uint8_t> out) {
    if (zstd) return ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()) == out.size();
    return LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
                               static_cast<int>(packed.size()),
                               static_cast<int>(out.size())) == static_cast<int>(out.size());
  }

  // From 8.1 on a name and the type's name follow, NUL-terminated; old versions may round the blob up with zeros.
  FormatExpected<void> check_tail() {
    auto tail = blob_.subspan(position_);
    if (header_.version >= 8'001'000) {
      for (int name = 0; name < 2; ++name) {
        const auto end = std::find(tail.begin(), tail.end(), uint8_t{0});
        if (end == tail.end()) return format_failure("damaged blob: its names at the end are cut");
        tail = tail.subspan(static_cast<size_t>(end - tail.begin()) + 1);
      }
    }
    if (std::any_of(tail.begin(), tail.end(), [](uint8_t byte) { return byte != 0; })) {
      return format_failure("damaged blob: unknown bytes behind the last array");
    }
    return {};
  }

  std::span<const uint8_t> blob_;
  const BlobHeader& header_;
  size_t position_ = 0;
  std::array<size_t, kBlobArrays> ends_at_{};
};

}  // namespace

FormatExpected<Matrix> read_blob(std::span<const uint8_t> blob, uint64_t max_links) try {
  auto header = read_blob_header(blob);
  if (!header) return tl::unexpected(header.error());
  if (header->array_bytes[kIndices] / (header->indices_are_32() ? 4 : 8) > max_links || header->vectors > max_links) {
    return format_failure("the matrix has more rows or entries than this reader takes (" + std::to_string(max_links) +
                          ")");
  }
  return Reader(blob, *header).read();
} catch (const std::bad_alloc&) {
  return format_failure("not enough memory for the matrix");
}

}  // namespace trama
