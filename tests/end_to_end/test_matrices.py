"""Every cell of every matrix is right, whatever the schedule; verdicts add up; anonymization only relabels."""
import collections
import json
import shutil
import subprocess
import unittest

import independent
import support
from support import TramaTest, ethernet, ipv4, pcap


class Matrices(TramaTest):
    def judge(self, packets, window_packets, folder, summary, key=support.KEY, raw=False, excluded=None, first_seq=0):
        """Holds archives and manifests against the independent computation."""
        windows, tail = independent.windows_of(packets, window_packets, excluded or (lambda s, d: False))
        blobs = list(support.blobs_in(folder))
        entries = [entry for manifest in support.manifests_in(folder) for entry in manifest['windows']]
        self.assertEqual(len(blobs), len(windows))
        self.assertEqual([entry['seq'] for entry in entries], list(range(first_seq, first_seq + len(windows))))
        sums = collections.Counter()
        for window, (_, member, blob), entry in zip(windows, blobs, entries):
            cells = support.open_blob(blob)
            self.assertEqual(cells, independent.relabel(window.cells, key, raw))
            full = sum(window.cells.values()) == window_packets
            self.assertEqual(entry['closed_by'], 'full' if full else 'end')
            self.assertEqual(entry['member'], member)
            self.assertEqual(entry['bytes'], len(blob))
            self.assertEqual(entry['packets'], sum(window.cells.values()))
            self.assertEqual(entry['links'], len(window.cells))
            self.assertEqual((entry['first_ns'], entry['last_ns']), (min(window.times), max(window.times)))
            self.assertEqual(entry['verdicts'], {v: window.verdicts[v] for v in independent.VERDICTS})
            sums.update(entry['verdicts'])
        tails = [manifest['tail']['verdicts'] for manifest in support.manifests_in(folder)]
        for one in tails[:-1]:
            self.assertEqual(sum(one.values()), 0)
        if tails:
            self.assertEqual(tails[-1], {v: tail[v] for v in independent.VERDICTS})
            sums.update(tails[-1])
            said = summary['packets']
            self.assertEqual({v: said[v] for v in independent.VERDICTS}, {v: sums[v] for v in independent.VERDICTS})
        self.assertEqual(summary['packets']['seen'], sum(summary['packets'][v] for v in independent.VERDICTS))

    def test_every_cell_of_mixed_traffic(self):
        with self.subTest(seed=self.id_with_seed()):
            packets = support.mixed_packets(20000, self.random)
            capture = self.write('mixed.pcap', pcap(packets))
            decoded = list(independent.read_pcap(capture.read_bytes()))
            for window_packets in (1, 7, 1000, 1024, 1 << 20):
                few = decoded[:300] if window_packets == 1 else decoded
                part = self.write('part.pcap', pcap([p for _, p, _ in few]))
                few = list(independent.read_pcap(part.read_bytes()))
                for how in ([], ['--compression', 'zstd'], ['--compression', 'none'], ['--index-order', 'raw'],
                            ['--set', 'stages.serialize.writer="graphblas"'], ['--set', 'stages.serialize.lz4="library"']):
                    summary, out = self.run_job(part, '--key', self.key_file(), '--window-packets', window_packets, *how)
                    self.judge(few, window_packets, out, summary, raw='raw' in how)

    def test_exclusions_and_filter(self):
        packets = support.mixed_packets(5000, self.random)
        capture = self.write('mixed.pcap', pcap(packets))
        decoded = list(independent.read_pcap(capture.read_bytes()))
        inside = lambda a: a >> 5 == 0x0A000000 >> 5
        summary, out = self.run_job(capture, '--key', self.key_file(), '--window-packets', 500, '--exclude', '10.0.0.0/27')
        self.judge(decoded, 500, out, summary, excluded=lambda s, d: inside(s) or inside(d))
        self.assertEqual(summary['excluded_by']['range'], summary['packets']['excluded'])
        self.assertGreater(summary['packets']['excluded'], 0)

        summary, out = self.run_job(capture, '--key', self.key_file(), '--window-packets', 500, 'net', '10.0.0.64/26')
        self.assertGreater(summary['packets']['filtered'], 0)
        self.assertGreater(summary['packets']['counted'], 0)
        self.assertEqual(summary['packets']['seen'], 5000)
        self.assertEqual(sum(summary['packets'][v] for v in independent.VERDICTS), 5000)
        wanted = [(l, p, t) for l, p, t in decoded if independent.judge(l, p)[1] >> 6 == 0x0A000040 >> 6]
        right = sum(independent.judge(l, p)[0] == 'counted' and not self.tagged(p) for l, p, t in wanted)
        self.assertEqual(summary['packets']['counted'], right)  # as in tcpdump, `net` looks behind no tag

    @staticmethod
    def tagged(packet):
        return packet[12:14] == b'\x88\xa8'

    def test_edges_of_the_address_space(self):
        top = 2**32 - 1
        pairs = [(0, 0), (top, top), (0, top), (top, 0), (2**31 - 1, 2**31), (2**31, 2**31 - 1), (5, 5), (5, 5)]
        capture = self.write('edges.pcap', pcap([ipv4(*pair) for pair in pairs], link_type=101))
        summary, out = self.run_job(capture, '--no-anonymize')
        (_, _, blob), = support.blobs_in(out)
        self.assertEqual(support.open_blob(blob), dict(collections.Counter(pairs)))
        summary, out = self.run_job(capture, '--key', self.key_file())
        (_, _, blob), = support.blobs_in(out)
        cells = support.open_blob(blob)
        self.assertEqual(sorted(cells.values()), [1, 1, 1, 1, 1, 1, 2])
        self.assertEqual(sum(row == column for row, column in cells), 3)

    def test_one_cell_of_70000(self):
        capture = self.write('one.pcap', pcap([ethernet(ipv4(1, 2))] * 70000))
        _, out = self.run_job(capture, '--key', self.key_file())
        (_, _, blob), = support.blobs_in(out)
        self.assertEqual(list(support.open_blob(blob).values()), [70000])

    def test_anonymization_changes_no_count(self):
        capture = self.write('mixed.pcap', pcap(support.mixed_packets(5000, self.random)))
        quantities = []
        for how in (['--ephemeral-key'], ['--no-anonymize'], ['--key', self.key_file()], []):
            summary, out = self.run_job(capture, '--window-packets', 1000, *how)
            inspected = json.loads(self.trama('inspect', '--json', out).stdout)
            for window in inspected['windows']:
                window.pop('member')
            quantities.append((summary['packets'], inspected))
        for other in quantities[1:]:
            self.assertEqual(other, quantities[0])

    def test_known_quantities(self):
        rows, columns = [0, 0, 0, 0, 2, 2, 2, 3, 3, 3, 4, 4], [1, 2, 3, 4, 1, 2, 4, 2, 3, 4, 2, 4]
        values = [1, 1, 2, 1, 4, 2, 1, 2, 4, 1, 1, 1]
        packets = [ipv4(r, c) for r, c, v in zip(rows, columns, values) for _ in range(v)]
        capture = self.write('known.pcap', pcap(packets, link_type=101))
        _, out = self.run_job(capture, '--no-anonymize')
        total = json.loads(self.trama('inspect', '--json', out).stdout)['total']
        self.assertEqual(total, {'n_packets': 21, 'n_links': 12, 'n_sources': 4, 'n_destinations': 4, 'max_packets': 4,
                                 'max_source_packets': 7, 'max_destination_packets': 6, 'max_fan_out': 4,
                                 'max_fan_in': 4})

    def test_export_gives_back_what_went_in(self):
        packets = [ipv4(self.random.randrange(1 << 32), self.random.randrange(1 << 32)) for _ in range(500)]
        capture = self.write('any.pcap', pcap(packets + packets[:100], link_type=101))
        for order in ('numeric', 'raw'):
            _, out = self.run_job(capture, '--no-anonymize', '--window-packets', 70, '--index-order', order)
            lines = self.trama('export', out).stdout.split()
            self.assertEqual(lines[0], 'source,destination,packets')
            dotted = lambda a: '.'.join(map(str, a.to_bytes(4, 'big')))
            right = collections.Counter((dotted(independent.judge(101, p)[1]), dotted(independent.judge(101, p)[2]))
                                        for p in packets + packets[:100])
            self.assertEqual({tuple(line.split(',')[:2]): int(line.split(',')[2]) for line in lines[1:]}, dict(right))
            numeric = self.trama('export', '--numeric', out).stdout.split()
            self.assertEqual(len(numeric), len(lines))
            market = self.trama('export', '--mtx', out).stdout.splitlines()
            self.assertEqual(market[0], '%%MatrixMarket matrix coordinate integer general')
            self.assertEqual(len([line for line in market if not line.startswith('%')]), len(right) + 1)


