// Compresses bytes in memory, one member or frame a call: put several behind each other for a file of several.
#pragma once
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "modules/support/decompressor.hpp"

namespace trama::test {

inline std::vector<uint8_t> gzip(std::span<const uint8_t> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::vector<uint8_t> packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// `window_log` 0: as the library chooses.
inline std::vector<uint8_t> zstd(std::span<const uint8_t> bytes, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  if (window_log != 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::vector<uint8_t> packed(ZSTD_compressBound(bytes.size()) + 64);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  // Flushed before it is ended, so that the window is not cut down to the content.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) std::abort();
  packed.resize(out.pos);
  ZSTD_freeCCtx(context);
  return packed;
}

inline std::vector<uint8_t> xz(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> packed(lzma_stream_buffer_bound(bytes.size()));
  size_t size = 0;
  if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, bytes.data(), bytes.size(), packed.data(), &size,
                              packed.size()) != LZMA_OK) {
    std::abort();
  }
  packed.resize(size);
  return packed;
}

inline std::vector<uint8_t> lz4(std::span<const uint8_t> bytes) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  std::vector<uint8_t> packed(LZ4F_compressFrameBound(bytes.size(), &preferences));
  const size_t size = LZ4F_compressFrame(packed.data(), packed.size(), bytes.data(), bytes.size(), &preferences);
  if (LZ4F_isError(size)) std::abort();
  packed.resize(size);
  return packed;
}

inline constexpr InputCompression kCompressions[] = {InputCompression::gzip, InputCompression::zstd,
                                                     InputCompression::xz, InputCompression::lz4};

inline std::vector<uint8_t> compress(InputCompression how, std::span<const uint8_t> bytes) {
  switch (how) {
    case InputCompression::gzip: return gzip(bytes);
    case InputCompression::zstd: return zstd(bytes);
    case InputCompression::xz: return xz(bytes);
    case InputCompression::lz4: return lz4(bytes);
    default: return {bytes.begin(), bytes.end()};
  }
}

}  // namespace trama::test
