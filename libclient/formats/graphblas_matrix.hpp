// A traffic matrix as a GrB_Matrix. In a library of its own, trama_client_graphblas, so that nobody else needs
// GraphBLAS.
#pragma once
#include "libclient/formats/matrix.hpp"

struct GB_Matrix_opaque;  // GrB_Matrix is a pointer to it

namespace trama {

// A new GrB_UINT32 matrix, 2^32 × 2^32, by row, hypersparse; the caller frees it with GrB_Matrix_free. The caller has
// called GrB_init, with malloc and free as its allocator. Arrays are widened and handed over, nothing is sorted or
// built. Null when memory or the library fails.
GB_Matrix_opaque* to_graphblas(const HyperCsr& matrix);

}  // namespace trama
