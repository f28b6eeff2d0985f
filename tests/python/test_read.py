"""Archives in Python: windows, their arrays, matrices of GraphBLAS, and how long their memory is there."""
import datetime
import gc
import json
import os
import sys
import unittest
import weakref

import numpy as np
import packages
import support
import trama
from packages import PackageTest
from suitesparse_graphblas import ffi, lib


def extracted(matrix):
    """{(row, column): value} of a GrB_Matrix*."""
    size = ffi.new('GrB_Index*')
    assert lib.GrB_Matrix_nvals(size, matrix[0]) == lib.GrB_SUCCESS
    rows, columns = np.empty(size[0], np.uint64), np.empty(size[0], np.uint64)
    values = np.empty(size[0], np.uint32)
    assert lib.GrB_Matrix_extractTuples_UINT32(
        ffi.from_buffer('GrB_Index*', rows), ffi.from_buffer('GrB_Index*', columns), ffi.from_buffer('uint32_t*', values),
        size, matrix[0]) == lib.GrB_SUCCESS
    return dict(zip(zip(rows.tolist(), columns.tolist()), values.tolist()))


class Read(PackageTest):
    def test_windows_are_those_of_the_archives(self):
        folder = self.archives(windows=7, per_archive=3)
        windows = list(trama.read(folder))
        entries = [w for manifest in support.manifests_in(folder) for w in manifest['windows']]
        self.assertEqual(len(entries), 7)
        for window, entry in zip(windows, entries, strict=True):
            for name in ('seq', 'packets', 'links', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(getattr(window, name), entry[name], name)
            self.assertEqual((window.missed, window.restarted, window.encoding), (0, False, 'blob'))
            self.assertEqual((window.index_order, window.anonymization), ('numeric', 'crypto-pan-aes128'))
            self.assertEqual(len(window.serialized), entry['bytes'])
        self.assert_cells([packages.cells(window) for window in windows], packages.cells_of_blobs(folder))
        inspected = json.loads(self.trama('inspect', '--json', folder).stdout)['windows']
        for window, quantities in zip(windows, inspected, strict=True):
            self.assertEqual([window.counts.sum(), len(window.columns), len(window.rows), len(np.unique(window.columns))],
                             [quantities[name] for name in ('n_packets', 'n_links', 'n_sources', 'n_destinations')])

    def test_one_archive_is_read_as_its_part_of_the_folder(self):
        folder = self.archives(windows=5, per_archive=2)
        numbers = [[window.seq for window in trama.read(archive)] for archive in support.archives_in(folder)]
        self.assertEqual(numbers, [[0, 1], [2, 3], [4]])
        self.assertEqual([window.seq for window in trama.read(os.fspath(folder), start=trama.last(3))], [2, 3, 4])

    def test_times_are_exact_and_in_utc(self):
        folder = self.archives(windows=3)
        windows = list(trama.read(folder))
        for window in windows:
            self.assertEqual(window.first_time.utcoffset(), datetime.timedelta(0))
            epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
            self.assertEqual((window.first_time - epoch) // datetime.timedelta(microseconds=1), window.first_ns // 1000)
            self.assertEqual((window.last_time - epoch) // datetime.timedelta(microseconds=1), window.last_ns // 1000)
        second = windows[1]
        east = datetime.timezone(datetime.timedelta(hours=9))
        for time in (second.first_time, second.first_time.astimezone(east), second.first_ns, second.last_ns):
            self.assertEqual([w.seq for w in trama.read(folder, start=trama.since(time))], [1, 2])
        self.assertEqual([w.seq for w in trama.read(folder, start=trama.since(second.last_ns + 1))], [2])
        with self.assertRaisesRegex(ValueError, 'zone'):
            trama.since(datetime.datetime(2026, 1, 1))

    def test_runs_follow_each_other(self):
        folder = self.archives(windows=2)
        first = next(folder.glob('*.tar'))
        later = first.name.replace('2023', '2024')
        for suffix in ('', '.json'):
            os.link(f'{first}{suffix}', folder / f'{later}{suffix}')
        self.assertEqual([(w.seq, w.restarted) for w in trama.read(folder)], [(0, False), (1, False), (0, True), (1, False)])

    def test_what_is_damaged_is_told_behind_what_is_not(self):
        folder = self.archives(windows=4, per_archive=2)
        archive = support.archives_in(folder)[0]
        data = bytearray(archive.read_bytes())
        data[512 + 200] ^= 1  # in the first blob
        archive.write_bytes(data)
        windows = trama.read(folder)
        self.assertEqual([next(windows).seq for _ in range(3)], [1, 2, 3])
        with self.assertRaisesRegex(trama.Error, '1 of its archives or windows could not be read') as caught:
            next(windows)
        self.assertIn('trama verify', caught.exception.hint)
        archive.with_name(archive.name + '.json').unlink()
        with self.assertRaisesRegex(trama.Error, 'has no manifest'):
            list(trama.read(archive))

    def test_what_is_not_there(self):
        for path in (self.folder / 'nowhere', '/dev/null'):
            with self.assertRaisesRegex(trama.Error, 'neither a folder nor a file') as caught:
                trama.read(path)
            self.assertTrue(caught.exception.hint)


class Arrays(PackageTest):
    def test_arrays_are_views_that_outlive_everything(self):
        folder = self.archives(windows=2)
        window, *_ = trama.read(folder)
        names = ('rows', 'starts', 'columns', 'counts', 'serialized')
        arrays = [getattr(window, name) for name in names]
        for array, again in zip(arrays, (getattr(window, name) for name in names)):
            self.assertTrue(np.shares_memory(array, again))
            self.assertFalse(array.flags.writeable or array.flags.owndata)
            self.assertIs(array.base, window)
            with self.assertRaises(ValueError):
                array[0] = 1
            with self.assertRaises(ValueError):
                array.setflags(write=True)
        self.assertEqual([array.dtype for array in arrays], ['u4', 'u4', 'u4', 'u4', 'u1'])
        expected = [array.tolist() for array in arrays]
        buffers = [memoryview(array) for array in arrays]
        self.assertTrue(all(buffer.readonly for buffer in buffers))
        del window, array, again, arrays
        gc.collect()
        others = [w.counts.copy() for w in trama.read(folder) for _ in range(50)]  # would lie where freed memory was
        self.assertTrue([buffer.tolist() for buffer in buffers] == expected)
        del others

    def test_a_window_goes_with_its_last_array(self):
        window, *_ = trama.read(self.archives(windows=1))
        before = sys.getrefcount(window)
        arrays = [window.rows, window.counts, window.rows[1:]]
        self.assertEqual(sys.getrefcount(window), before + 3)  # a slice holds the array it is of
        kept = arrays.pop()
        del arrays
        self.assertEqual(sys.getrefcount(window), before + 1)
        del kept
        self.assertEqual(sys.getrefcount(window), before)
        pairs = window.pairs()
        self.assertIs(pairs.counts.base, window)

    def test_matrices_are_those_of_the_deserializer(self):
        folder = self.archives(windows=3)
        same = self.write('same.pcap', support.pcap([support.ethernet(support.ipv4(i, i + 1)) for i in range(50)]))
        _, iso = self.run_job(same, '--key', self.key_file(), '--window-packets', 50)
        for place in (folder, iso):  # in the latter all counts are equal
            matrices = [window.graphblas() for window in trama.read(place)]
            self.assert_cells([extracted(matrix) for matrix in matrices], packages.cells_of_blobs(place))
        size = ffi.new('GrB_Index*')
        lib.GrB_Matrix_nrows(size, matrices[0][0])
        self.assertEqual(size[0], 1 << 32)
        # They are whole for GraphBLAS, too, and can be worked with.
        self.assertEqual(lib.GxB_Matrix_fprint(matrices[0][0], b'', lib.GxB_SILENT, ffi.NULL), lib.GrB_SUCCESS)
        total = ffi.new('uint64_t*')
        reduced = lib.GrB_Matrix_reduce_UINT64(total, ffi.NULL, lib.GrB_PLUS_MONOID_UINT64, matrices[0][0], ffi.NULL)
        self.assertEqual((reduced, total[0]), (lib.GrB_SUCCESS, 50))

    def test_a_matrix_is_freed_with_its_handle_and_can_be_freed_before(self):
        window, *_ = trama.read(self.archives(windows=1))
        matrix = window.graphblas()
        gone = weakref.ref(matrix)
        del matrix
        self.assertIsNone(gone())
        matrix = window.graphblas()
        self.assertEqual(lib.GrB_Matrix_free(matrix), lib.GrB_SUCCESS)
        del matrix

    def test_memory_does_not_grow(self):
        folder = self.archives(windows=8, window_packets=1 << 16, model='uniform')
        per_pass = 8 * 3 * 4 * (1 << 16)  # of arrays alone

        def one_pass():
            for window in trama.read(folder):
                window.rows, window.pairs(), window.graphblas(), window.serialized

        for _ in range(3):
            one_pass()
        before = packages.resident_bytes()
        for _ in range(20):
            one_pass()
        self.assertLess(packages.resident_bytes() - before, 4 * per_pass)  # what 4 of 20 passes would leave behind


if __name__ == '__main__':
    unittest.main()
