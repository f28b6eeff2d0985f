#!/usr/bin/env python3
"""Adds the windows of an archive, or of a folder of archives, with GraphBLAS: total.py matrices"""
import sys

import trama
from suitesparse_graphblas import check_status, ffi, initialize, is_initialized, lib

if not is_initialized():
    initialize()


def main() -> None:
    total = ffi.gc(ffi.new('GrB_Matrix*'), lib.GrB_Matrix_free)
    check_status(total, lib.GrB_Matrix_new(total, lib.GrB_UINT64, 1 << 32, 1 << 32))
    windows = 0
    for window in trama.read(sys.argv[1]):
        matrix = window.graphblas()
        check_status(total, lib.GrB_Matrix_eWiseAdd_BinaryOp(total[0], ffi.NULL, ffi.NULL, lib.GrB_PLUS_UINT64, total[0],
                                                             matrix[0], ffi.NULL))
        windows += 1
    links, packets = ffi.new('GrB_Index*'), ffi.new('uint64_t*')
    check_status(total, lib.GrB_Matrix_nvals(links, total[0]))
    check_status(total, lib.GrB_Matrix_reduce_UINT64(packets, ffi.NULL, lib.GrB_PLUS_MONOID_UINT64, total[0], ffi.NULL))
    print(f'{windows} windows: {packets[0]} packets in {links[0]} links')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('total.py ARCHIVE|FOLDER')
    try:
        main()
    except trama.Error as error:
        sys.exit(str(error))
