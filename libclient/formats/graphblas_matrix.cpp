#include "libclient/formats/graphblas_matrix.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

// Debian's GraphBLAS.h of 7.4 has no guard for C++.
extern "C" {
#include <GraphBLAS.h>
}

namespace trama {
namespace {

constexpr GrB_Index kDimension = GrB_Index{1} << 32;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
template <class To>
struct Copied {
  std::unique_ptr<To, Free> memory;
  GrB_Index bytes;
};

// GraphBLAS takes arrays over and frees them: they come from malloc, and its indices have 64 bits.
template <class To>
Copied<To> widened(std::span<const uint32_t> from) {
  const size_t bytes = from.size() * sizeof(To);
  Copied<To> to{std::unique_ptr<To, Free>(static_cast<To*>(std::malloc(std::max(bytes, sizeof(To))))), bytes};
  if (to.memory) std::copy(from.begin(), from.end(), to.memory.get());
  return to;
}

}  // namespace

GB_Matrix_opaque* to_graphblas(const HyperCsr& from) {
  const bool iso = !from.count.empty() && std::all_of(from.count.begin(), from.count.end(),
                                                      [&](uint32_t count) { return count == from.count.front(); });
  auto starts = widened<GrB_Index>(from.start), rows = widened<GrB_Index>(from.row),
       columns = widened<GrB_Index>(from.column);
  auto counts = widened<uint32_t>(iso ? from.count.first(1) : from.count);
  if (!starts.memory || !rows.memory || !columns.memory || !counts.memory) return nullptr;

  GrB_Index *start = starts.memory.get(), *row = rows.memory.get(), *column = columns.memory.get();
  void* count = counts.memory.get();
  GrB_Matrix matrix = nullptr;
  const GrB_Info info = GxB_Matrix_import_HyperCSR(&matrix, GrB_UINT32, kDimension, kDimension, &start, &row, &column,
                                                   &count, starts.bytes, rows.bytes, columns.bytes, counts.bytes, iso,
                                                   from.rows(), false, nullptr);
  // It sets the pointers of arrays that it has taken to null.
  if (start == nullptr) (void)starts.memory.release();
  if (row == nullptr) (void)rows.memory.release();
  if (column == nullptr) (void)columns.memory.release();
  if (count == nullptr) (void)counts.memory.release();
  return info == GrB_SUCCESS ? matrix : nullptr;
}

}  // namespace trama
