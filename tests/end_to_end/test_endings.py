"""However a run ends, what was received is counted, and what was whole stays readable."""
import contextlib
import gzip
import json
import lzma
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap


class LastWindow(TramaTest):
    PACKETS = [ethernet(ipv4(0x0A000000 + i % 50, 0xC0000200 + i % 4)) for i in range(2500)]

    def windows(self, out):
        return [(e['packets'], e['closed_by']) for manifest in support.manifests_in(out) for e in manifest['windows']]

    def test_end_of_file(self):
        summary, out = self.run_job(self.write('a.pcap', pcap(self.PACKETS)), '--window-packets', 1000)
        self.assertEqual(self.windows(out), [(1000, 'full'), (1000, 'full'), (500, 'end')])
        self.assertEqual(summary['windows'], {'full': 2, 'partial': 1})

    def test_told_to_stop_while_a_writer_stalls(self):
        for stop in (signal.SIGTERM, signal.SIGINT):
            out = self.folder / f'out-{stop}'
            run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', '-', '-w', out, '--window-packets', '1000', '--summary', '-'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            run.stdin.write(pcap(self.PACKETS))  # and no end of file
            run.stdin.flush()
            self.wait_for_windows(out, 2)
            self.wait_until_read(run.stdin)  # the last 500 packets show nowhere else yet
            run.send_signal(stop)
            run.wait(timeout=60)  # standard input stays open: the end of the file must not win
            stdout, stderr = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 3, stderr)  # a file input was interrupted
            summary = json.loads(stdout)
            self.assertEqual([i['status'] for i in summary['inputs']], ['interrupted'])
            self.assertEqual(self.windows(out), [(1000, 'full'), (1000, 'full'), (500, 'end')])

    def test_told_to_stop_right_behind_a_writer(self):
        """What was written into a pipe before the signal is counted, whether it was read by then or not; what was
        written of a packet in part is not."""
        pack = {'plain': lambda data: data, 'gzip': gzip.compress, 'xz': lzma.compress}
        for name, packed in ((n, p(pcap(self.PACKETS[:1000]))) for n, p in pack.items()):
            for cut in (0, 20):
                with self.subTest(name=name, cut=cut):
                    fifo = self.folder / f'{name}-{cut}'
                    os.mkfifo(fifo)
                    run = subprocess.Popen([support.TRAMA, 'run', '-r', fifo, '-w', self.folder / f'out-{name}-{cut}',
                                            '--no-anonymize', '--summary', '-', '--window-packets', '300'],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(run.kill)
                    writer = open(fifo, 'wb', buffering=0)  # waits for the run to open it; then it is under way
                    writer.write(packed[:100])
                    self.wait_until_read(writer)
                    run.send_signal(signal.SIGSTOP)
                    writer.write(packed[100:len(packed) - cut])
                    run.send_signal(signal.SIGTERM)
                    run.send_signal(signal.SIGCONT)  # the rest and the signal are there when it looks
                    stdout, stderr = run.communicate(timeout=60)  # the writer is still there
                    writer.close()
                    self.assertEqual(run.returncode, 3, stderr)
                    summary = json.loads(stdout)
                    self.assertEqual([i['status'] for i in summary['inputs']], ['interrupted'])
                    counted = summary['packets']['counted']
                    if cut == 0:
                        self.assertEqual(counted, 1000)
                    elif name == 'plain':
                        self.assertEqual(counted, 999)
                    self.assertEqual(counted, sum(packets for packets, _ in self.windows(self.folder / f'out-{name}-{cut}')))

    def wait_for_windows(self, out, count):
        for _ in range(600):
            logs = list(out.glob('*.log')) if out.exists() else []
            if logs and logs[0].read_bytes().count(b'\n') >= count + 1:
                return
            time.sleep(0.05)
        self.fail('no window was written')

    def test_a_second_signal_ends_at_once(self):
        run = subprocess.Popen([support.TRAMA, 'run', '-r', '-', '-w', self.folder / 'out'],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        run.stderr.readline()  # the note on the key: it runs
        run.send_signal(signal.SIGSTOP)
        run.send_signal(signal.SIGTERM)
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGCONT)  # both are there when it looks
        _, stderr = run.communicate(timeout=30)
        self.assertIn(run.returncode, (128 + signal.SIGTERM, 128 + signal.SIGINT), stderr)

    def test_packets_after_the_last_window_are_the_tail(self):
        packets = self.PACKETS[:1000] + [ethernet(bytes(28), 0x0806)] * 7
        summary, out = self.run_job(self.write('a.pcap', pcap(packets)), '--window-packets', 500, '--windows-per-archive', 2)
        manifest, = support.manifests_in(out)
        self.assertEqual([w['verdicts']['not_ip'] for w in manifest['windows']], [0, 0])
        self.assertEqual(manifest['tail']['verdicts']['not_ip'], 7)
        self.assertEqual(summary['packets']['not_ip'], 7)

    def test_nothing_counted_means_no_archive(self):
        summary, out = self.run_job(self.write('a.pcap', pcap([ethernet(bytes(28), 0x0806)] * 7)))
        self.assertEqual((summary['packets']['seen'], summary['packets']['not_ip'], summary['archives']), (7, 7, []))
        self.assertEqual(support.archives_in(out), [])

    def test_a_writer_that_stalls_between_any_two_bytes(self):
        data = pcap(self.PACKETS[:3])
        for cut in range(0, len(data), 1 if support.LONG else 13):
            with self.subTest(cut=cut):
                run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', '-', '-w', self.folder / f'out{cut}', '--summary', '-'],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                run.stdin.write(data[:cut])
                run.stdin.flush()
                time.sleep(0.01)
                stdout, _ = run.communicate(data[cut:], timeout=60)
                self.assertEqual((run.returncode, json.loads(stdout)['packets']['counted']), (0, 3))


class Killed(TramaTest):
    @staticmethod
    def written(out):
        """Bytes of the archives so far, whole or not."""
        bytes_ = 0
        for path in [*out.glob('*.part'), *out.glob('*.tar')]:
            with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
                bytes_ += path.stat().st_size
        return bytes_

    def test_kill_9_at_random_moments(self):
        """Every window that a journal or a manifest names is whole after recovery, with its metadata."""
        packets = [ethernet(ipv4(self.random.randrange(1 << 32), i)) for i in range(200)] * 400
        capture = self.write('a.pcap', pcap(packets))
        interrupted = 0
        for attempt in range(50 if support.LONG else 12):
            out = self.folder / f'out{attempt}'
            run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', capture, '-w', out, '--key', self.key_file(),
                                    '--window-packets', '200', '--windows-per-archive', '100'],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # At a moment of the run's own time, so that it lies inside however fast the machine is: when so much is
            # written (of 1.6 MB), and a little later.
            much = self.random.randrange(1_800_000)
            while run.poll() is None and self.written(out) < much:
                pass
            time.sleep(self.random.random() / 500)
            run.kill()
            run.wait(timeout=30)
            if not out.exists():
                continue
            named = []  # windows that must be whole
            for log in sorted(out.glob('*.log')):
                interrupted += 1
                lines = log.read_bytes().split(b'\n')[1:-1]  # after the header; what follows the last newline is cut
                named += [json.loads(line) for line in lines]
            for manifest in out.glob('*.tar.json'):
                named += json.loads(manifest.read_text())['windows']
            for part in sorted(out.glob('*.part')):
                self.trama('verify', '--recover', part, code=None)
            # Killed between making an archive and its journal: recovery leaves that alone for a minute.
            left = [p for p in out.iterdir() if p.suffix in ('.part', '.log')]
            self.assertEqual([p for p in left if p.stat().st_size > 0], [])
            if support.archives_in(out):
                self.trama('verify', out)
            found = {e['seq']: e for manifest in support.manifests_in(out) for e in manifest['windows']}
            self.assertEqual(found, {e['seq']: e for e in named}, self.id_with_seed())
            for _, _, blob in support.blobs_in(out):
                self.assertEqual(sum(support.open_blob(blob).values()), 200)
        self.assertGreater(interrupted, 0)


