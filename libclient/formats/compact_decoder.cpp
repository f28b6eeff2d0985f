#include "libclient/formats/compact_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "libclient/formats/compact_codes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libclient/formats/compact_decoder.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

#ifndef TRAMA_COMPACT_DECODER_ONCE
#define TRAMA_COMPACT_DECODER_ONCE
namespace trama {
namespace {

// The bits of up to kCompactPiece links; zeros behind the last.
inline uint64_t word_at(const uint8_t* bits, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bits, (size + 7) / 8);
  return word;
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
using Four = hn::FixedTag<uint32_t, 4>;
using Bytes = hn::FixedTag<uint8_t, 16>;

constexpr size_t kPiece = kCompactPiece;
constexpr size_t kGroupBytes = 16;  // the most data of a group; what an unpacking load reads

// Takes the values of one array out of its codes and data, never beyond the end of either.
template <const CompactCodes& codes>
class Values {
 public:
  // `code` has a byte for each group that will be asked for.
  Values(const uint8_t* code, const uint8_t* data, const uint8_t* end) : code_(code), data_(data), end_(end) {}

  // The next `size` values, up to kPiece, a multiple of four but for the last ones; stores zeros up to the next
  // multiple. False when data are short or the places behind the last value have codes.
  HWY_INLINE bool take(size_t size, uint32_t* out) {
    if (size == kPiece && static_cast<size_t>(end_ - data_) >= kPiece / 4 * kGroupBytes) {
      for (size_t k = 0; k < kPiece; k += 4) unpack(*code_, data_, out + k), data_ += codes.length[*code_++];
      return true;
    }
    return take_near_end(size, out);
  }
  bool at_end() const { return data_ == end_; }

 private:
  static HWY_INLINE void unpack(uint8_t code, const uint8_t* data, uint32_t* out) {
    const Bytes bytes;
    const auto spread = hn::TableLookupBytesOr0(hn::LoadU(bytes, data), hn::Load(bytes, codes.unpack[code]));
    hn::StoreU(hn::BitCast(Four(), spread), Four(), out);
  }

  bool take_near_end(size_t size, uint32_t* out) {
    for (size_t k = 0; k < size; k += 4) {
      const uint8_t code = *code_++;
      const size_t used = std::min<size_t>(4, size - k);
      if (used < 4 && code >> 2 * used != 0) return false;
      const size_t length = codes.length[code] - (4 - used) * codes.bytes[0];
      const auto left = static_cast<size_t>(end_ - data_);
      if (length > left) return false;
      alignas(16) std::array<uint8_t, kGroupBytes> copy{};
      std::memcpy(copy.data(), data_, std::min(left, kGroupBytes));
      unpack(code, copy.data(), out + k);
      std::fill(out + k + used, out + k + 4, 0);
      data_ += length;
    }
    return true;
  }

