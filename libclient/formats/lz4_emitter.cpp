#include "libclient/formats/lz4_emitter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <tuple>

#include "libclient/formats/lz4_sequence.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libclient/formats/lz4_emitter.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

#ifndef TRAMA_LZ4_EMITTER_ONCE
#define TRAMA_LZ4_EMITTER_ONCE
namespace trama {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

// An array begins with two elements and ends with two that are not matched.
constexpr size_t kFewElements = 4;
constexpr size_t kChunk = 64;

// With which earlier element each of some is matched, and what that leaves to be written.
struct Matches {
  alignas(64) std::array<uint32_t, kChunk> change{};  // element XOR the other one
  alignas(64) std::array<uint32_t, kChunk> offset{};  // bytes back to that one
};
using Codes = std::array<uint8_t, kChunk>;  // literals needed - 1

inline uint8_t* put_wide(uint32_t element, uint8_t* out) {
  const uint64_t wide = element;
  std::memcpy(out, &wide, sizeof wide);
  return out + sizeof wide;
}

// Elements as literals only, as the last sequence.
inline uint8_t* put_last(std::span<const uint32_t> elements, uint8_t* out) {
  const size_t literals = kLz4ElementBytes * elements.size();
  *out++ = static_cast<uint8_t>(std::min<size_t>(literals, 15) << 4);
  if (literals >= 15) out = put_lz4_length(literals - 15, out);
  for (const uint32_t element : elements) out = put_wide(element, out);
  return out;
}

// The first two elements: one and a half as literals; the zeros that are left match those of the first.
inline uint8_t* put_first(const uint32_t* x, uint8_t* out) {
  *out++ = 12 << 4;
  out = put_wide(x[0], out);
  std::memcpy(out, x + 1, 4);
  out[4] = kLz4ElementBytes;
  out[5] = 0;
  return out + 6;
}

// So many times the element before, 2 at least.
inline uint8_t* put_repeats(size_t times, uint8_t* out) {
  *out++ = 15;  // no literals
  *out++ = kLz4ElementBytes;
  *out++ = 0;
  return put_lz4_length(kLz4ElementBytes * times - 4 - 15, out);
}

// One element by itself.
inline uint8_t* put_element(uint32_t element, uint8_t code, uint16_t offset, uint8_t* out) {
  const unsigned literals = code + 1u;
  *out++ = lz4_element_token(literals);
  for (unsigned byte = 0; byte < literals; ++byte) *out++ = static_cast<uint8_t>(element >> 8 * byte);
  std::memcpy(out, &offset, 2);
  return out + 2;
}

// Is a match of the top 16 bits worth looking for? It saves a byte where it is found and costs time everywhere. Found
// it is in skewed traffic; of evenly spread columns one in eight has a predecessor within reach. Asked of a sample of
// the data and of nothing else, so that the answer is the same everywhere.
inline bool top_16_bits_repeat(std::span<const uint32_t> x) {
  constexpr size_t kSample = 2048;
  if (x.empty()) return false;
  std::array<uint64_t, (1 << 16) / 64> seen{};  // a bit for each value
  const size_t sample = std::min(x.size(), kSample);
  const size_t step = x.size() / sample;
  size_t repeats = 0;
  for (size_t i = 0; i < sample; ++i) {
    const uint32_t bits = x[i * step] >> 16;
    uint64_t& word = seen[bits / 64];
    repeats += word >> bits % 64 & 1;
    word |= uint64_t{1} << bits % 64;
  }
  return repeats >= sample / 4;
}

// Have neighbours nearly always the same top 8 bits? Then the one before does as well as the latest with these bits.
inline bool top_8_bits_stay(std::span<const uint32_t> x) {
  constexpr size_t kSample = 1024;
  const size_t step = std::max<size_t>(x.size() / kSample, 1);
  size_t changes = 0;
  for (size_t i = 1; i < x.size(); i += step) changes += (x[i] ^ x[i - 1]) >> 24 != 0;
  return changes <= kSample / 16;
}

}  // namespace
}  // namespace trama
#endif

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<uint32_t>;
static_assert(kChunk * sizeof(uint32_t) % HWY_MAX_BYTES == 0);

