#include "modules/support/pair_sort.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>
#include <type_traits>

namespace trama {
namespace {

// Bits of a key that the radix sort doesn't look at: it takes the top 22, which are the top 22 of the source's index.
constexpr int kTieShift = 42;
constexpr int kSourceTieShift = kTieShift - 32;

// Keys of a part, and the parts there may be: 2 * 256 KB are in the second cache, and as many lines as there are parts
// in the first one.
constexpr int kPartBits = 15, kMostPartsBits = 8;
constexpr size_t kFewestInParts = size_t{1} << 22;  // below, dividing costs what it saves

// The sample: 2048 sources fall into 4096 cells by a hash of their top 22 bits. Evenly spread they make 2048 * 2047 / 2
// / 4096 = 512 pairs in the same cell, give or take 23; five times as many is no accident.
constexpr size_t kSample = 2048;
constexpr size_t kCells = 4096;
constexpr uint32_t kFlatPairs = 2500;

// A radix pass writes to 2048 lines, more than the first cache holds. The line of the key so many places ahead is
// fetched early; the pass takes less than half the time then. By the time the key comes, its place has moved on by a
// key or two, which is on the same line more often than not.
constexpr size_t kFetchAhead = 32;

// So many keys and fewer are sorted by insertion.
constexpr ptrdiff_t kInsertion = 24;

template <IndexOrder order>
uint64_t key_of(uint32_t source, uint32_t destination) {
  return uint64_t{index_of<order>(source)} << 32 | index_of<order>(destination);
}

template <size_t N>
void occurrences_to_places(std::array<uint32_t, N>& table) {
  uint32_t place = 0;
  for (uint32_t& entry : table) {
    const uint32_t occurrences = entry;
    entry = place;
    place += occurrences;
  }
}

// One radix pass: key i goes to the next place of its digit.
template <class KeyAt, class Shift, size_t N>
void scatter_by_digit(KeyAt key_at, size_t n, Shift shift, std::array<uint32_t, N>& places, uint64_t* to) {
  const auto place_of = [&](uint64_t key) -> uint32_t& { return places[key >> shift & (N - 1)]; };
  size_t i = 0;
  for (; i + kFetchAhead < n; ++i) {
    __builtin_prefetch(to + place_of(key_at(i + kFetchAhead)), 1);
    const uint64_t key = key_at(i);
    to[place_of(key)++] = key;
  }
  for (; i < n; ++i) {
    const uint64_t key = key_at(i);
    to[place_of(key)++] = key;
  }
}

template <IndexOrder order>
bool sample_is_flat(const uint32_t* source, size_t n) {
  std::array<uint16_t, kCells> cells{};
  uint32_t pairs = 0;
  const size_t step = n / kSample;
  for (size_t i = 0; i < kSample; ++i) {
    const uint32_t top_bits = index_of<order>(source[i * step]) >> kSourceTieShift;
    pairs += cells[top_bits * 0x9E3779B1u >> 20]++;  // multiplicative hashing by the golden ratio: 12 bits
  }
  return pairs <= kFlatPairs;
}

// Keys are in order of the bits above `shift`. A key below the one before it shows a run of equal bits to be sorted.
void sort_tied_runs(uint64_t* keys, size_t n, int shift, hwy::Sorter& vector_sort) {
  uint64_t* const keys_end = keys + n;
  for (uint64_t* at = keys + 1; at < keys_end;) {
    if (at[0] >= at[-1]) {
      ++at;
      continue;
    }
    const uint64_t tied_bits = at[0] >> shift;
    uint64_t* begin = at - 1;
    uint64_t* end = at + 1;
    while (begin > keys && begin[-1] >> shift == tied_bits) --begin;
    while (end < keys_end && end[0] >> shift == tied_bits) ++end;
    sort_keys(begin, end, vector_sort);
    at = end;
  }
}

}  // namespace

void sort_keys(uint64_t* begin, uint64_t* end, hwy::Sorter& vector_sort) noexcept {
  if (end - begin > kInsertion) {
    vector_sort(begin, static_cast<size_t>(end - begin), hwy::SortAscending());
    return;
  }
  for (uint64_t* next = begin + 1; next < end; ++next) {
    const uint64_t key = *next;
    uint64_t* hole = next;
    for (; hole > begin && hole[-1] > key; --hole) *hole = hole[-1];
    *hole = key;
  }
}

bool sources_are_flat(const uint32_t* source, size_t n, IndexOrder order) noexcept {
  if (n < kSample) return false;
  return order == IndexOrder::numeric ? sample_is_flat<IndexOrder::numeric>(source, n)
                                      : sample_is_flat<IndexOrder::raw>(source, n);
}

PairSorter::PairSorter(size_t capacity)
    : capacity_(capacity),
      memory_(2 * LazyMemory::bytes_of<uint64_t>(capacity)),
      keys_(memory_.take<uint64_t>(capacity)),
      other_keys_(memory_.take<uint64_t>(capacity)) {}

uint64_t* PairSorter::sort(const uint32_t* source, const uint32_t* destination, size_t n, IndexOrder order) noexcept {
  assert(n <= capacity_);
  return order == IndexOrder::numeric ? sort_as<IndexOrder::numeric>(source, destination, n)
                                      : sort_as<IndexOrder::raw>(source, destination, n);
}

template <IndexOrder order>
uint64_t* PairSorter::sort_as(const uint32_t* source, const uint32_t* destination, size_t n) noexcept {
  const auto key_at = [=](size_t i) { return key_of<order>(source[i], destination[i]); };
  if (!sources_are_flat(source, n, order)) {
    for (size_t i = 0; i < n; ++i) keys_[i] = key_at(i);
    if (n > 1) vector_sort_(keys_, n, hwy::SortAscending());
    return keys_;
  }
  if (n >= kFewestInParts) return sort_parts<order>(source, destination, n);
  // The shift is a constant, so that what only counts digits reads no destinations.
  radix_sort(key_at, n, std::integral_constant<int, kTieShift>(), other_keys_, keys_);
  return keys_;
}

// Parts have the space of the first one between their two passes: it stays in cache, and the rest of keys_ untouched.
template <IndexOrder order>
uint64_t* PairSorter::sort_parts(const uint32_t* source, const uint32_t* destination, size_t n) noexcept {
  const int bits = std::min(static_cast<int>(std::bit_width(n)) - 1 - kPartBits, kMostPartsBits);
  std::array<uint32_t, 1 << kMostPartsBits> places{};
  for (size_t i = 0; i < n; ++i) ++places[index_of<order>(source[i]) >> (32 - bits)];
  occurrences_to_places(places);
  scatter_by_digit([=](size_t i) { return key_of<order>(source[i], destination[i]); }, n, 64 - bits, places,
                   other_keys_);
  uint32_t begin = 0;
  for (const uint32_t end : std::span(places).first(size_t{1} << bits)) {  // places have moved to their parts' ends
    uint64_t* const part = other_keys_ + begin;
    radix_sort([part](size_t i) { return part[i]; }, end - begin, kTieShift - bits, keys_, part);
    begin = end;
  }
  return other_keys_;
}

// Sorts by the 22 bits above `shift`, between which and the top all keys are equal, then those that are tied. `sorted`
// may be where they come from.
template <class KeyAt, class Shift>
void PairSorter::radix_sort(KeyAt key_at, size_t n, Shift shift, uint64_t* between, uint64_t* sorted) noexcept {
  low_places_.fill(0);
  high_places_.fill(0);
  for (size_t i = 0; i < n; ++i) {
    ++low_places_[key_at(i) >> shift & (kDigits - 1)];
    ++high_places_[key_at(i) >> (shift + kDigitBits) & (kDigits - 1)];
  }
  occurrences_to_places(low_places_);
  occurrences_to_places(high_places_);
  scatter_by_digit(key_at, n, shift, low_places_, between);
  scatter_by_digit([between](size_t i) { return between[i]; }, n, shift + kDigitBits, high_places_, sorted);
  sort_tied_runs(sorted, n, shift, vector_sort_);
}

}  // namespace trama
