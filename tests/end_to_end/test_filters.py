"""Filter modules in a run: what they keep out, and lists that change in the middle of it."""
import os
import pathlib
import signal
import subprocess
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap

MODULES = pathlib.Path(os.environ.get('TRAMA_FILTERS') or pathlib.Path(support.TRAMA).parent / 'filters')
INSIDE, OUTSIDE, FAR = 0x0A000001, 0x0B000001, 0xC0000201


class Filters(TramaTest):
    def test_lists_change_between_two_packets(self):
        """Ranges and map contents of two modules change at once; each packet is judged by the old or the new ones."""
        ranges = self.write('ranges', b'10.0.0.0/8\n')
        wanted = self.write('wanted', b'ports: any = 1\n')
        graph = self.write('graph.toml', f'''
[graph]
links = ["pcap -> privacy -> ports -> parse -> stamp -> anonymize -> build -> serialize -> archive"]
[stages.pcap]
files = ["-"]
[stages.privacy]
kind = "xdp"
object = "{MODULES}/privacy_ranges.bpf.o"
files = ["{ranges}"]
[stages.ports]
kind = "xdp"
object = "{MODULES}/ports.bpf.o"
map_files = ["{wanted}"]
[stages.archive]
directory = "out"
'''.encode())
        packets = [ethernet(ipv4(source, FAR, b'payload')) for source in (INSIDE, OUTSIDE, OUTSIDE)]
        run = subprocess.Popen([support.TRAMA, 'run', graph, '--key', self.key_file()], cwd=self.folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdin.write(pcap(packets))
        run.stdin.flush()
        self.wait_until_read(run.stdin)
        said = []

        def reload_and_send():
            run.send_signal(signal.SIGUSR2)
            while not said or not ('again' in said[-1] or 'stay' in said[-1]):
                said.append(run.stderr.readline().decode())
            run.stdin.write(pcap(packets)[24:])
            run.stdin.flush()
            self.wait_until_read(run.stdin)

        ranges.write_bytes(b'11.0.0.0/8\n')
        reload_and_send()
        said.append('')
        ranges.write_bytes(b'11.0.0.0/33\n')  # wrong: all stays as it was
        wanted.write_bytes(b'none\n')
        reload_and_send()
        said.append('')
        ranges.write_bytes(b'none\n')
        reload_and_send()
        _, rest = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, rest)
        self.assertIn('ranges:1', ''.join(said))

        manifest, = support.manifests_in(self.folder / 'out')
        seen = [(w['packets'], w['closed_by'], w['verdicts']['excluded'], w['verdicts']['filtered'])
                for w in manifest['windows']]
        # 10/8: one of three is kept out. 11/8: two are, twice. Then no range, and no port.
        self.assertEqual(seen, [(2, 'exclusions', 1, 0), (2, 'exclusions', 4, 0)])
        self.assertEqual(manifest['tail']['verdicts']['filtered'], 3)
        digests = [w['exclusions'] for w in manifest['windows']]
        self.assertNotEqual(*digests)
        for digest in digests:
            self.assertRegex(digest, '^[0-9a-f]{16}$')

    def test_the_same_bytes_for_any_number_of_replicas(self):
        capture = self.write('a.pcap', pcap(support.mixed_packets(3000, self.random)))
        results = []
        for options in ([], ['--workers', 1], ['--workers', 3, '--replicas', 'filter_1=3', '--replicas', 'parse=3']):
            summary, out = self.run_job(capture, '--key', self.key_file(), '--window-packets', 100, '--filter',
                                        MODULES / 'sample.bpf.o', '--filter', MODULES / 'privacy_ranges.bpf.o',
                                        '--set', 'stages.filter_1.maps=["one_in: 0 = 2"]',
                                        '--set', 'stages.filter_2.ranges=["10.0.0.16/28"]', *options)
            results.append((summary['packets'], support.everything_in(out)))
            self.assertGreater(summary['packets']['filtered'], 0)
            self.assertGreater(summary['packets']['excluded'], 0)
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])


if __name__ == '__main__':
    unittest.main()
