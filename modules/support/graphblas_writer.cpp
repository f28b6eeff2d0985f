#include "modules/support/graphblas_writer.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "libclient/formats/graphblas_matrix.hpp"

// Debian's GraphBLAS.h of 7.4 has no guard for C++.
extern "C" {
#include <GraphBLAS.h>
}

namespace trama {
namespace {

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

}  // namespace

size_t GraphBlasWriter::write(const HyperCsr& from, std::span<uint8_t> out) noexcept {
  start_library();
  GrB_Matrix matrix = to_graphblas(from);
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
