#include "modules/support/traffic_matrix.hpp"

#include <cassert>

#include "modules/support/lane_shuffles.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "modules/support/traffic_matrix.cpp"
#include <hwy/foreach_target.h>  // before highway.h: includes this file again for each target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace trama {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<uint32_t>;
using Words = hn::Vec<Lanes>;
static_assert(HWY_MAX_BYTES / sizeof(uint32_t) <= kSlack);

struct SplitKeys {
  Words source;
  Words destination;
};

// As many keys as a vector has 32-bit lanes, taken apart.
HWY_INLINE SplitKeys load_keys(const uint64_t* keys) {
  const Lanes lanes;
  const hn::RepartitionToWide<Lanes> wide_lanes;
  const auto first = hn::BitCast(lanes, hn::LoadU(wide_lanes, keys));
  const auto second = hn::BitCast(lanes, hn::LoadU(wide_lanes, keys + hn::Lanes(wide_lanes)));
  return {hn::ConcatOdd(lanes, second, first), hn::ConcatEven(lanes, second, first)};
}

// Stores the selected lanes of `values` at `to`, lowest first, and returns their number. Overwrites a whole vector.
template <class Mask>
HWY_INLINE size_t append(Words values, Mask selected, uint32_t* to) {
  const Lanes lanes;
#if HWY_MAX_BYTES == 16
  uint8_t mask[8] = {};  // Highway may write 8 bytes
  hn::StoreMaskBits(lanes, selected, mask);
  const hn::FixedTag<uint8_t, 16> bytes;
  const auto shuffle = hn::Load(bytes, kLaneShuffles.shuffle[mask[0]]);
  hn::StoreU(hn::BitCast(lanes, hn::TableLookupBytesOr0(hn::BitCast(bytes, values), shuffle)), lanes, to);
  return static_cast<size_t>(__builtin_popcount(mask[0]));
#else
  hn::StoreU(hn::Compress(values, selected), lanes, to);
  return hn::CountTrue(lanes, selected);
#endif
}

// Sorted keys to links: the first of each run of equal keys gives its source, its destination and its position.
// Returns the number of links. n >= 1. Overwrites the key before the first and a vector of keys after the last.
size_t keep_links(uint64_t* keys, size_t n, uint32_t* source, uint32_t* destination, uint32_t* position) {
  const Lanes lanes;
  const size_t step = hn::Lanes(lanes);
  keys[-1] = ~keys[0];                                          // the first key differs from the one before it
  for (size_t i = 0; i < step; ++i) keys[n + i] = keys[n - 1];  // those after the last one don't
  auto positions = hn::Iota(lanes, 0);
  size_t links = 0;
  for (size_t i = 0; i < n; i += step) {
    const SplitKeys here = load_keys(keys + i);
    const SplitKeys before = load_keys(keys + i - 1);
    const auto is_new = hn::Or(hn::Ne(here.source, before.source), hn::Ne(here.destination, before.destination));
    append(here.destination, is_new, destination + links);
    append(positions, is_new, position + links);
    links += append(here.source, is_new, source + links);
    positions = hn::Add(positions, hn::Set(lanes, static_cast<uint32_t>(step)));
  }
  position[links] = static_cast<uint32_t>(n);
  return links;
}

// Links to rows: the first link of each source gives a row and its start. Returns the number of rows. links >= 1.
// Overwrites the source before the first and a vector of sources after the last.
size_t keep_rows(uint32_t* source, size_t links, uint32_t* row, uint32_t* start) {
  const Lanes lanes;
  const size_t step = hn::Lanes(lanes);
  source[-1] = ~source[0];
  for (size_t i = 0; i < step; ++i) source[links + i] = source[links - 1];
  auto positions = hn::Iota(lanes, 0);
  size_t rows = 0;
  for (size_t i = 0; i < links; i += step) {
    const auto here = hn::LoadU(lanes, source + i);
    const auto is_new = hn::Ne(here, hn::LoadU(lanes, source + i - 1));
    append(here, is_new, row + rows);
    rows += append(positions, is_new, start + rows);
    positions = hn::Add(positions, hn::Set(lanes, static_cast<uint32_t>(step)));
  }
  start[rows] = static_cast<uint32_t>(links);
  return rows;
}

// The packets of a link are the distance from its position to the next one. Writes up to a vector too much.
void count_packets(const uint32_t* position, size_t links, uint32_t* count) {
  const Lanes lanes;
  for (size_t i = 0; i < links; i += hn::Lanes(lanes)) {
    const auto packets = hn::Sub(hn::LoadU(lanes, position + i + 1), hn::LoadU(lanes, position + i));
    hn::StoreU(packets, lanes, count + i);
  }
}

void fill_matrix(uint64_t* keys, size_t n, uint32_t* position, MatrixStorage& out) {
  uint32_t* const source = out.count();  // the counts come last: until then their array holds a source for each link
  const size_t links = keep_links(keys, n, source, out.column(), position);
  const size_t rows = keep_rows(source, links, out.row(), out.start());
  count_packets(position, links, out.count());
  out.set_size(rows, links);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trama
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trama {
namespace {

HWY_EXPORT(fill_matrix);

}  // namespace

MatrixStorage::MatrixStorage(size_t capacity)
    : capacity_(capacity),
      memory_(3 * LazyMemory::bytes_of<uint32_t>(capacity) + LazyMemory::bytes_of<uint32_t>(capacity + 1)),
      row_(memory_.take<uint32_t>(capacity)),
      start_(memory_.take<uint32_t>(capacity + 1)),
      column_(memory_.take<uint32_t>(capacity)),
      count_(memory_.take<uint32_t>(capacity)) {}  // fresh memory is zero: start[0] = 0 makes an empty matrix

HyperCsr MatrixStorage::view() const {
  return {{row_, rows_}, {start_, rows_ + 1}, {column_, links_}, {count_, links_}};
}

void MatrixStorage::set_size(size_t rows, size_t links) {
  assert(rows <= links && links <= capacity_ && start_[rows] == links);
  rows_ = rows;
  links_ = links;
}

MatrixBuilder::MatrixBuilder(size_t capacity)
    : sorter_(capacity),
      memory_(LazyMemory::bytes_of<uint32_t>(capacity + 1)),
      position_(memory_.take<uint32_t>(capacity + 1)) {}

void MatrixBuilder::build(const uint32_t* source, const uint32_t* destination, size_t n, IndexOrder order,
                          MatrixStorage& out) noexcept {
  assert(n <= out.capacity());
  if (n == 0) {
    out.start()[0] = 0;
    out.set_size(0, 0);
    return;
  }
  uint64_t* keys = sorter_.sort(source, destination, n, order);
  HWY_DYNAMIC_DISPATCH(fill_matrix)(keys, n, position_, out);
}

}  // namespace trama
#endif