class SameBytes(TramaTest):
    """One input, any number of replicas and workers, any batch size and credits, any processor: the same files."""

    def test_same_bytes(self):
        packets = support.mixed_packets(30000, self.random)
        capture = self.write('mixed.pcap', pcap(packets))
        common = ['--key', self.key_file(), '--window-packets', 777, '--windows-per-archive', 5, '--exclude', '10.0.0.3']
        _, out = self.run_job(capture, *common, '--workers', 1)
        right = support.everything_in(out)
        self.assertGreater(len(right), 8)
        runs = 40 if support.LONG else 8
        for _ in range(runs):
            draw = self.random.randrange
            how = ['--workers', 1 + draw(4), '--set', f'graph.batch_packets={1 + draw(1024)}',
                   '--set', f'graph.batch_credits={1 + draw(8)}', '--set', f'graph.window_credits={1 + draw(8)}']
            for stage in ('pcap_filter', 'parse', 'exclude', 'anonymize', 'build', 'serialize'):
                how += ['--replicas', f'{stage}={1 + draw(4)}']
                if draw(3) == 0:
                    how += ['--set', f'stages.{stage}.route="by_window"']
            with self.subTest(how=' '.join(map(str, how)), seed=self.id_with_seed()):
                _, out = self.run_job(capture, *common, *how)
                self.assertEqual(support.everything_in(out), right)

    def test_same_bytes_through_a_pipe(self):
        packets = support.mixed_packets(3000, self.random)
        capture = self.write('mixed.pcap', pcap(packets))
        common = ['--key', self.key_file(), '--window-packets', 500]
        _, out = self.run_job(capture, *common)
        with open(capture, 'rb') as pipe:
            cat = subprocess.Popen(['cat'], stdin=pipe, stdout=subprocess.PIPE)
            self.trama('run', '-q', '-r', '-', '-w', self.folder / 'piped', *common, stdin=cat.stdout)
            cat.stdout.close()
            cat.wait(timeout=10)
        self.assertEqual(support.everything_in(self.folder / 'piped'), support.everything_in(out))

    def test_several_files_and_a_folder_in_name_order(self):
        packets = support.mixed_packets(3000, self.random)
        whole = self.write('whole.pcap', pcap(packets))
        folder = self.folder / 'captures'
        folder.mkdir()
        decoded = [(p, t) for _, p, t in independent.read_pcap(whole.read_bytes())]
        for name, part in (('b.pcap', decoded[1000:1700]), ('a.pcap', decoded[:1000]), ('c.pcap', decoded[1700:])):
            (folder / name).write_bytes(pcap(part, nano=name == 'b.pcap', order='>' if name == 'c.pcap' else '<'))
        common = ['--key', self.key_file(), '--window-packets', 500]
        _, out = self.run_job(whole, *common)
        summary, from_folder = self.run_job(folder, *common)
        self.assertEqual(support.everything_in(from_folder), support.everything_in(out))
        self.assertEqual([i['name'].split('/')[-1] for i in summary['inputs']], ['a.pcap', 'b.pcap', 'c.pcap'])