// All matchers: matches `size` elements from `begin` on with earlier ones, 1 .. kChunk of them; begin >= 2.

// With the one before.
class PreviousMatcher {
 public:
  HWY_INLINE void match(const uint32_t* x, size_t begin, size_t size, Matches& matches) {
    const Lanes lanes;
    const auto offset = hn::Set(lanes, kLz4ElementBytes);
    size_t k = 0;
    for (; k + hn::Lanes(lanes) <= size; k += hn::Lanes(lanes)) {
      const uint32_t* at = x + begin + k;
      hn::Store(hn::Xor(hn::LoadU(lanes, at), hn::LoadU(lanes, at - 1)), lanes, &matches.change[k]);
      hn::Store(offset, lanes, &matches.offset[k]);
    }
    for (; k < size; ++k) {
      matches.change[k] = x[begin + k] ^ x[begin + k - 1];
      matches.offset[k] = kLz4ElementBytes;
    }
  }
};

// With the latest one of the same top bits, whose place is kept in bytes modulo 2^16. Where that is out of an offset's
// reach, or unknown, the difference is 0, or leads to another element, and `change` tells what that is worth.
template <int bits>
class LatestMatcher {
 public:
  HWY_INLINE void match(const uint32_t* x, size_t begin, size_t size, Matches& matches) {
    for (size_t k = 0; k < size; ++k) {
      const uint32_t value = x[begin + k];
      const auto place = static_cast<uint16_t>(kLz4ElementBytes * (begin + k));
      uint16_t& latest = latest_[slot(value)];
      const auto offset = static_cast<uint16_t>(place - latest);
      latest = place;
      matches.offset[k] = offset;
      matches.change[k] = value ^ x[begin + k - offset / kLz4ElementBytes];
    }
  }

 private:
  static_assert(bits == 8 || bits == 16);
  static constexpr size_t kSlots = bits == 8 ? 256 : 4096;
  static size_t slot(uint32_t value) { return bits == 8 ? value >> 24 : (value >> 16) * 0x9E3779B1u >> 20; }

  std::array<uint16_t, kSlots> latest_{};
};

// Keeps of two ways to match each element the one that changes less.
HWY_INLINE void keep_nearer(const Matches& other, Matches& matches) {
  const Lanes lanes;
  for (size_t k = 0; k < kChunk; k += hn::Lanes(lanes)) {
    const auto change = hn::Load(lanes, &matches.change[k]), other_change = hn::Load(lanes, &other.change[k]);
    const auto offset = hn::Load(lanes, &matches.offset[k]), other_offset = hn::Load(lanes, &other.offset[k]);
    const auto nearer = hn::And(hn::Lt(other_change, change), hn::Ne(other_offset, hn::Zero(lanes)));
    hn::Store(hn::IfThenElse(nearer, other_change, change), lanes, &matches.change[k]);
    hn::Store(hn::IfThenElse(nearer, other_offset, offset), lanes, &matches.offset[k]);
  }
}

// With the one before, or by any of the matchers that are named.
template <class... Others>
class NearestMatcher {
 public:
  HWY_INLINE void match(const uint32_t* x, size_t begin, size_t size, Matches& matches) {
    PreviousMatcher().match(x, begin, size, matches);
    const auto match_by = [&](auto& other) HWY_ATTR {
      other.match(x, begin, size, found_);
      keep_nearer(found_, matches);
    };
    std::apply([&](auto&... other) HWY_ATTR { (match_by(other), ...); }, others_);
  }

 private:
  std::tuple<Others...> others_;
  Matches found_;
};

HWY_INLINE void count_literals(const Matches& matches, Codes& codes) {
  const Lanes lanes;
  const hn::Rebind<uint8_t, Lanes> bytes;
  const auto one = hn::Set(lanes, 1);
  for (size_t k = 0; k < kChunk; k += hn::Lanes(lanes)) {
    const auto change = hn::Load(lanes, &matches.change[k]);
    auto code = hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFF)), one);
    code = hn::Add(code, hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFFFF)), one));
    code = hn::Add(code, hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFFFFFF)), one));
    hn::StoreU(hn::U8FromU32(code), bytes, &codes[k]);  // TruncateTo of Highway 1.0.3 is wrong on AVX3_DL
  }
}

