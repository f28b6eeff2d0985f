// The writing half of compact.hpp. Codes stand before data, and how long all codes are is known beforehand: the parts
// are written one after the other, without a buffer between.
#include <algorithm>
#include <cstring>

#include "libclient/formats/compact.hpp"
#include "libclient/formats/compact_codes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libclient/formats/compact_encoder.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<uint32_t>;

constexpr size_t kPiece = kCompactPiece;
constexpr size_t kGroups = kPiece / 4;

// A piece of an array that can be read as a whole, with the element before it, wherever in the array it lies.
class Piece {
 public:
  // `size` elements from `at` on, then anything. `before` stands before the first element of all.
  Piece(std::span<const uint32_t> all, size_t at, uint32_t before) : size_(std::min(kPiece, all.size() - at)) {
    if (at > 0 && size_ == kPiece) {
      first_ = all.data() + at;
      return;
    }
    copy_[0] = at > 0 ? all[at - 1] : before;
    std::memcpy(&copy_[1], all.data() + at, size_ * sizeof(uint32_t));
    std::fill(copy_.begin() + 1 + static_cast<ptrdiff_t>(size_), copy_.end(), 0);
    first_ = &copy_[1];
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  size_t size() const { return size_; }
  const uint32_t* first() const { return first_; }  // first()[-1] can be read too

 private:
  size_t size_;
  const uint32_t* first_;
  std::array<uint32_t, 1 + kPiece> copy_;
};

// The code of every value: 0 to 3, by how many bytes it needs.
template <const CompactCodes& codes>
HWY_INLINE hn::Vec<Lanes> code_of(hn::Vec<Lanes> value) {
  constexpr auto most = [](size_t code) { return static_cast<uint32_t>((uint64_t{1} << 8 * codes.bytes[code]) - 1); };
  const Lanes lanes;
  const auto one = hn::Set(lanes, 1);
  auto code = hn::IfThenElseZero(hn::Gt(value, hn::Set(lanes, most(0))), one);
  code = hn::Add(code, hn::IfThenElseZero(hn::Gt(value, hn::Set(lanes, most(1))), one));
  return hn::Add(code, hn::IfThenElseZero(hn::Gt(value, hn::Set(lanes, most(2))), one));
}

// Where the codes and the data of one array go.
template <const CompactCodes& codes>
class Writer {
 public:
  Writer(uint8_t* code, uint8_t* data) : code_(code), data_(data) {}
  uint8_t* data() const { return data_; }

  // The first `size` of kPiece values, a multiple of four but for the last ones. May overwrite 16 bytes behind the end.
  HWY_INLINE void put(std::array<uint32_t, kPiece>& values, size_t size) {
    std::fill(values.begin() + static_cast<ptrdiff_t>(size), values.end(), 0);
    alignas(64) std::array<uint8_t, kGroups> group_codes;
    make_group_codes(values, group_codes);

    const hn::FixedTag<uint32_t, 4> four;
    const hn::FixedTag<uint8_t, 16> bytes;
    const size_t groups = (size + 3) / 4;
    uint8_t* data = data_;
    for (size_t group = 0; group < groups; ++group) {
      const uint8_t code = group_codes[group];
      const auto value = hn::BitCast(bytes, hn::Load(four, &values[4 * group]));
      hn::StoreU(hn::TableLookupBytesOr0(value, hn::Load(bytes, codes.pack[code])), bytes, data);
      data += codes.length[code];
    }
    data_ = data - (4 * groups - size) * codes.bytes[0];  // places without a value have no data
    if (groups == kGroups) {
      std::memcpy(code_, group_codes.data(), kGroups);
    } else {
      std::memcpy(code_, group_codes.data(), groups);
    }
    code_ += groups;
  }

