"""What the tests of the Python package share: the runs and publishers of the end-to-end tests, archives, and what GraphBLAS
makes of blobs."""
import pathlib
import time

import streams
import support
import trama

LONG_S = 120  # for what must come; a test that passes doesn't wait for it


class PackageTest(streams.StreamTest):
    def setUp(self):
        super().setUp()
        self.url = self.ipc

    def start_run(self, publish='', url=None, compact=False):
        """A run that reads packets from standard input, archives and publishes."""
        kind = {'archive': None, 'encoding': 'compact'} if compact else {}
        return super().start_run(publish, url=url or self.url, **kind)

    def subscribe(self, **options):
        """Ends with the test. From the first window on, unless said."""
        subscriber = trama.subscribe(self.url, **{'start': trama.ALL, **options})
        self.addCleanup(subscriber.close)
        return subscriber

    def wait_until(self, condition):
        end = time.monotonic() + LONG_S
        while not condition():
            self.assertLess(time.monotonic(), end, 'waited too long')
            time.sleep(0.01)

    def assert_cells(self, got, expected):
        """Windows as cells() gives them. Says which differ, not how: a diff of so much takes minutes."""
        self.assertEqual(len(got), len(expected))
        self.assertEqual([number for number, pair in enumerate(zip(got, expected)) if pair[0] != pair[1]], [], 'windows differ')

    def archives(self, windows, window_packets=1000, per_archive=64, model='zipf', seed=1, out='archives'):
        """A folder of archives of synthetic traffic."""
        graph = self.write('synthetic.toml', f'''
[graph]
window_packets = {window_packets}
links = ["synthetic -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> archive"]
[stages.synthetic]
packets = {windows * window_packets}
model = "{model}"
seed = {seed}
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.archive]
windows_per_archive = {per_archive}
'''.encode())
        folder = self.folder / out
        self.trama('run', '-q', graph, '-w', folder, '--key', self.key_file())
        return folder


def cells(window):
    """{(row, column): value} of a window, by its arrays."""
    return {(row, column): count for row, column, count in zip(*(array.tolist() for array in window.pairs()))}


def cells_of_blobs(folder):
    """The same of every window of a folder, as GraphBLAS' own deserializer has it."""
    return [support.open_blob(blob) for *_, blob in support.blobs_in(folder)]


def resident_bytes():
    pages = int(pathlib.Path('/proc/self/statm').read_text().split()[1])
    return pages * 4096
