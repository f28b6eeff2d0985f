"""A window as a matrix of the GraphBLAS that the process has already: that of the package suitesparse_graphblas."""
from __future__ import annotations

import threading
import typing

import numpy as np

from ._error import Error

if typing.TYPE_CHECKING:
    import numpy.typing as npt

    from ._trama import Window

_DIMENSION = 1 << 32
_initializing = threading.Lock()


def _library() -> typing.Any:
    try:
        import suitesparse_graphblas  # type: ignore[import]
    except ImportError as error:
        raise Error(f'no GraphBLAS for Python: {error}',
                    'install python3-suitesparse-graphblas (Debian) or suitesparse-graphblas (PyPI)') from None
    with _initializing:
        if not suitesparse_graphblas.is_initialized():
            suitesparse_graphblas.initialize()
    return suitesparse_graphblas


def _values(counts: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.uint32], bool]:
    """A copy, and whether it stands for all of them: GraphBLAS keeps one value of entries that are all equal."""
    iso = len(counts) > 0 and bool((counts == counts[0]).all())
    return (counts[:1] if iso else counts).copy(), iso


def matrix_of(window: Window) -> typing.Any:
    """A cffi `GrB_Matrix*`: GrB_UINT32, 2^32 x 2^32, by row, hypersparse. Freed when Python lets it go."""
    library = _library()
    ffi, lib = library.ffi, library.lib
    values, iso = _values(window.counts)
    arrays: list[npt.NDArray[typing.Any]] = [
        window.starts.astype(np.uint64), window.rows.astype(np.uint64), window.columns.astype(np.uint64), values]
    pointers = [ffi.new(kind, ffi.from_buffer(kind[:-1], array))
                for kind, array in zip(('GrB_Index**', 'GrB_Index**', 'GrB_Index**', 'void**'), arrays)]
    matrix = ffi.new('GrB_Matrix*')
    info = lib.GxB_Matrix_import_HyperCSR(
        matrix, lib.GrB_UINT32, _DIMENSION, _DIMENSION, *pointers, *(max(array.nbytes, 1) for array in arrays), iso,
        len(window.rows), False, ffi.NULL)
    if info != lib.GrB_SUCCESS:
        raise Error(f'GraphBLAS does not take window {window.seq}: {info}')
    # From here on they are GraphBLAS', which frees them as NumPy would have.
    for array in arrays:
        library.utils.unclaim_buffer(array)
    return ffi.gc(matrix, lib.GrB_Matrix_free, sum(array.nbytes for array in arrays))
