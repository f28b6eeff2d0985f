// Sorts the (source, destination) pairs of one window as 64-bit keys, source << 32 | destination.
//
// Two ways, chosen for each window by a sample of its sources:
// * flat: a radix sort of the top 22 bits only, two passes of 11 bits from the low end (Knuth, The Art of Computer
//   Programming, vol. 3, 5.2.5). In a window of 2^17 pairs with evenly spread sources, 22 bits leave few ties; a last
//   pass sorts the runs that are tied and out of order. A window of 2^22 pairs and more is first divided by its topmost
//   bits into 256 parts at most, which the second cache holds if sources are spread over all addresses; each part is
//   sorted so by the 22 bits that follow. Where most are in one part, dividing is a pass in vain.
// * skewed, or small: the vector quicksort of Google Highway (Blacher, Giesen, Wassenberg et al., "Vectorized and
//   performance-portable Quicksort", 2022). It wins where ties are long, since equal keys end its recursion early.
// The result is the same either way: keys have no identity but their value.
#pragma once
#include <hwy/contrib/sort/vqsort.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "modules/support/lazy_memory.hpp"

namespace trama {

// The index of address 1.2.3.4 (in memory as the number 0x01020304) in a matrix.
enum class IndexOrder : uint8_t {
  numeric,  // 0x01020304: a prefix is a range of indices
  raw,      // 0x04030201: what tools write that take the header field as a little-endian number
};

template <IndexOrder order>
constexpr uint32_t index_of(uint32_t address) {
  return order == IndexOrder::raw ? __builtin_bswap32(address) : address;
}

// Sorts keys in place: a few by insertion, more by the vector quicksort.
void sort_keys(uint64_t* begin, uint64_t* end, hwy::Sorter& vector_sort) noexcept;

// By a sample of the top 22 bits of their indices: no source is much more frequent than chance has it. False for fewer
// than 2048. Reads n elements at most.
bool sources_are_flat(const uint32_t* source, size_t n, IndexOrder order) noexcept;

// Sort space for windows of up to `capacity` pairs. Belongs to one replica: one call at a time. Objects share nothing.
class PairSorter {
 public:
  // Throws std::bad_alloc. Memory is touched only as far as windows reach.
  explicit PairSorter(size_t capacity);

  // The n keys in ascending order; n <= capacity. They stand in this object until the next call, and the caller may
  // overwrite them and kSlack elements on either side. Reads exactly n elements of `source` and of `destination`.
  uint64_t* sort(const uint32_t* source, const uint32_t* destination, size_t n, IndexOrder order) noexcept;

 private:
  static constexpr int kDigitBits = 11;
  static constexpr size_t kDigits = size_t{1} << kDigitBits;

  // Both return where the keys are.
  template <IndexOrder order>
  uint64_t* sort_as(const uint32_t* source, const uint32_t* destination, size_t n) noexcept;
  template <IndexOrder order>
  uint64_t* sort_parts(const uint32_t* source, const uint32_t* destination, size_t n) noexcept;
  template <class KeyAt, class Shift>
  void radix_sort(KeyAt key_at, size_t n, Shift shift, uint64_t* between, uint64_t* sorted) noexcept;

  size_t capacity_;
  hwy::Sorter vector_sort_;  // holds the quicksort's own buffer
  LazyMemory memory_;
  uint64_t* keys_;
  uint64_t* other_keys_;                      // after the first pass
  std::array<uint32_t, kDigits> low_places_;  // of a digit: how often it occurs, then where its next key goes
  std::array<uint32_t, kDigits> high_places_;
};

}  // namespace trama
