// A traffic matrix in memory: hypersparse, by row, only rows that have entries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trama {

// One window as the engine makes it: a view of 32-bit arrays, sorted by (row, column) without duplicates.
// Row row[i] holds the entries start[i] .. start[i + 1] of `column` and `count`. Indices are 0 .. 2^32 - 1.
struct HyperCsr {
  std::span<const uint32_t> row;     // strictly ascending
  std::span<const uint32_t> start;   // row.size() + 1 values; start[0] = 0, the last one is column.size()
  std::span<const uint32_t> column;  // strictly ascending within a row
  std::span<const uint32_t> count;   // packets of each entry, at least 1
  size_t rows() const { return row.size(); }
  size_t links() const { return column.size(); }
};

// A matrix that owns its arrays, of any number of windows: what readers get. The same shape as HyperCsr.
struct Matrix {
  std::vector<uint32_t> row;
  std::vector<uint64_t> start{0};
  std::vector<uint32_t> column;
  std::vector<uint64_t> count;
  size_t rows() const { return row.size(); }
  size_t links() const { return column.size(); }
  bool operator==(const Matrix&) const = default;
};

}  // namespace trama