  const uint8_t* code_;
  const uint8_t* data_;
  const uint8_t* end_;
};

// From the bits to the number of each row's first link, and `links` behind the last. Bits and rows must fit.
bool read_starts(const CompactHeader& header, const uint8_t* bits, uint32_t* start) {
  const size_t links = header.links;
  size_t rows = 0;
  for (size_t at = 0; at < links; at += kPiece) {
    const size_t size = std::min(kPiece, links - at);
    const uint64_t word = word_at(bits + at / 8, size);
    if (size < kPiece && word >> size != 0) return false;
    rows += static_cast<size_t>(std::popcount(word));
  }
  if (rows != header.rows || (links > 0 && (bits[0] & 1) == 0)) return false;

  const Lanes lanes;
  for (size_t at = 0; at < links; at += kPiece) {
    uint64_t word = word_at(bits + at / 8, std::min(kPiece, links - at));
    if (word == ~uint64_t{0}) {  // rows of one link each
      for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
        hn::StoreU(hn::Iota(lanes, static_cast<uint32_t>(at + k)), lanes, start + k);
      }
      start += kPiece;
      continue;
    }
    for (; word != 0; word &= word - 1)
      *start++ = static_cast<uint32_t>(at + static_cast<size_t>(std::countr_zero(word)));
  }
  *start = header.links;
  return true;
}

// x[i] becomes the sum of x[0] + 1 .. x[i] + 1, beginning with `before`, modulo 2^32. Stores kCompactSlack - 1 more
// elements.
HWY_INLINE void add_up(uint32_t before, size_t size, uint32_t* x) {
  const Four four;
  const auto one = hn::Set(four, 1);
  auto carry = hn::Set(four, before);
  for (size_t k = 0; k < size; k += 4) {
    auto sums = hn::Add(hn::LoadU(four, x + k), one);
    sums = hn::Add(sums, hn::ShiftLeftLanes<1>(four, sums));
    sums = hn::Add(sums, hn::ShiftLeftLanes<2>(four, sums));
    sums = hn::Add(sums, carry);
    carry = hn::Broadcast<3>(sums);
    hn::StoreU(sums, four, x + k);
  }
}

// What holds for all lanes so far: nothing has been looked at.
HWY_INLINE hn::Mask<Lanes> all_right() { return hn::Eq(hn::Zero(Lanes()), hn::Zero(Lanes())); }

// Each step is at most 2^32: the first sum that does not fit is seen as one that is not above the one before.
bool ascends(std::span<const uint32_t> x) {
  const Lanes lanes;
  auto above = all_right();
  size_t at = 1;
  for (; at + hn::Lanes(lanes) <= x.size(); at += hn::Lanes(lanes)) {
    above = hn::And(above, hn::Gt(hn::LoadU(lanes, &x[at]), hn::LoadU(lanes, &x[at - 1])));
  }
  bool right = hn::AllTrue(lanes, above);
  for (; at < x.size(); ++at) right = right && x[at] > x[at - 1];
  return right;
}

CompactFault read_rows(size_t rows, Values<kIndexCodes> values, uint32_t* row) {
  uint32_t before = UINT32_MAX;
  for (size_t at = 0; at < rows; at += kPiece) {
    const size_t size = std::min(kPiece, rows - at);
    if (!values.take(size, row + at)) return CompactFault::row_codes;
    add_up(before, size, row + at);
    before = row[at + size - 1];
  }
  if (!values.at_end()) return CompactFault::row_codes;
  return ascends({row, rows}) ? CompactFault::none : CompactFault::row_range;
}

// From what is stored for links to their columns: in front of a row the least column is added, inside it the column
// before and 1. A sum over four lanes takes two steps, in each of which masks end it where a row ends.
class ColumnSums {
 public:
  explicit ColumnSums(uint32_t base) : base_(hn::Set(Four(), base)), base_less_one_(hn::Set(Four(), base - 1)) {}

  // kPiece links, each of a row of its own: there is nothing to sum up.
  HWY_INLINE void add_single_links(uint32_t* column) {
    const Lanes lanes;
    const auto base = hn::Set(lanes, hn::GetLane(base_));
    auto right = all_right();
    for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
      const auto sums = hn::Add(hn::LoadU(lanes, column + k), base);
      right = hn::And(right, hn::Eq(hn::Max(sums, base), sums));
      hn::StoreU(sums, lanes, column + k);
    }
    if (!hn::AllTrue(lanes, right)) right_ = hn::Zero(Four());
    last_ = hn::LoadU(Four(), column + kPiece - 4);
  }

  // Four links; bit i of `starts` says that link i begins a row.
  HWY_INLINE void add(uint64_t starts, uint32_t* column) {
    const Four four;
    const auto is_first = hn::Load(four, kRowStarts.is_first[starts]);
    auto sums = hn::Add(hn::LoadU(four, column), hn::Add(hn::Set(four, 1), hn::And(is_first, base_less_one_)));
    sums = hn::Add(sums, hn::And(hn::ShiftLeftLanes<1>(four, sums), hn::Load(four, kRowStarts.same_row_1[starts])));
    sums = hn::Add(sums, hn::And(hn::ShiftLeftLanes<2>(four, sums), hn::Load(four, kRowStarts.same_row_2[starts])));
    sums = hn::Add(sums, hn::And(hn::Broadcast<3>(last_), hn::Load(four, kRowStarts.row_before[starts])));
    const auto before = hn::CombineShiftRightBytes<12>(four, sums, last_);
    const auto above = hn::Or(hn::VecFromMask(four, hn::Gt(sums, before)), is_first);
    // A first column that did not fit is below the least one; any other is not above the one before.
    right_ = hn::And(right_, hn::And(above, hn::VecFromMask(four, hn::Eq(hn::Max(sums, base_), sums))));
    last_ = sums;
    hn::StoreU(sums, four, column);
  }
  bool all_fit() const { return hn::AllTrue(Four(), hn::Ne(right_, hn::Zero(Four()))); }

