#include "libclient/formats/matrix_sum.hpp"

#include <algorithm>
#include <utility>

namespace trama {
namespace {

// Merges rows of two matrices into a third one. It is made as long as both together and cut at the end: most rows have
// one or two links, and growing four arrays by so little costs more than the merge.
class Merger {
 public:
  Merger(const Matrix& a, const Matrix& b) {
    sum_.row.resize(a.rows() + b.rows());
    sum_.start.resize(a.rows() + b.rows() + 1);
    sum_.column.resize(a.links() + b.links());
    sum_.count.resize(a.links() + b.links());
  }

  void copy_row(const Matrix& from, size_t row) {
    const auto end = static_cast<size_t>(from.start[row + 1]);
    for (auto i = static_cast<size_t>(from.start[row]); i < end; ++i) put(from.column[i], from.count[i]);
    end_row(from.row[row]);
  }

  void merge_rows(const Matrix& a, size_t row_a, const Matrix& b, size_t row_b) {
    auto i = static_cast<size_t>(a.start[row_a]), j = static_cast<size_t>(b.start[row_b]);
    const auto end_a = static_cast<size_t>(a.start[row_a + 1]), end_b = static_cast<size_t>(b.start[row_b + 1]);
    while (i < end_a && j < end_b) {
      const uint32_t column_a = a.column[i], column_b = b.column[j];
      const uint64_t count_a = column_a <= column_b ? a.count[i++] : 0;
      const uint64_t count_b = column_b <= column_a ? b.count[j++] : 0;
      put(std::min(column_a, column_b), add_saturating(count_a, count_b));
    }
    for (; i < end_a; ++i) put(a.column[i], a.count[i]);
    for (; j < end_b; ++j) put(b.column[j], b.count[j]);
    end_row(a.row[row_a]);
  }

  Matrix take() {
    sum_.row.resize(rows_);
    sum_.start.resize(rows_ + 1);
    sum_.column.resize(links_);
    sum_.count.resize(links_);
    return std::move(sum_);
  }

 private:
  void put(uint32_t column, uint64_t count) {
    sum_.column[links_] = column;
    sum_.count[links_++] = count;
  }
  void end_row(uint32_t row) {
    sum_.row[rows_++] = row;
    sum_.start[rows_] = links_;
  }
  Matrix sum_;
  size_t rows_ = 0, links_ = 0;
};

}  // namespace

Matrix to_matrix(const HyperCsr& window) {
  Matrix matrix;
  matrix.row.assign(window.row.begin(), window.row.end());
  if (!window.start.empty()) matrix.start.assign(window.start.begin(), window.start.end());
  matrix.column.assign(window.column.begin(), window.column.end());
  matrix.count.assign(window.count.begin(), window.count.end());
  return matrix;
}

Matrix add_matrices(const Matrix& a, const Matrix& b) {
  Merger merger(a, b);
  size_t i = 0, j = 0;
  while (i < a.rows() && j < b.rows()) {
    if (a.row[i] < b.row[j]) {
      merger.copy_row(a, i++);
    } else if (b.row[j] < a.row[i]) {
      merger.copy_row(b, j++);
    } else {
      merger.merge_rows(a, i++, b, j++);
    }
  }
  while (i < a.rows()) merger.copy_row(a, i++);
  while (j < b.rows()) merger.copy_row(b, j++);
  return merger.take();
}

void MatrixSum::add(Matrix matrix) {
  size_t level = 0;
  for (; !partials_.empty() && partials_.back().level == level; ++level) {
    matrix = add_matrices(partials_.back().matrix, matrix);
    partials_.pop_back();
  }
  partials_.push_back({std::move(matrix), level});
}

Matrix MatrixSum::take() {
  Matrix sum;
  for (; !partials_.empty(); partials_.pop_back()) {
    sum = sum.links() == 0 ? std::move(partials_.back().matrix) : add_matrices(partials_.back().matrix, sum);
  }
  return sum;
}

}  // namespace trama
