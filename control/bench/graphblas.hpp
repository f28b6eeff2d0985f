// The published way from pairs to a blob: GrB_Matrix_build and GxB_Matrix_serialize of SuiteSparse:GraphBLAS, as
// measured by Jones et al., "GraphBLAS on the Edge: Anonymized High Performance Streaming of Network Traffic" (IEEE
// HPEC 2022). The baseline of `trama bench` and of tests/bench.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct GB_Matrix_opaque;
struct GB_Descriptor_opaque;

namespace trama {

// Starts the library in this process, with one thread a call, if that has not been done. False: it can't be used.
bool start_graphblas();
// Threads (OpenMP) that the library uses in each call, for the whole process.
bool set_graphblas_threads(size_t threads);

// malloc as that way wants it: big blocks are kept, not given back to the system and cleared again for each window.
// For the whole process, and only good for measuring.
void tune_malloc();

// One window after the other. One thread at a time. start_graphblas() comes first.
class GraphBlasWindow {
 public:
  explicit GraphBlasWindow(size_t most_packets);
  ~GraphBlasWindow();
  GraphBlasWindow(const GraphBlasWindow&) = delete;
  GraphBlasWindow& operator=(const GraphBlasWindow&) = delete;

  // Makes the GrB_UINT32 matrix of 2^32 x 2^32 of n pairs, n <= most_packets, in the place of the one before. False if
  // the library failed.
  bool build(const uint64_t* source, const uint64_t* destination, size_t n);
  size_t links() const;
  // Its blob, LZ4; valid until the next call. Empty if the library failed.
  std::span<const uint8_t> serialize();

 private:
  void free_matrix();
  void free_blob();

  std::vector<uint32_t> ones_;
  GB_Matrix_opaque* matrix_ = nullptr;
  GB_Descriptor_opaque* descriptor_ = nullptr;
  void* blob_ = nullptr;
  size_t blob_bytes_ = 0;
};

}  // namespace trama
