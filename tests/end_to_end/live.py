"""Live capture from a network namespace of the test's own: a run under way, and who sends."""
import json
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import support
from network import Network
from support import TramaTest, ethernet, ipv4, pcap


def numbered(count, first=0):
    """Packets whose source addresses are consecutive numbers."""
    return [ethernet(ipv4(first + i, 0xC0A80001)) for i in range(count)]


class LiveRun:
    """`trama run` under way; made when it captures."""

    def __init__(self, test, *arguments, interfaces=('v1',)):
        self.out = pathlib.Path(tempfile.mkdtemp(dir=test.folder)) / 'out'
        self.test = test
        self.lines = []
        inputs = [word for interface in interfaces for word in ('-i', interface)]
        self.process = test.net.start(support.TRAMA, 'run', *inputs, '-w', self.out, '--summary', '-', *arguments,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.process.kill)
        for interface in interfaces:
            self.wait_for('listening on ' + interface.split(':')[-1].split(',')[0])

    def wait_for(self, words):
        give_up = threading.Timer(60, self.process.kill)
        give_up.start()
        self.test.addCleanup(give_up.cancel)
        while not any(words in line for line in self.lines):
            line = self.process.stderr.readline()
            self.lines.append(line)
            if not line:
                self.test.fail(f'no word of `{words}`: {"".join(self.lines)}')
        give_up.cancel()

    def wait_for_windows(self, count):
        for _ in range(1200):
            logs = list(self.out.glob('*.log')) if self.out.exists() else []
            if sum(log.read_bytes().count(b'\n') - 1 for log in logs) >= count:
                return
            time.sleep(0.05)
        self.test.fail('no window was written')

    def end(self, code=0):
        """Waits for its end: the summary."""
        stdout, stderr = self.process.communicate(timeout=support.TIMEOUT_S)
        self.stderr = ''.join(self.lines) + stderr
        self.test.assertNotIn('Sanitizer', self.stderr)
        self.test.assertNotIn('runtime error:', self.stderr)
        if code is not None:
            self.test.assertEqual(self.process.returncode, code, self.stderr)
        self.summary = json.loads(stdout)
        return self.summary

    def stop(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        return self.end(code)

    def windows(self):
        return [window for manifest in support.manifests_in(self.out) for window in manifest['windows']]

    def matrices(self):
        return [support.open_blob(blob) for _, _, blob in support.blobs_in(self.out)]


class LiveTest(TramaTest):
    AS_USER = False

    def setUp(self):
        super().setUp()
        self.net = Network(self.AS_USER)
        self.addCleanup(self.net.close)
        try:
            self.net.add_pair('v0', 'v1')
        except AssertionError as error:
            self.skipTest(f'no pair of interfaces here: {error}')

    def send(self, packets, times=1, interface='v0'):
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.write(pcap(packets))
            file.flush()
            return self.net.send(interface, file.name, times)
