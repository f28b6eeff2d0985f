// Takes a compressed input apart and puts it together again, with the libraries' own means and without the project's
// decompressors: for a mutator that reaches what is inside, and to judge these by. Made for speed: whatever the
// libraries allow to be small is small, and contexts are used again. (libzstd asks the processor what it can whenever
// it makes one, which takes longer than all else in a virtual machine.)
#pragma once
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "modules/support/decompressor.hpp"

namespace trama::test {

// What there is in `packed`, up to a little more than `most` bytes. `whole`: it ends where it may end.
struct Unpacked {
  std::vector<uint8_t> bytes;
  bool whole = false;
};

namespace repack_detail {

inline std::span<uint8_t> room() {
  static std::array<uint8_t, 8 << 10> bytes;
  return bytes;
}

inline void append(Unpacked& to, size_t count) {
  to.bytes.insert(to.bytes.end(), room().begin(), room().begin() + static_cast<std::ptrdiff_t>(count));
}

inline Unpacked gunzip(std::span<const uint8_t> packed, size_t most) {
  static z_stream* const stream = [] {
    static z_stream made{};
    if (inflateInit2(&made, 15 + 16) != Z_OK) std::abort();
    return &made;
  }();
  inflateReset(stream);
  stream->next_in = const_cast<Bytef*>(packed.data());
  stream->avail_in = static_cast<uInt>(packed.size());
  Unpacked unpacked;
  while (unpacked.bytes.size() < most) {
    stream->next_out = room().data();
    stream->avail_out = static_cast<uInt>(room().size());
    const int result = inflate(stream, Z_NO_FLUSH);
    append(unpacked, room().size() - stream->avail_out);
    if (result == Z_STREAM_END) {
      // Zeros may stand between two members and behind the last one.
      while (stream->avail_in != 0 && *stream->next_in == 0) ++stream->next_in, --stream->avail_in;
      unpacked.whole = stream->avail_in == 0;
      if (unpacked.whole) break;
      inflateReset(stream);
    } else if (result != Z_OK) {
      break;
    }
  }
  return unpacked;
}

inline Unpacked unzstd(std::span<const uint8_t> packed, size_t most) {
  static ZSTD_DCtx* const context = ZSTD_createDCtx();
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  Unpacked unpacked;
  while (unpacked.bytes.size() < most) {
    ZSTD_outBuffer out{room().data(), room().size(), 0};
    const size_t result = ZSTD_decompressStream(context, &out, &in);
    if (ZSTD_isError(result)) break;
    append(unpacked, out.pos);
    unpacked.whole = in.pos == in.size && result == 0;
    if (in.pos == in.size && (unpacked.whole || out.pos < out.size)) break;
  }
  return unpacked;
}

inline Unpacked unxz(std::span<const uint8_t> packed, size_t most) {
  static lzma_stream stream = LZMA_STREAM_INIT;
  constexpr uint64_t kMemoryBytes = 256 << 20;
  if (lzma_stream_decoder(&stream, kMemoryBytes, LZMA_CONCATENATED) != LZMA_OK) std::abort();
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  Unpacked unpacked;
  while (unpacked.bytes.size() < most) {
    stream.next_out = room().data();
    stream.avail_out = room().size();
    const lzma_ret result = lzma_code(&stream, LZMA_FINISH);
    append(unpacked, room().size() - stream.avail_out);
    unpacked.whole = result == LZMA_STREAM_END;
    if (result != LZMA_OK) break;
  }
  return unpacked;
}

inline Unpacked unlz4(std::span<const uint8_t> packed, size_t most) {
  static LZ4F_dctx* const context = [] {
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION))) std::abort();
    return made;
  }();
  LZ4F_resetDecompressionContext(context);
  Unpacked unpacked;
  while (unpacked.bytes.size() < most) {
    size_t given = room().size(), taken = packed.size();
    const size_t result = LZ4F_decompress(context, room().data(), &given, packed.data(), &taken, nullptr);
    if (LZ4F_isError(result)) break;
    append(unpacked, given);
    packed = packed.subspan(taken);
    unpacked.whole = packed.empty() && result == 0;
    if (unpacked.whole || (taken == 0 && given == 0)) break;
  }
  return unpacked;
}

inline size_t gzip(std::span<const uint8_t> bytes, std::span<uint8_t> out) {
  static z_stream* const stream = [] {
    static z_stream made{};
    if (deflateInit2(&made, 1, Z_DEFLATED, 9 + 16, 1, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
    return &made;
  }();
  deflateReset(stream);
  stream->next_in = const_cast<Bytef*>(bytes.data());
  stream->avail_in = static_cast<uInt>(bytes.size());
  stream->next_out = out.data();
  stream->avail_out = static_cast<uInt>(out.size());
  return deflate(stream, Z_FINISH) == Z_STREAM_END ? stream->total_out : 0;
}

inline size_t zstd(std::span<const uint8_t> bytes, std::span<uint8_t> out) {
  static ZSTD_CCtx* const context = ZSTD_createCCtx();
  const size_t size = ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size());
  return ZSTD_isError(size) ? 0 : size;
}

inline size_t xz(std::span<const uint8_t> bytes, std::span<uint8_t> out) {
  lzma_options_lzma options;
  lzma_lzma_preset(&options, 0);
  options.dict_size = LZMA_DICT_SIZE_MIN;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  size_t size = 0;
  const lzma_ret result = lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, nullptr, bytes.data(), bytes.size(),
                                                    out.data(), &size, out.size());
  return result == LZMA_OK ? size : 0;
}

inline size_t lz4(std::span<const uint8_t> bytes, std::span<uint8_t> out) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  const size_t size = LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &preferences);
  return LZ4F_isError(size) ? 0 : size;
}

}  // namespace repack_detail

inline Unpacked unpack(InputCompression how, std::span<const uint8_t> packed, size_t most) {
  switch (how) {
    case InputCompression::gzip: return repack_detail::gunzip(packed, most);
    case InputCompression::zstd: return repack_detail::unzstd(packed, most);
    case InputCompression::xz: return repack_detail::unxz(packed, most);
    case InputCompression::lz4: return repack_detail::unlz4(packed, most);
    default: std::abort();
  }
}

// One member, stream or frame, without a checksum where the format allows that. Empty if it takes more than `most`
// bytes.
inline std::vector<uint8_t> pack(InputCompression how, std::span<const uint8_t> bytes, size_t most) {
  std::vector<uint8_t> packed(most + 2 * bytes.size() + 1024);  // liblz4 wants its bound, however little it writes
  size_t size = 0;
  switch (how) {
    case InputCompression::gzip: size = repack_detail::gzip(bytes, packed); break;
    case InputCompression::zstd: size = repack_detail::zstd(bytes, packed); break;
    case InputCompression::xz: size = repack_detail::xz(bytes, packed); break;
    case InputCompression::lz4: size = repack_detail::lz4(bytes, packed); break;
    default: std::abort();
  }
  packed.resize(size <= most ? size : 0);
  return packed;
}

}  // namespace trama::test