// Two elements at a time. A store writes 16 bytes for the 8 to 14 of two sequences: the last sequence, which is longer
// than what that is too much, follows.
HWY_INLINE uint8_t* put_elements(const uint32_t* x, size_t size, const Matches& matches, const Codes& codes,
                                 uint8_t* out) {
  const hn::FixedTag<uint64_t, 2> halves;
  const hn::FixedTag<uint8_t, 16> bytes;
  size_t k = 0;
  for (; k + 2 <= size; k += 2) {
    uint64_t elements;
    uint64_t offsets;
    std::memcpy(&elements, x + k, sizeof elements);
    std::memcpy(&offsets, &matches.offset[k], sizeof offsets);
    const size_t code = codes[k] + size_t{4} * codes[k + 1];
    const auto source = hn::InterleaveLower(halves, hn::Set(halves, elements), hn::Set(halves, offsets));
    const auto moved = hn::TableLookupBytesOr0(hn::BitCast(bytes, source), hn::Load(bytes, kLz4Pairs.shuffle[code]));
    hn::StoreU(hn::Or(moved, hn::Load(bytes, kLz4Pairs.tokens[code])), bytes, out);
    out += kLz4Pairs.length[code];
  }
  if (k < size) out = put_element(x[k], codes[k], static_cast<uint16_t>(matches.offset[k]), out);
  return out;
}

// How many of the elements begin .. end equal the one before, if a whole chunk of them does; otherwise 0.
HWY_INLINE size_t long_run(const uint32_t* x, size_t begin, size_t end) {
  const uint32_t before = x[begin - 1];
  if (end - begin < kChunk || x[begin] != before || x[begin + kChunk - 1] != before) return 0;
  const Lanes lanes;
  const auto repeated = hn::Set(lanes, before);
  size_t at = begin;
  while (at + hn::Lanes(lanes) <= end && hn::AllTrue(lanes, hn::Eq(hn::LoadU(lanes, x + at), repeated))) {
    at += hn::Lanes(lanes);
  }
  while (at < end && x[at] == before) ++at;
  return at - begin < kChunk ? 0 : at - begin;
}

template <class Matcher>
HWY_INLINE size_t emit_wide(const uint32_t* x, size_t n, uint8_t* out) {
  if (n < kFewElements) return static_cast<size_t>(put_last({x, n}, out) - out);
  uint8_t* next = put_first(x, out);
  const size_t end = n - 2;
  Matcher matcher;
  Matches matches;
  Codes codes;
  for (size_t begin = 2; begin < end;) {
    if (const size_t repeats = long_run(x, begin, end); repeats > 0) {
      next = put_repeats(repeats, next);
      begin += repeats;
      continue;
    }
    const size_t size = std::min(kChunk, end - begin);
    matcher.match(x, begin, size, matches);
    count_literals(matches, codes);
    next = put_elements(x + begin, size, matches, codes, next);
    begin += size;
  }
  return static_cast<size_t>(put_last({x + end, 2}, next) - out);
}

size_t emit_sorted(const uint32_t* x, size_t n, uint8_t* out) { return emit_wide<PreviousMatcher>(x, n, out); }

size_t emit_pieces(const uint32_t* x, size_t n, uint8_t* out) {
  if (!top_16_bits_repeat({x, n})) return emit_wide<NearestMatcher<LatestMatcher<8>>>(x, n, out);
  return top_8_bits_stay({x, n}) ? emit_wide<NearestMatcher<LatestMatcher<16>>>(x, n, out)
                                 : emit_wide<NearestMatcher<LatestMatcher<8>, LatestMatcher<16>>>(x, n, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(emit_sorted);
HWY_EXPORT(emit_pieces);

}  // namespace

size_t emit_index(std::span<const uint32_t> x, uint8_t* out) noexcept {
  assert(x.size() <= kLz4MaxIndices);
  return HWY_DYNAMIC_DISPATCH(emit_sorted)(x.data(), x.size(), out);
}

size_t emit_column(std::span<const uint32_t> x, uint8_t* out) noexcept {
  assert(x.size() <= kLz4MaxIndices);
  return HWY_DYNAMIC_DISPATCH(emit_pieces)(x.data(), x.size(), out);
}

}  // namespace trama
#endif
