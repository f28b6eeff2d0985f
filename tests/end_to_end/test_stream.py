"""Matrix streams between real processes: what subscribers get is what archives hold, and what they don't get is said."""
import json
import pathlib
import select
import signal
import subprocess
import time
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap


class Stream(TramaTest):
    WINDOW = 1000

    def graph(self, publish):
        """A graph file that reads from standard input, archives and publishes."""
        return self.write('g.toml', f'''
[graph]
window_packets = {self.WINDOW}
links = ["pcap -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> archive, publish"]
[stages.pcap]
files = ["-"]
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.archive]
directory = "{self.folder / 'out'}"
[stages.publish]
url = "trama+ipc://{self.folder / 'socket'}"
sensor = "roof"
{publish}
'''.encode())

    def start_run(self, publish=''):
        run = subprocess.Popen([support.TRAMA, 'run', self.graph(publish), '--key', self.key_file()], cwd=self.folder,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(run.kill)
        run.stdin.write(pcap([]))
        run.stdin.flush()
        self.sent = 0
        return run

    def send_windows(self, run, count):
        for _ in range(count):
            packets = [ethernet(ipv4(0x0A000000 + (self.sent * 7 + i * i) % 500, 0xC0000200 + i % 9)) for i in range(self.WINDOW)]
            run.stdin.write(pcap(packets)[24:])
            self.sent += 1
        run.stdin.flush()

    def subscribe(self, *arguments):
        subscriber = subprocess.Popen([support.TRAMA, 'subscribe', '--json', '-q', f'trama+ipc://{self.folder / "socket"}', *arguments],
                                      cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      bufsize=0)  # lines are read one by one, and what is left by communicate()
        self.addCleanup(subscriber.kill)
        return subscriber

    def end(self, run):
        _, stderr = run.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(run.returncode, 0, stderr)
        return stderr.decode()

    def windows_of(self, subscriber, code=0):
        stdout, stderr = subscriber.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(subscriber.returncode, code, stderr)
        return [json.loads(line) for line in stdout.splitlines()]

    def test_windows_are_those_of_the_archives(self):
        run = self.start_run()
        subscribers = [self.subscribe('--last', '1000'), self.subscribe('--last', '1000', '-w', 'copy')]
        windows = []
        for _ in range(3):
            self.send_windows(run, 1)
            lines = [json.loads(subscriber.stdout.readline()) for subscriber in subscribers]
            self.assertEqual(lines[0], lines[1])
            windows.append(lines[0])
        self.end(run)
        for subscriber in subscribers:
            self.assertEqual(self.windows_of(subscriber), [])
        entries = [w for manifest in support.manifests_in(self.folder / 'out') for w in manifest['windows']]
        self.assertEqual([w['seq'] for w in windows], [0, 1, 2])
        for window, entry in zip(windows, entries):
            self.assertEqual((window['missed'], window['restarted'], window['sensor']), (0, False, 'roof'))
            for key in ('seq', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(window[key], entry[key], key)
        inspected = json.loads(self.trama('inspect', '--json', self.folder / 'out').stdout)['windows']
        for window, quantities in zip(windows, inspected):
            for key in ('n_packets', 'n_links', 'n_sources', 'n_destinations', 'max_packets', 'max_fan_in', 'max_fan_out'):
                self.assertEqual(window[key], quantities[key], key)
        self.trama('verify', self.folder / 'copy')
        self.assertEqual([blob for *_, blob in support.blobs_in(self.folder / 'copy')],
                         [blob for *_, blob in support.blobs_in(self.folder / 'out')])

    def test_a_stopped_subscriber_loses_its_own_windows_only(self):
        run = self.start_run('queue = 4\nlinger = 60')
        stopped, quick = self.subscribe('--ahead', '2'), self.subscribe()
        first = {}
        for name, subscriber in (('stopped', stopped), ('quick', quick)):  # both are there when they have had a window
            while name not in first:
                self.send_windows(run, 1)
                time.sleep(0.05)
                if self.has_output(subscriber):
                    first[name] = json.loads(subscriber.stdout.readline())
        stopped.send_signal(signal.SIGSTOP)
        before = self.sent
        last = first['quick']['seq']
        for _ in range(40):
            self.send_windows(run, 1)
            while last < self.sent - 1:
                window = json.loads(quick.stdout.readline())
                self.assertEqual((window['seq'], window['missed']), (last + 1, 0))
                last = window['seq']
        stopped.send_signal(signal.SIGCONT)
        self.end(run)
        self.windows_of(quick)
        rest = self.windows_of(stopped, code=3)
        got = [first['stopped'], *rest]
        for window, next_window in zip(got, got[1:]):
            self.assertEqual(next_window['seq'], window['seq'] + 1 + next_window['missed'])
        self.assertEqual(got[-1]['seq'], self.sent - 1)
        self.assertGreaterEqual(sum(w['missed'] for w in rest), self.sent - before - 2 - 4 - 2)
        self.assertEqual(sum(len(m['windows']) for m in support.manifests_in(self.folder / 'out')), self.sent)

    @staticmethod
    def has_output(process):
        return bool(select.select([process.stdout], [], [], 0)[0])

    def test_a_publisher_that_is_killed_is_followed_by_the_next(self):
        run = self.start_run()
        subscriber = self.subscribe('--last', '1000')
        self.send_windows(run, 1)
        self.assertEqual(json.loads(subscriber.stdout.readline())['seq'], 0)
        run.kill()
        run.communicate(timeout=60)
        again = self.start_run()
        self.send_windows(again, 2)
        windows = [json.loads(subscriber.stdout.readline()) for _ in range(2)]
        self.assertEqual([(w['seq'], w['missed'], w['restarted']) for w in windows], [(0, 0, True), (1, 0, False)])
        self.end(again)
        self.assertEqual(self.windows_of(subscriber), [])

    def test_nobody_is_let_in_from_other_machines_without_keys(self):
        capture = self.write('a.pcap', pcap([ethernet(ipv4(1, 2))]))
        graph = pathlib.Path(self.graph('')).read_text().replace(f'trama+ipc://{self.folder / "socket"}', 'trama+tcp://0.0.0.0:0/x')
        done = self.trama('run', self.write('open.toml', graph.encode()), '-r', capture, '--key', self.key_file(), code=2)
        self.assertIn('insecure = true', done.stderr)
        self.assertIn('server_key_file', done.stderr)


if __name__ == '__main__':
    unittest.main()
