/* Windows as GrB_Matrix, for programs that use SuiteSparse:GraphBLAS. In a library of its own, libtrama-graphblas: the
 * rest of libtrama does without GraphBLAS.
 *
 * The program itself starts GraphBLAS (GrB_init) and ends it, before and after all calls here, and there is only the
 * GraphBLAS that the program has: nothing here starts it, sets an option of it, or keeps a matrix. */
#ifndef TRAMA_GRAPHBLAS_H
#define TRAMA_GRAPHBLAS_H
#include "trama.h"

#ifdef __cplusplus
extern "C" {
#endif
#include <GraphBLAS.h>

/* A new matrix, GrB_UINT32, 2^32 x 2^32, by row, hypersparse; the caller frees it with GrB_Matrix_free, and may free
 * the window before. *matrix is NULL after an error, which is one of GraphBLAS' own: GrB_NULL_POINTER when an argument
 * is NULL, GrB_PANIC when GrB_init wasn't called, GrB_OUT_OF_MEMORY. The arrays are handed over, not copied by
 * GraphBLAS: its allocator must be malloc's (a program that gave GxB_init another one gets its matrices from
 * GrB_Matrix_build and the arrays of the window). */
GrB_Info trama_window_matrix(GrB_Matrix* matrix, const trama_window* window);

#ifdef __cplusplus
}
#endif
#endif