 private:
  static HWY_INLINE void make_group_codes(const std::array<uint32_t, kPiece>& values,
                                          std::array<uint8_t, kGroups>& group_codes) {
    const Lanes lanes;
    const hn::Rebind<uint8_t, Lanes> bytes;
    alignas(64) std::array<uint8_t, kPiece> single;
    for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
      // TruncateTo of Highway 1.0.3 is wrong on AVX3_DL.
      hn::Store(hn::U8FromU32(code_of<codes>(hn::Load(lanes, &values[k]))), bytes, &single[k]);
    }
    // Four codes of a byte each become one byte.
    for (size_t group = 0; group < kGroups; group += hn::Lanes(lanes)) {
      auto four = hn::BitCast(lanes, hn::Load(hn::Repartition<uint8_t, Lanes>(), &single[4 * group]));
      four = hn::Or(four, hn::ShiftRight<6>(four));
      four = hn::Or(four, hn::ShiftRight<12>(four));
      hn::Store(hn::U8FromU32(hn::And(four, hn::Set(lanes, 0xFF))), bytes, &group_codes[group]);
    }
  }

  uint8_t* code_;
  uint8_t* data_;
};

uint64_t sum_of(std::span<const uint32_t> values) {
  const Lanes lanes;
  const hn::Repartition<uint64_t, Lanes> wide;
  const auto low_half = hn::Set(wide, 0xFFFFFFFF);
  auto sums = hn::Zero(wide);
  size_t at = 0;
  for (; at + hn::Lanes(lanes) <= values.size(); at += hn::Lanes(lanes)) {
    const auto pairs = hn::BitCast(wide, hn::LoadU(lanes, &values[at]));
    sums = hn::Add(sums, hn::Add(hn::And(pairs, low_half), hn::ShiftRight<32>(pairs)));
  }
  uint64_t sum = hn::GetLane(hn::SumOfLanes(wide, sums));
  for (; at < values.size(); ++at) sum += values[at];
  return sum;
}

uint32_t least_of(std::span<const uint32_t> values) {
  const Lanes lanes;
  auto least_lanes = hn::Set(lanes, UINT32_MAX);
  size_t at = 0;
  for (; at + hn::Lanes(lanes) <= values.size(); at += hn::Lanes(lanes)) {
    least_lanes = hn::Min(least_lanes, hn::LoadU(lanes, &values[at]));
  }
  uint32_t least = hn::GetLane(hn::MinOfLanes(lanes, least_lanes));
  for (; at < values.size(); ++at) least = std::min(least, values[at]);
  return least;
}

// A row less the one before, less 1; the first row itself. Returns where the data ends.
uint8_t* write_rows(std::span<const uint32_t> rows, uint8_t* code, uint8_t* data) {
  const Lanes lanes;
  const auto one = hn::Set(lanes, 1);
  Writer<kIndexCodes> writer(code, data);
  alignas(64) std::array<uint32_t, kPiece> gaps;
  for (size_t at = 0; at < rows.size(); at += kPiece) {
    const Piece piece(rows, at, UINT32_MAX);
    for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
      const auto before = hn::Add(hn::LoadU(lanes, piece.first() + k - 1), one);
      hn::Store(hn::Sub(hn::LoadU(lanes, piece.first() + k), before), lanes, &gaps[k]);
    }
    writer.put(gaps, piece.size());
  }
  return writer.data();
}

// Which of the kPiece links from `at` on begin a row; `row` is the first one that begins there, and moves on.
HWY_INLINE uint64_t row_starts(const HyperCsr& matrix, size_t at, size_t& row) {
  const size_t rows = matrix.rows();
  if (row + kPiece <= rows && matrix.start[row + kPiece - 1] == at + kPiece - 1) {  // rows of one link each
    row += kPiece;
    return ~uint64_t{0};
  }
  uint64_t starts = 0;
  for (; row < rows && matrix.start[row] < at + kPiece; ++row) starts |= uint64_t{1} << (matrix.start[row] - at);
  return starts;
}

