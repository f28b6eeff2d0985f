// Blobs by the GraphBLAS library itself: slower, and what the direct writer is held against.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "libclient/formats/blob.hpp"
#include "libclient/formats/matrix.hpp"

namespace trama {

// Any number of objects, one thread at a time each. The first one calls GrB_init for the process, unless the process
// has done so already; each call uses one thread of the library.
class GraphBlasWriter {
 public:
  explicit GraphBlasWriter(Compression compression) : compression_(compression) {}

  // As BlobWriter::write: the blob's length, or 0 if the library failed or `out` is too short. Allocates.
  size_t write(const HyperCsr& matrix, std::span<uint8_t> out) noexcept;

 private:
  Compression compression_;
};

}  // namespace trama
