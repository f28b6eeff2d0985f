#include "libclient/formats/graphblas_matrix.hpp"
#include "libclient/trama_graphblas.h"

extern "C" GrB_Info trama_window_matrix(GrB_Matrix* matrix, const trama_window* window) {
  if (matrix == nullptr) return GrB_NULL_POINTER;
  *matrix = nullptr;
  if (window == nullptr) return GrB_NULL_POINTER;
  // Asks whether GrB_init has been called; the import would fail without it, but not say why.
  GrB_Mode mode;
  if (GxB_Global_Option_get(GxB_MODE, &mode) != GrB_SUCCESS) return GrB_PANIC;
  const size_t rows = trama_window_n_rows(window), links = trama_window_n_links(window);
  const trama::HyperCsr arrays{{trama_window_rows(window), rows},
                               {trama_window_starts(window), rows + 1},
                               {trama_window_columns(window), links},
                               {trama_window_counts(window), links}};
  *matrix = trama::to_graphblas(arrays);
  return *matrix != nullptr ? GrB_SUCCESS : GrB_OUT_OF_MEMORY;
}
