"""What the tests of the Python package share: publishers that are real runs, archives, and what GraphBLAS makes of blobs."""
import pathlib
import subprocess
import time

import support
import trama
from support import TramaTest, ethernet, ipv4, pcap

LONG_S = 120  # for what must come; a test that passes doesn't wait for it


class StreamTest(TramaTest):
    WINDOW = 1000

    def setUp(self):
        super().setUp()
        self.url = f'trama+ipc://{self.folder / "socket"}'

    def start_run(self, publish='', url=None, compact=False):
        """A run that reads packets from standard input, archives and publishes."""
        graph = self.write('g.toml', f'''
[graph]
window_packets = {self.WINDOW}
links = ["pcap -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> {'' if compact else 'archive, '}publish"]
[stages.pcap]
files = ["-"]
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
{'[stages.serialize]' if compact else '[stages.archive]'}
{'encoding = "compact"' if compact else f'directory = "{self.folder / "out"}"'}
[stages.publish]
url = "{url or self.url}"
sensor = "roof"
{publish}
'''.encode())
        run = subprocess.Popen([support.TRAMA, 'run', graph, '--key', self.key_file()], cwd=self.folder,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        run.stdin.write(pcap([]))
        run.stdin.flush()
        self.sent = 0
        return run

    def send_windows(self, run, count):
        for _ in range(count):
            first_ns = support.T0 * 10**9 + self.sent * self.WINDOW * 1000
            packets = [(ethernet(ipv4(0x0A000000 + (self.sent * 7 + i * i) % 500, 0xC0000200 + i % 9)), first_ns + i * 1000)
                       for i in range(self.WINDOW)]
            run.stdin.write(pcap(packets)[24:])
            self.sent += 1
        run.stdin.flush()

    def end(self, run):
        _, stderr = run.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(run.returncode, 0, stderr)

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
