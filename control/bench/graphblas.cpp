#include "control/bench/graphblas.hpp"

#include <malloc.h>

#include <cstdlib>

// Debian's GraphBLAS.h of 7.4 has no guard for C++.
extern "C" {
#include <GraphBLAS.h>
}

namespace trama {
namespace {
constexpr GrB_Index kSide = GrB_Index{1} << 32;
}

bool start_graphblas() {
  // GrB_INVALID_VALUE: somebody in this process has started it already.
  static const GrB_Info started = GrB_init(GrB_NONBLOCKING);
  return (started == GrB_SUCCESS || started == GrB_INVALID_VALUE) && set_graphblas_threads(1);
}

bool set_graphblas_threads(size_t threads) {
  return GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, static_cast<int>(threads)) == GrB_SUCCESS;
}

void tune_malloc() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

GraphBlasWindow::GraphBlasWindow(size_t most_packets) : ones_(most_packets, 1) {
  if (GrB_Descriptor_new(&descriptor_) == GrB_SUCCESS) GxB_Desc_set(descriptor_, GxB_COMPRESSION, GxB_COMPRESSION_LZ4);
}

GraphBlasWindow::~GraphBlasWindow() {
  free_blob();
  free_matrix();
  GrB_Descriptor_free(&descriptor_);
}

void GraphBlasWindow::free_matrix() { GrB_Matrix_free(&matrix_); }

void GraphBlasWindow::free_blob() {
  std::free(blob_);
  blob_ = nullptr;
  blob_bytes_ = 0;
}

bool GraphBlasWindow::build(const uint64_t* source, const uint64_t* destination, size_t n) {
  free_matrix();
  return n <= ones_.size() && GrB_Matrix_new(&matrix_, GrB_UINT32, kSide, kSide) == GrB_SUCCESS &&
         GrB_Matrix_build_UINT32(matrix_, source, destination, ones_.data(), n, GrB_PLUS_UINT32) == GrB_SUCCESS;
}

size_t GraphBlasWindow::links() const {
  GrB_Index links = 0;
  return matrix_ != nullptr && GrB_Matrix_nvals(&links, matrix_) == GrB_SUCCESS ? links : 0;
}

std::span<const uint8_t> GraphBlasWindow::serialize() {
  free_blob();
  GrB_Index bytes = 0;
  if (matrix_ == nullptr || GxB_Matrix_serialize(&blob_, &bytes, matrix_, descriptor_) != GrB_SUCCESS) return {};
  blob_bytes_ = bytes;
  return {static_cast<const uint8_t*>(blob_), blob_bytes_};
}

}  // namespace trama