class Outputs(TramaTest):
    PACKETS = [ethernet(ipv4(i * 2654435761 % 2**32, i * 40503 % 2**32)) for i in range(120000)]

    def test_full_disk(self):
        if os.geteuid() != 0 or subprocess.run(['unshare', '-m', 'true'], capture_output=True).returncode != 0:
            self.skipTest('needs to mount a tmpfs in a mount namespace of its own')
        capture = self.write('a.pcap', pcap(self.PACKETS))
        small = self.folder / 'small'
        small.mkdir()
        kept = self.folder / 'kept'
        script = (f'mount -t tmpfs -o size=1m none {small} && '
                  f'{support.TRAMA} run -q -r {capture} -w {small} --window-packets 5000 --no-anonymize; code=$?; '
                  f'cp -r {small} {kept}; exit $code')
        done = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn('No space left on device', done.stderr)
        self.assertRegex(done.stderr, 'window [0-9]+')
        if list(kept.glob('*.part')):
            self.trama('verify', '--recover', kept, code=None)
        self.trama('verify', kept)
        cells = [support.open_blob(blob) for _, _, blob in support.blobs_in(kept)]
        self.assertGreater(len(cells), 2)
        self.assertTrue(all(sum(c.values()) == 5000 for c in cells))

    def test_folder_is_made_or_refused(self):
        capture = self.write('a.pcap', pcap(self.PACKETS[:10]))
        self.run_job(capture, out=self.folder / 'new' / 'and' / 'deeper')
        not_a_folder = self.write('file', b'')
        done = self.trama('run', '-r', capture, '-w', not_a_folder, code=2)
        self.assertIn('not a folder', done.stderr)
        done = self.trama('run', '-r', capture, '-w', '/proc/nowhere', code=None)
        self.assertIn(done.returncode, (1, 2))
        self.assertIn('/proc', done.stderr)

    def test_two_runs_at_once_keep_all_their_files(self):
        capture = self.write('a.pcap', pcap(self.PACKETS[:5000]))
        out = self.folder / 'out'
        runs = [subprocess.Popen([support.TRAMA, 'run', '-q', '-r', capture, '-w', out, '--window-packets', '100',
                                  '--windows-per-archive', '5'], stderr=subprocess.PIPE) for _ in range(4)]
        for run in runs:
            _, stderr = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, stderr)
        self.assertEqual(len(support.archives_in(out)), 4 * 10)
        self.assertEqual(len(list(out.iterdir())), 2 * 4 * 10)
        packets = sum(e['packets'] for manifest in support.manifests_in(out) for e in manifest['windows'])
        self.assertEqual(packets, 4 * 5000)
        self.trama('verify', out)

    def test_eight_runs_share_no_home(self):
        capture = self.write('a.pcap', pcap(self.PACKETS[:2000]))
        for home in ('/nonexistent', None):
            environment = {k: v for k, v in os.environ.items() if k != 'HOME'}
            if home:
                environment['HOME'] = home
            runs = [subprocess.Popen([support.TRAMA, 'run', '-q', '-r', capture, '-w', self.folder / f'o{home}{i}'],
                                     env=environment, stderr=subprocess.PIPE) for i in range(8)]
            for run in runs:
                _, stderr = run.communicate(timeout=120)
                self.assertEqual(run.returncode, 0, stderr)


