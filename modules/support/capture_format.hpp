// How a capture file format is read: a parser that gets whatever bytes are there and describes the packets in them.
//
// A parser never waits, never allocates for a packet, and is resumable at any byte: what it can't use yet it leaves,
// and it says how many bytes it needs to go on. Its results don't depend on how the bytes were cut into pieces.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "modules/support/input_report.hpp"
#include "modules/support/packet.hpp"

namespace trama {

// More captured bytes than this are skipped: the packet is presented with its first kMaxCaptured bytes.
inline constexpr uint32_t kMaxCaptured = 262144;
// A record that claims more captured bytes than this is corrupt: no link layer has such frames.
inline constexpr uint32_t kMaxRecord = 16 << 20;
// No step of any parser needs more bytes in a row than this: kMaxCaptured, headers, and the options behind a packet.
inline constexpr size_t kMaxNeed = 2 * size_t{kMaxCaptured};
// How far ahead of the header being read a parser prefetches; measured with 64-byte packets.
inline constexpr size_t kPrefetchBytes = 256;

// Something that a file consists of, for telling where the input was cut.
struct CaptureItem {
  const char* what = "file header";
  uint64_t at = 0;             // offset in the (decompressed) content
  uint64_t bytes = 0;          // its whole size
  bool may_be_absent = false;  // the input may end right before it
};

struct ParseProgress {
  size_t packets = 0;   // described
  size_t used = 0;      // bytes that are done with; descriptions point into them
  uint64_t skip = 0;    // bytes behind `used` that nobody needs; 0 unless all bytes are used
  size_t need = 0;      // bytes from there on that the next step takes at least; 0 when `packets` ran full
  CaptureItem pending;  // what stands there; valid unless `packets` ran full
  bool failed = false;  // nothing behind `used` can be read: see failure()
};

class CaptureFormat {
 public:
  virtual ~CaptureFormat() = default;
  // Describes packets of `bytes`, which begin at offset `position` of the content, exactly where the call before
  // stopped (and skipped to). Stops when `packets` is full, when the bytes don't hold the next item, or at a failure.
  virtual ParseProgress parse(std::span<const uint8_t> bytes, uint64_t position, std::span<Packet> packets) = 0;
  // Whether a whole valid file header was seen.
  bool header_seen() const { return header_seen_; }
  const InputFailure& failure() const { return failure_; }

 protected:
  // Notes the failure, whose text gets "at byte N: " before it. It tells places and limits, never a value that the file
  // holds: where a file is damaged, lengths and numbers are read from the bytes of packets.
  void fail(InputStatus status, uint64_t at, const std::string& text) {
    failure_ = {status, "at byte " + std::to_string(at) + ": " + text};
  }
  bool header_seen_ = false;

 private:
  InputFailure failure_;
};

// The format that begins with `head`, or null with `failure` set, or null with `failure` untouched: more bytes are
// needed to tell. `ended`: no more bytes will come. Looks at 512 bytes at most.
std::unique_ptr<CaptureFormat> recognise_capture(std::span<const uint8_t> head, bool ended, InputFailure& failure);

// An unsigned integer at any address, in the processor's byte order or, if `swapped`, in the other one.
template <class T>
T load_unaligned(const uint8_t* at, bool swapped) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if (!swapped) return value;
  if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    static_assert(sizeof(T) == 8);
    return __builtin_bswap64(value);
  }
}

}  // namespace trama
