// The counts' half of lz4_emitter.hpp. Most links of a window have few packets, so that runs of the same count are what
// there is to match: a run is a match at an offset of one element.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "libclient/formats/lz4_emitter.hpp"
#include "libclient/formats/lz4_sequence.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libclient/formats/lz4_counts.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<uint32_t>;

constexpr size_t kElement = sizeof(uint32_t);
constexpr size_t kShort = 32;  // literals that are copied without asking how many there are

// The first place from `at` on whose element equals the one before (or, with `equal` false, differs); `end` if none.
template <bool equal>
HWY_INLINE size_t find(const uint32_t* x, size_t at, size_t end) {
  const Lanes lanes;
  for (; at + hn::Lanes(lanes) <= end; at += hn::Lanes(lanes)) {
    const auto same = hn::Eq(hn::LoadU(lanes, x + at), hn::LoadU(lanes, x + at - 1));
    const intptr_t found = hn::FindFirstTrue(lanes, equal ? same : hn::Not(same));
    if (found >= 0) return at + static_cast<size_t>(found);
  }
  while (at < end && (x[at] == x[at - 1]) != equal) ++at;
  return at;
}

class Sequences {
 public:
  Sequences(const uint32_t* x, size_t n, uint8_t* out)
      : bytes_(reinterpret_cast<const uint8_t*>(x)), size_(kElement * n), out_(out) {}

  // Everything up to byte `begin` as literals, then a match up to byte `end`, at least 4 bytes.
  HWY_INLINE void put_run(size_t begin, size_t end) {
    const size_t match = end - begin - 4;
    put_literals(begin, std::min<size_t>(match, 15));
    *out_++ = kElement;
    *out_++ = 0;
    if (match >= 15) out_ = put_lz4_length(match - 15, out_);
    done_ = end;
  }

  uint8_t* put_last() {
    put_literals(size_, 0);
    return out_;
  }

 private:
  HWY_INLINE void put_literals(size_t end, size_t match_nibble) {
    const size_t literals = end - done_;
    *out_++ = static_cast<uint8_t>(std::min<size_t>(literals, 15) << 4 | match_nibble);
    if (literals >= 15) out_ = put_lz4_length(literals - 15, out_);
    if (literals <= kShort && size_ - done_ >= kShort) {
      std::memcpy(out_, bytes_ + done_, kShort);
    } else if (literals > 0) {
      std::memcpy(out_, bytes_ + done_, literals);
    }
    out_ += literals;
  }

  const uint8_t* bytes_;
  size_t size_;
  size_t done_ = 0;
  uint8_t* out_;
};

size_t emit_runs(const uint32_t* x, size_t n, uint8_t* out) {
  Sequences sequences(x, n, out);
  // The last match starts at least 12 bytes before the end and leaves at least 5: in whole elements, 3 and 2.
  const size_t last_start = n >= 3 ? n - 3 : 0;
  for (size_t at = 1; at <= last_start;) {
    const size_t begin = find<true>(x, at, last_start + 1);
    if (begin > last_start) break;
    const size_t end = find<false>(x, begin + 1, n - 2);
    // The three high bytes of the element before match too, if they equal those of the one before that. They are not
    // part of the run before: that has ended with an element that differs.
    const bool high_bytes_match = begin >= 2 && (x[begin - 1] ^ x[begin - 2]) >> 8 == 0;
    const size_t first_byte = kElement * begin - (high_bytes_match ? 3 : 0);
    sequences.put_run(first_byte, kElement * end);
    at = end;
  }
  return static_cast<size_t>(sequences.put_last() - out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(emit_runs);

}  // namespace

size_t emit_counts(std::span<const uint32_t> x, uint8_t* out) noexcept {
  assert(x.size() <= kLz4MaxCounts);
  return HWY_DYNAMIC_DISPATCH(emit_runs)(x.data(), x.size(), out);
}

}  // namespace trama
#endif