class Memory(TramaTest):
    @unittest.skipIf(support.SANITIZED, 'sanitizers have memory of their own')
    def test_memory_does_not_grow_with_the_input(self):
        """Anonymous memory after a part of a long input through a pipe, and after ten times as much."""
        body = pcap([ethernet(ipv4(i * 2654435761 % 2**32, i)) + bytes(30) for i in range(20000)])
        header, body = body[:24], body[24:]
        total = (5 << 30) if support.LONG else (1000 << 20)
        marks = [total // 5, total]  # by the first one every buffer has been used
        run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', '-', '-w', self.folder / 'out', '--windows-per-archive', '4'],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdin.write(header)
        sent, sizes = 0, []
        for mark in marks:
            while sent < mark:
                run.stdin.write(body)
                sent += len(body)
                if support.LONG:
                    for archive in support.archives_in(self.folder / 'out'):
                        archive.unlink()
            sizes.append(self.anonymous_kb(run.pid))
        run.stdin.close()
        run.stdin = None
        _, stderr = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, stderr)
        print(f'anonymous memory: {sizes[0]} kB after {marks[0] >> 20} MiB, {sizes[1]} kB after {marks[1] >> 20} MiB', file=sys.stderr)
        self.assertLess(sizes[1], sizes[0] * 1.25 + 8192)  # buffers are touched one after the other
        self.assertLess(sizes[1], 200_000)

    @staticmethod
    def anonymous_kb(pid):
        for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
            if line.startswith('RssAnon:'):
                return int(line.split()[1])


if __name__ == '__main__':
    unittest.main()