// A column less the one before in its row, less 1; in front of a row, less the least of all. The bits that say where
// rows start are written on the way.
uint8_t* write_columns(const HyperCsr& matrix, uint32_t base, uint8_t* starts_out, uint8_t* code, uint8_t* data) {
  const Lanes lanes;
  const auto one = hn::Set(lanes, 1);
  const auto least = hn::Set(lanes, base);
  Writer<kIndexCodes> writer(code, data);
  alignas(64) std::array<uint32_t, kPiece> gaps;
  size_t row = 0;
  for (size_t at = 0; at < matrix.links(); at += kPiece) {
    const Piece piece(matrix.column, at, 0);
    const uint64_t starts = row_starts(matrix, at, row);
    std::memcpy(starts_out + at / 8, &starts, (piece.size() + 7) / 8);
    for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
      const uint64_t starts_here = starts >> k;
      const auto is_first = hn::LoadMaskBits(lanes, reinterpret_cast<const uint8_t*>(&starts_here));
      const auto column = hn::LoadU(lanes, piece.first() + k);
      const auto before = hn::Add(hn::LoadU(lanes, piece.first() + k - 1), one);
      hn::Store(hn::Sub(column, hn::IfThenElse(is_first, least, before)), lanes, &gaps[k]);
    }
    writer.put(gaps, piece.size());
  }
  return writer.data();
}

// A count less 1.
uint8_t* write_counts(std::span<const uint32_t> counts, uint8_t* code, uint8_t* data) {
  const Lanes lanes;
  const auto one = hn::Set(lanes, 1);
  Writer<kCountCodes> writer(code, data);
  alignas(64) std::array<uint32_t, kPiece> less_one;
  for (size_t at = 0; at < counts.size(); at += kPiece) {
    const Piece piece(counts, at, 0);
    for (size_t k = 0; k < kPiece; k += hn::Lanes(lanes)) {
      hn::Store(hn::Sub(hn::LoadU(lanes, piece.first() + k), one), lanes, &less_one[k]);
    }
    writer.put(less_one, piece.size());
  }
  return writer.data();
}

size_t encode(const HyperCsr& matrix, bool raw_order, uint8_t* out) {
  CompactHeader header;
  header.rows = static_cast<uint32_t>(matrix.rows());
  header.links = static_cast<uint32_t>(matrix.links());
  header.packets = sum_of(matrix.count);
  header.column_base = matrix.links() == 0 ? 0 : least_of(matrix.column);
  const bool all_ones = header.packets == header.links;  // since none is 0
  header.flags = static_cast<uint16_t>((raw_order ? kCompactRawOrder : 0) | (all_ones ? kCompactAllOnes : 0));

  const CompactLayout codes(header);  // data have no length yet
  uint8_t* const row_data = out + codes.row_data;
  uint8_t* const column_data = write_rows(matrix.row, out + codes.row_codes, row_data);
  uint8_t* const count_data =
      write_columns(matrix, header.column_base, out + codes.row_starts, out + codes.column_codes, column_data);
  uint8_t* const end = all_ones ? count_data : write_counts(matrix.count, out + codes.count_codes, count_data);
  header.row_data = static_cast<uint32_t>(column_data - row_data);
  header.column_data = static_cast<uint32_t>(count_data - column_data);
  header.count_data = static_cast<uint32_t>(end - count_data);
  header.bytes = static_cast<uint64_t>(end - out);
  std::memcpy(out, &header, sizeof header);
  return static_cast<size_t>(end - out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(encode);

}  // namespace

size_t write_compact(const HyperCsr& matrix, bool raw_order, std::span<uint8_t> out) noexcept {
  const size_t links = matrix.links();
  if (links > kCompactFormatLinks || matrix.rows() > links || (matrix.rows() == 0) != (links == 0) ||
      matrix.start.size() != matrix.rows() + 1 || matrix.count.size() != links || out.size() < compact_bound(links)) {
    return 0;
  }
  return HWY_DYNAMIC_DISPATCH(encode)(matrix, raw_order, out.data());
}

}  // namespace trama
#endif
