// Puts a matrix whose addresses have been replaced by others back into order.
//
// Summing a window's pairs first and anonymizing each source and each link once leaves the matrix in the order of the
// original addresses. Rows are few, and most have a link or two: sorting them again costs less than anonymizing every
// packet where pairs repeat much.
#pragma once
#include <hwy/contrib/sort/vqsort.h>

#include <cstddef>
#include <cstdint>

#include "modules/support/traffic_matrix.hpp"

namespace trama {

// Scratch of one replica: one call at a time. Objects share nothing.
class MatrixSorter {
 public:
  // Capacity: links, 1 .. 2^28. Throws std::bad_alloc; memory is touched only as far as matrices reach.
  explicit MatrixSorter(size_t capacity);

  // `unsorted` is a HyperCsr in every respect but the order of its rows and of the columns of a row; each row stands in
  // it once, and so does each column in a row. Its addresses are numbers: 1.2.3.4 is 0x01020304. Its links are no more
  // than both capacities. Does not allocate.
  void sort(const HyperCsr& unsorted, IndexOrder order, MatrixStorage& out) noexcept;

 private:
  template <IndexOrder order>
  void sort_as(const HyperCsr& unsorted, MatrixStorage& out) noexcept;
  template <IndexOrder order>
  void sort_row(const HyperCsr& unsorted, size_t from, size_t links, uint32_t* column, uint32_t* count) noexcept;

  hwy::Sorter vector_sort_;  // holds the quicksort's own buffer
  LazyMemory memory_;
  uint64_t* rows_;   // row << 32 | where it stands
  uint64_t* links_;  // of one row: column << 32 | count
};

}  // namespace trama
