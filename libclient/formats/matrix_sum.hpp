// Sums of traffic matrices: the time hierarchy, and the total of an archive or of many.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "libclient/formats/matrix.hpp"

namespace trama {

inline uint64_t add_saturating(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

// A window as a matrix of its own.
Matrix to_matrix(const HyperCsr& window);

// Counts of equal links are added, and stop at 2^64 - 1. Both must keep the rules of HyperCsr (matrix.hpp).
Matrix add_matrices(const Matrix& a, const Matrix& b);

// Sums any number of matrices. They meet in pairs, pairs of pairs and so on, like the digits of a binary counter, so
// that n of them cost n log n and not n²; at most log2 n partial sums are held.
class MatrixSum {
 public:
  void add(Matrix matrix);
  // The sum of all since the last take(); empty if there were none.
  Matrix take();

 private:
  struct Partial {
    Matrix matrix;
    size_t level;  // holds 2^level matrices
  };
  std::vector<Partial> partials_;  // levels fall from front to back
};

}  // namespace trama
