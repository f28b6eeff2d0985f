#include "modules/support/graphblas_writer.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

// Debian's GraphBLAS.h of 7.4 has no guard for C++.
extern "C" {
#include <GraphBLAS.h>
}

namespace trama {
namespace {

constexpr GrB_Index kDimension = GrB_Index{1} << 32;

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    GrB_init(GrB_NONBLOCKING);  // an error means that the process has started it before, which is as good
    GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 1);  // the engine's workers are the threads
  });
}

int method(Compression compression) {
  switch (compression) {
    case Compression::none: return GxB_COMPRESSION_NONE;
    case Compression::lz4: return GxB_COMPRESSION_LZ4;
    case Compression::zstd: return GxB_COMPRESSION_ZSTD + 1;
  }
  return GxB_COMPRESSION_NONE;
}

// A copy that GraphBLAS may free: its arrays come from malloc, and its indices have 64 bits.
template <class To>
void* widened(std::span<const uint32_t> from, size_t& bytes) {
  bytes = from.size() * sizeof(To);
  auto* to = static_cast<To*>(std::malloc(bytes == 0 ? sizeof(To) : bytes));
  if (to == nullptr) return nullptr;
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i];
  return to;
}

bool all_equal(std::span<const uint32_t> counts) {
  for (const uint32_t count : counts)
    if (count != counts.front()) return false;
  return !counts.empty();
}

// Null when the library or memory failed.
GrB_Matrix import_matrix(const HyperCsr& from) {
  const bool iso = all_equal(from.count);
  size_t start_bytes = 0, row_bytes = 0, column_bytes = 0, count_bytes = 0;
  void* count = widened<uint32_t>(iso ? from.count.first(1) : from.count, count_bytes);
  void* starts = widened<GrB_Index>(from.start, start_bytes);
  void* rows = widened<GrB_Index>(from.row, row_bytes);
  void* columns = widened<GrB_Index>(from.column, column_bytes);
  GrB_Matrix matrix = nullptr;
  if (count != nullptr && starts != nullptr && rows != nullptr && columns != nullptr) {
    auto* start_array = static_cast<GrB_Index*>(starts);
    auto* row_array = static_cast<GrB_Index*>(rows);
    auto* column_array = static_cast<GrB_Index*>(columns);
    // On success the library owns the arrays and sets these pointers to null.
    GxB_Matrix_import_HyperCSR(&matrix, GrB_UINT32, kDimension, kDimension, &start_array, &row_array, &column_array,
                               &count, start_bytes, row_bytes, column_bytes, count_bytes, iso, from.rows(), false,
                               nullptr);
    starts = start_array;
    rows = row_array;
    columns = column_array;
  }
  for (void* left : {count, starts, rows, columns}) std::free(left);
  return matrix;
}

}  // namespace

size_t GraphBlasWriter::write(const HyperCsr& from, std::span<uint8_t> out) noexcept {
  start_library();
  GrB_Matrix matrix = import_matrix(from);
  if (matrix == nullptr) return 0;
  GrB_Descriptor descriptor = nullptr;
  void* blob = nullptr;
  GrB_Index bytes = 0;
  bool written = GrB_Descriptor_new(&descriptor) == GrB_SUCCESS &&
                 GxB_Desc_set(descriptor, GxB_COMPRESSION, method(compression_)) == GrB_SUCCESS &&
                 GxB_Matrix_serialize(&blob, &bytes, matrix, descriptor) == GrB_SUCCESS && bytes <= out.size();
  if (written) std::memcpy(out.data(), blob, bytes);
  std::free(blob);
  GrB_Descriptor_free(&descriptor);
  GrB_Matrix_free(&matrix);
  return written ? bytes : 0;
}

}  // namespace trama
