#include "modules/support/decompressor.hpp"

#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <string>

namespace trama {
namespace {

using namespace std::string_view_literals;

// Streams that need more memory than this are refused: zstd's own default for windows, and more than any xz preset
// takes.
constexpr int kZstdWindowLog = 27;
constexpr uint64_t kXzMemoryBytes = 256 << 20;

// What a library takes as a length; more is offered again at the next step.
uInt zlib_length(size_t bytes) { return static_cast<uInt>(std::min(bytes, size_t{1} << 30)); }

class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;
  bool ready() const { return ready_; }

  Step step(std::span<const uint8_t> input, std::span<uint8_t> output) override {
    Step done;
    if (between_members_) done.taken = skip_padding(input);
    input = input.subspan(done.taken);
    if (between_members_ && input.empty()) return done;
    between_members_ = false;
    stream_.next_in = const_cast<Bytef*>(input.data());
    stream_.avail_in = zlib_length(input.size());
    stream_.next_out = output.data();
    stream_.avail_out = zlib_length(output.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    done.taken += static_cast<size_t>(stream_.next_in - input.data());
    done.given = static_cast<size_t>(stream_.next_out - output.data());
    if (result == Z_STREAM_END) {
      inflateReset(&stream_);
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      done.failed = true;
      failure_ = {InputStatus::corrupt, stream_.msg ? stream_.msg : "its code is impossible"};
    }
    return done;
  }
  bool may_end() override { return between_members_; }

 private:
  // Tapes and block devices pad a member with zeros.
  static size_t skip_padding(std::span<const uint8_t> input) {
    const auto first = std::find_if(input.begin(), input.end(), [](uint8_t byte) { return byte != 0; });
    return static_cast<size_t>(first - input.begin());
  }

  z_stream stream_{};
  bool ready_ = false;
  bool between_members_ = false;
};

// libzstd and liblz4 say how many bytes the next block takes. They get no more at a time: when a block is damaged,
// their call gives nothing, not even what it made of the whole blocks before.
class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDStream()) {
    if (stream_) ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kZstdWindowLog);
  }
  ~ZstdDecompressor() override { ZSTD_freeDStream(stream_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
  bool ready() const { return stream_ != nullptr; }

  Step step(std::span<const uint8_t> input, std::span<uint8_t> output) override {
    // Without input there is nothing to do unless the last output was too small. At a frame's end it would ask for the
    // next frame's header and forget that this one was whole; anywhere else it takes repeated calls for an error, and a
    // writer may stall for long.
    if (input.empty() && (frame_ended_ || !output_full_)) return {};
    ZSTD_inBuffer in{input.data(), std::min(input.size(), wanted_), 0};
    ZSTD_outBuffer out{output.data(), output.size(), 0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    if (ZSTD_isError(result)) {
      const bool too_large = ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
      failure_ = {too_large ? InputStatus::unsupported : InputStatus::corrupt, ZSTD_getErrorName(result)};
      return {in.pos, out.pos, true};
    }
    frame_ended_ = result == 0;
    output_full_ = out.pos == out.size;
    wanted_ = frame_ended_ ? kFirstBytes : result;
    return {in.pos, out.pos, false};
  }
  bool may_end() override { return frame_ended_; }

 private:
  static constexpr size_t kFirstBytes = 5;  // of a frame: its magic and what says how long its header is
  ZSTD_DStream* stream_;
  size_t wanted_ = kFirstBytes;
  bool frame_ended_ = false;
  bool output_full_ = false;  // there may be more to come without further input
};

class XzDecompressor final : public Decompressor {
 public:
  XzDecompressor() { ready_ = lzma_stream_decoder(&stream_, kXzMemoryBytes, LZMA_CONCATENATED) == LZMA_OK; }
  ~XzDecompressor() override { lzma_end(&stream_); }
  XzDecompressor(const XzDecompressor&) = delete;
  XzDecompressor& operator=(const XzDecompressor&) = delete;
  bool ready() const { return ready_; }

  Step step(std::span<const uint8_t> input, std::span<uint8_t> output) override {
    stream_.next_in = input.data();
    stream_.avail_in = input.size();
    stream_.next_out = output.data();
    stream_.avail_out = output.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    const Step done{input.size() - stream_.avail_in, output.size() - stream_.avail_out,
                    result != LZMA_OK && result != LZMA_BUF_ERROR && result != LZMA_STREAM_END};
    if (done.failed) failure_ = explain(result);
    return done;
  }
  bool may_end() override {
    uint8_t nothing = 0;
    stream_.next_in = &nothing;
    stream_.avail_in = 0;
    stream_.next_out = &nothing;
    stream_.avail_out = 1;
    return lzma_code(&stream_, LZMA_FINISH) == LZMA_STREAM_END;
  }

 private:
  static InputFailure explain(lzma_ret result) {
    switch (result) {
      case LZMA_MEMLIMIT_ERROR: return {InputStatus::unsupported, "its dictionary needs too much memory"};
      case LZMA_OPTIONS_ERROR: return {InputStatus::unsupported, "it was made with options unknown here"};
      case LZMA_MEM_ERROR: return {InputStatus::unreadable, "there is not enough memory to unpack it"};
      case LZMA_FORMAT_ERROR: return {InputStatus::corrupt, "what follows a stream is no stream"};
      default: return {InputStatus::corrupt, "its code is impossible"};
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_ = false;
};

class Lz4Decompressor final : public Decompressor {
 public:
  Lz4Decompressor() {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION))) context_ = nullptr;
  }
  ~Lz4Decompressor() override { LZ4F_freeDecompressionContext(context_); }
  Lz4Decompressor(const Lz4Decompressor&) = delete;
  Lz4Decompressor& operator=(const Lz4Decompressor&) = delete;
  bool ready() const { return context_ != nullptr; }

  Step step(std::span<const uint8_t> input, std::span<uint8_t> output) override {
    if (input.empty() && frame_ended_) return {};
    const uint8_t nothing = 0;
    size_t given = output.size(), taken = std::min(input.size(), wanted_);
    const size_t result =
        LZ4F_decompress(context_, output.data(), &given, input.empty() ? &nothing : input.data(), &taken, nullptr);
    if (LZ4F_isError(result)) {
      failure_ = {InputStatus::corrupt, LZ4F_getErrorName(result)};
      return {taken, given, true};
    }
    frame_ended_ = result == 0;
    wanted_ = frame_ended_ ? LZ4F_HEADER_SIZE_MIN : result;
    return {taken, given, false};
  }
  bool may_end() override { return frame_ended_; }

 private:
  LZ4F_dctx* context_ = nullptr;
  size_t wanted_ = LZ4F_HEADER_SIZE_MIN;
  bool frame_ended_ = false;
};

struct Magic {
  std::string_view bytes;
  InputCompression compression;
};
constexpr Magic kMagics[] = {{"\x1f\x8b"sv, InputCompression::gzip},
                             {"\x28\xb5\x2f\xfd"sv, InputCompression::zstd},
                             {"\xfd\x37zXZ\0"sv, InputCompression::xz},
                             {"\x04\x22\x4d\x18"sv, InputCompression::lz4}};

// pzstd begins with a skippable frame, 0x184d2a50 to 0x184d2a5f; a match as far as `text` goes.
bool is_skippable_frame(std::string_view text) {
  return (static_cast<uint8_t>(text[0]) & 0xf0) == 0x50 && "\x2a\x4d\x18"sv.starts_with(text.substr(1, 3));
}

template <class T>
std::unique_ptr<Decompressor> make_ready() {
  auto made = std::make_unique<T>();
  if (!made->ready()) return nullptr;
  return made;
}

}  // namespace

std::string_view to_string(InputCompression compression) {
  switch (compression) {
    case InputCompression::gzip: return "gzip";
    case InputCompression::zstd: return "zstd";
    case InputCompression::xz: return "xz";
    case InputCompression::lz4: return "LZ4";
    default: return "none";
  }
}

InputCompression recognise_compression(std::span<const uint8_t> head, bool ended) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  bool may_become = text.empty();
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) return magic.compression;
    may_become |= magic.bytes.starts_with(text);
  }
  if (!text.empty() && is_skippable_frame(text)) {
    if (text.size() >= 4) return InputCompression::zstd;
    may_become = true;
  }
  return may_become && !ended ? InputCompression::undecided : InputCompression::none;
}

std::unique_ptr<Decompressor> make_decompressor(InputCompression compression) {
  switch (compression) {
    case InputCompression::gzip: return make_ready<GzipDecompressor>();
    case InputCompression::zstd: return make_ready<ZstdDecompressor>();
    case InputCompression::xz: return make_ready<XzDecompressor>();
    case InputCompression::lz4: return make_ready<Lz4Decompressor>();
    default: return nullptr;
  }
}

}  // namespace trama
