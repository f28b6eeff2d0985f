#include "libclient/formats/lz4_emitter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

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
constexpr size_t kReach = 65535 / kLz4ElementBytes;  // elements that an offset can go back

// What the sequences of some elements are made from.
struct Chunk {
  alignas(64) std::array<uint32_t, kChunk> change{};  // element XOR the one that it is matched with
  alignas(64) std::array<uint16_t, kChunk> offset{};  // bytes back to that one
  alignas(64) std::array<uint8_t, kChunk> code{};     // literals needed - 1
};

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

// Matches every element with the one before.
class PreviousMatcher {
 public:
  explicit PreviousMatcher(Chunk& chunk) { chunk.offset.fill(kLz4ElementBytes); }

  HWY_INLINE void match(const uint32_t* x, size_t begin, size_t size, Chunk& chunk) {
    const Lanes lanes;
    size_t k = 0;
    for (; k + hn::Lanes(lanes) <= size; k += hn::Lanes(lanes)) {
      const uint32_t* at = x + begin + k;
      hn::Store(hn::Xor(hn::LoadU(lanes, at), hn::LoadU(lanes, at - 1)), lanes, &chunk.change[k]);
    }
    for (; k < size; ++k) chunk.change[k] = x[begin + k] ^ x[begin + k - 1];
  }
};

// Matches every element with the latest one of the same top 8 bits; with use_16, of the same top 16 bits if there is
// one. Positions are kept modulo 2^16: a stale one leads to some other element, and the comparison tells what that is
// worth.
template <bool use_16>
class TopBitsMatcher {
 public:
  explicit TopBitsMatcher(Chunk&) {}

  HWY_INLINE void match(const uint32_t* x, size_t begin, size_t size, Chunk& chunk) {
    for (size_t k = 0; k < size; ++k) {
      const size_t at = begin + k;
      const uint32_t value = x[at];
      size_t distance = back(at, by_top_8_[value >> 24]);
      if constexpr (use_16) {
        const size_t near = back(at, by_top_16_[(value >> 16) * 0x9E3779B1u >> 20]);
        distance = (value ^ x[at - near]) >> 16 == 0 ? near : distance;
      }
      chunk.change[k] = value ^ x[at - distance];
      chunk.offset[k] = static_cast<uint16_t>(kLz4ElementBytes * distance);
    }
  }

 private:
  // Elements between `at` and a remembered position, which becomes `at`.
  static HWY_INLINE size_t back(size_t at, uint16_t& remembered) {
    const auto distance = static_cast<uint16_t>(at - remembered);
    remembered = static_cast<uint16_t>(at);
    return distance - size_t{1} < kReach ? distance : 1;
  }

  std::array<uint16_t, 256> by_top_8_{};
  std::array<uint16_t, 4096> by_top_16_{};  // by a hash of the bits
};

HWY_INLINE void count_literals(Chunk& chunk) {
  const Lanes lanes;
  const hn::Rebind<uint8_t, Lanes> bytes;
  const auto one = hn::Set(lanes, 1);
  for (size_t k = 0; k < kChunk; k += hn::Lanes(lanes)) {
    const auto change = hn::Load(lanes, &chunk.change[k]);
    auto code = hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFF)), one);
    code = hn::Add(code, hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFFFF)), one));
    code = hn::Add(code, hn::IfThenElseZero(hn::Gt(change, hn::Set(lanes, 0xFFFFFF)), one));
    hn::Store(hn::U8FromU32(code), bytes, &chunk.code[k]);  // TruncateTo of Highway 1.0.3 is wrong on AVX3_DL
  }
}

// Two elements at a time. A store writes 16 bytes for the 8 to 14 of two sequences: the last sequence, which is longer
// than what that is too much, follows.
HWY_INLINE uint8_t* put_elements(const uint32_t* x, size_t size, const Chunk& chunk, uint8_t* out) {
  const hn::FixedTag<uint64_t, 2> halves;
  const hn::FixedTag<uint8_t, 16> bytes;
  size_t k = 0;
  for (; k + 2 <= size; k += 2) {
    uint64_t elements;
    uint32_t offsets;
    std::memcpy(&elements, x + k, sizeof elements);
    std::memcpy(&offsets, &chunk.offset[k], sizeof offsets);
    const size_t code = chunk.code[k] + size_t{4} * chunk.code[k + 1];
    const auto source = hn::InterleaveLower(halves, hn::Set(halves, elements), hn::Set(halves, offsets));
    const auto moved = hn::TableLookupBytesOr0(hn::BitCast(bytes, source), hn::Load(bytes, kLz4Pairs.shuffle[code]));
    hn::StoreU(hn::Or(moved, hn::Load(bytes, kLz4Pairs.tokens[code])), bytes, out);
    out += kLz4Pairs.length[code];
  }
  if (k < size) out = put_element(x[k], chunk.code[k], chunk.offset[k], out);
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
  Chunk chunk;
  Matcher matcher(chunk);
  for (size_t begin = 2; begin < end;) {
    if (const size_t repeats = long_run(x, begin, end); repeats > 0) {
      next = put_repeats(repeats, next);
      begin += repeats;
      continue;
    }
    const size_t size = std::min(kChunk, end - begin);
    matcher.match(x, begin, size, chunk);
    count_literals(chunk);
    next = put_elements(x + begin, size, chunk, next);
    begin += size;
  }
  return static_cast<size_t>(put_last({x + end, 2}, next) - out);
}

size_t emit_sorted(const uint32_t* x, size_t n, uint8_t* out) { return emit_wide<PreviousMatcher>(x, n, out); }

size_t emit_pieces(const uint32_t* x, size_t n, uint8_t* out) {
  return top_16_bits_repeat({x, n}) ? emit_wide<TopBitsMatcher<true>>(x, n, out)
                                    : emit_wide<TopBitsMatcher<false>>(x, n, out);
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
