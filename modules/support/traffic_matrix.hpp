// From the (source, destination) pairs of one window to its matrix: sorted, duplicates summed, hypersparse by row.
//
//   MatrixStorage storage(131072);   // one for each message of the pool
//   MatrixBuilder builder(131072);   // one for each replica
//   builder.build(source, destination, n, IndexOrder::numeric, storage);
//   HyperCsr matrix = storage.view();
//
// Pairs are sorted as 64-bit keys (pair_sort.hpp). One pass over the sorted keys keeps the first of each run of equal
// ones, with its position; one pass over what is left keeps the first link of each source. The packets of a link are
// the distance between two positions. All three loops use Google Highway, with the instruction set chosen at run time;
// the arrays are the same on all of them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "libclient/formats/matrix.hpp"
#include "modules/support/lazy_memory.hpp"
#include "modules/support/pair_sort.hpp"

namespace trama {

// Arrays of one window's matrix, allocated once for up to `capacity` pairs; the storage behind a TrafficMatrix message.
// Whoever fills it writes the arrays (each with kSlack elements before and after), then says how much is there. Moved
// from, it can only be assigned to or destroyed.
class MatrixStorage {
 public:
  // Throws std::bad_alloc. Memory is touched only as far as matrices reach.
  explicit MatrixStorage(size_t capacity);

  size_t capacity() const { return capacity_; }
  HyperCsr view() const;  // valid until the next change

  uint32_t* row() { return row_; }        // capacity() elements
  uint32_t* start() { return start_; }    // capacity() + 1 elements
  uint32_t* column() { return column_; }  // capacity() elements
  uint32_t* count() { return count_; }    // capacity() elements
  void set_size(size_t rows, size_t links);

 private:
  size_t capacity_;
  size_t rows_ = 0;
  size_t links_ = 0;
  LazyMemory memory_;
  uint32_t* row_;
  uint32_t* start_;
  uint32_t* column_;
  uint32_t* count_;
};

// Scratch of one replica: one call at a time. Objects share nothing.
class MatrixBuilder {
 public:
  // Capacity is 1 .. 2^28 pairs. Throws std::bad_alloc; memory is touched only as far as windows reach.
  explicit MatrixBuilder(size_t capacity);

  // The matrix of n pairs, n <= both capacities; n = 0 gives an empty one. Addresses are numbers: 1.2.3.4 is
  // 0x01020304. Reads exactly n elements of both arrays. Does not allocate.
  void build(const uint32_t* source, const uint32_t* destination, size_t n, IndexOrder order,
             MatrixStorage& out) noexcept;

 private:
  PairSorter sorter_;
  LazyMemory memory_;
  uint32_t* position_;  // of each link's first key
};

}  // namespace trama