class Archives(TramaTest):
    def test_other_programs_list_the_archive(self):
        capture = self.write('mixed.pcap', pcap(support.mixed_packets(3000, self.random)))
        _, out = self.run_job(capture, '--window-packets', 500)
        for path in support.archives_in(out):
            for lister in (['python3', '-m', 'tarfile', '-l'], ['tar', 'tf'], ['bsdtar', 'tf']):
                if not shutil.which(lister[0]):
                    self.skipTest(f'{lister[0]} is not here')
                done = subprocess.run([*lister, path], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                names = done.stdout.split()
                self.assertEqual(names, [f'{i}.grb' for i in range(len(names))])
            data = path.read_bytes()
            self.assertEqual(data[257:265], b'ustar\x0000')
            self.assertEqual(data[-1024:], bytes(1024))
        self.trama('verify', out)

    def test_name_says_when_and_how_much(self):
        capture = self.write('a.pcap', pcap([(ipv4(1, 2), support.T0 * 10**9 + 123456789)], 101, nano=True))
        for _ in range(3):
            self.run_job(capture, '--window-packets', 1000, '--windows-per-archive', 3, out=self.folder / 'out')
        names = [path.name for path in support.archives_in(self.folder / 'out')]
        self.assertEqual(sorted(names), ['20231114-221320-123456-1.3000.tar', '20231114-221320-123456-2.3000.tar',
                                         '20231114-221320-123456.3000.tar'])

    def test_published_layout_is_read(self):
        """The CAIDA/ILANDS tools write no manifest and no end blocks, and index by raw order."""
        capture = self.write('mixed.pcap', pcap(support.mixed_packets(3000, self.random)))
        _, out = self.run_job(capture, '--no-anonymize', '--window-packets', 500, '--index-order', 'raw')
        with_manifest = json.loads(self.trama('inspect', '--json', out).stdout)
        path, = support.archives_in(out)
        bare = self.folder / 'bare.tar'
        bare.write_bytes(path.read_bytes()[:-1024])
        self.assertEqual(json.loads(self.trama('inspect', '--json', bare).stdout), with_manifest)
        self.assertEqual(len(self.trama('export', '--numeric', bare).stdout.split()),
                         len(self.trama('export', '--numeric', path).stdout.split()))
        self.trama('verify', bare)


if __name__ == '__main__':
    unittest.main()