 private:
  hn::Vec<Four> base_, base_less_one_;
  hn::Vec<Four> last_ = hn::Zero(Four());
  hn::Vec<Four> right_ = hn::Set(Four(), UINT32_MAX);
};

CompactFault read_columns(const CompactHeader& header, const uint8_t* bits, Values<kIndexCodes> values,
                          uint32_t* column) {
  ColumnSums sums(header.column_base);
  for (size_t at = 0; at < header.links; at += kPiece) {
    const size_t size = std::min(kPiece, header.links - at);
    if (!values.take(size, column + at)) return CompactFault::column_codes;
    uint64_t starts = word_at(bits + at / 8, size);
    if (size < kPiece) starts |= ~uint64_t{0} << size;  // what stands behind the last link is no part of its row
    if (starts == ~uint64_t{0} && size == kPiece) {
      sums.add_single_links(column + at);
      continue;
    }
    for (size_t k = 0; k < size; k += 4) sums.add(starts >> k & 15, column + at + k);
  }
  if (!values.at_end()) return CompactFault::column_codes;
  return sums.all_fit() ? CompactFault::none : CompactFault::column_range;
}

CompactFault read_counts(const CompactHeader& header, Values<kCountCodes> values, uint32_t* count) {
  const Lanes lanes;
  const hn::Repartition<uint64_t, Lanes> wide;
  const auto one = hn::Set(lanes, 1);
  const auto low_half = hn::Set(wide, 0xFFFFFFFF);
  auto sums = hn::Zero(wide);
  auto some = all_right();  // packets
  uint64_t sum = 0;
  bool has_zero = false;
  for (size_t at = 0; at < header.links; at += kPiece) {
    const size_t size = std::min(kPiece, header.links - at);
    if (!values.take(size, count + at)) return CompactFault::count_codes;
    if (size < kPiece) {
      for (size_t k = at; k < header.links; ++k) {
        has_zero |= ++count[k] == 0;
        sum += count[k];
      }
      break;
    }
    for (size_t k = at; k < at + kPiece; k += hn::Lanes(lanes)) {
      const auto counts = hn::Add(hn::LoadU(lanes, count + k), one);
      hn::StoreU(counts, lanes, count + k);
      some = hn::And(some, hn::Ne(counts, hn::Zero(lanes)));
      const auto pairs = hn::BitCast(wide, counts);
      sums = hn::Add(sums, hn::Add(hn::And(pairs, low_half), hn::ShiftRight<32>(pairs)));
    }
  }
  if (!values.at_end()) return CompactFault::count_codes;
  sum += hn::GetLane(hn::SumOfLanes(wide, sums));
  return !has_zero && hn::AllTrue(lanes, some) && sum == header.packets ? CompactFault::none : CompactFault::counts;
}

CompactFault decode(const CompactHeader& header, const uint8_t* in, const CompactArrays& arrays) {
  const CompactLayout layout(header);
  const uint8_t* const row_starts = in + layout.row_starts;
  if (!read_starts(header, row_starts, arrays.start)) return CompactFault::row_starts;
  const Values<kIndexCodes> rows(in + layout.row_codes, in + layout.row_data, in + layout.column_data);
  if (const CompactFault fault = read_rows(header.rows, rows, arrays.row); fault != CompactFault::none) return fault;
  const Values<kIndexCodes> columns(in + layout.column_codes, in + layout.column_data, in + layout.count_data);
  if (const CompactFault fault = read_columns(header, row_starts, columns, arrays.column); fault != CompactFault::none)
    return fault;
  if (header.all_ones()) {
    std::fill_n(arrays.count, header.links, 1);
    return CompactFault::none;
  }
  const Values<kCountCodes> counts(in + layout.count_codes, in + layout.count_data, in + layout.end);
  return read_counts(header, counts, arrays.count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(decode);

}  // namespace

CompactFault decode_compact(const CompactHeader& header, const uint8_t* in, const CompactArrays& arrays) noexcept {
  return HWY_DYNAMIC_DISPATCH(decode)(header, in, arrays);
}

}  // namespace trama
#endif
