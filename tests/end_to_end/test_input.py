"""Bad input gets a clear error, loses nothing that was whole, and leaves nothing behind."""
import gzip
import json
import lzma
import os
import signal
import stat
import subprocess
import time
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap

PACKETS = [ethernet(ipv4(0x0A000000 + i, 0xC0000200)) for i in range(10)]


class Captures(TramaTest):
    def refused(self, name, data, words):
        capture = self.write(name, data)
        out = self.folder / 'out'
        done = self.trama('run', '-r', capture, '-w', out, code=1)
        self.assertIn(name, done.stderr)
        self.assertRegex(done.stderr, words)
        self.assertFalse(out.exists() and list(out.iterdir()))

    def test_what_is_no_capture_is_refused_by_name(self):
        self.refused('zero.pcap', b'', '(?i)empty')
        self.refused('text.pcap', b'hello, this is no capture at all\n' * 10, '(?i)not a')
        self.refused('cut.pcap', pcap(PACKETS)[:10], '10')
        self.refused('snoop.pcap', b'snoop\0\0\0' + bytes(100), '(?i)snoop')
        self.refused('version.pcap', b'\xd4\xc3\xb2\xa1\x09\x00\x09\x00' + bytes(16), '9')

    def test_a_cut_capture_keeps_its_whole_packets(self):
        whole = pcap(PACKETS)
        record = 16 + len(PACKETS[0])
        header_at = 24 + 9 * record
        for bytes_left, place in ((header_at + 7, header_at), (header_at + 16 + 5, header_at + 16),
                                  (header_at + record - 1, header_at + 16)):
            capture = self.write('cut.pcap', whole[:bytes_left])
            done = self.trama('run', '-r', capture, '-w', self.folder / f'out{bytes_left}', '--summary', '-', code=3)
            summary = json.loads(done.stdout)
            self.assertEqual(summary['packets']['counted'], 9)
            self.assertEqual(summary['inputs'][0]['status'], 'truncated')
            self.assertIn(f'truncated at byte {place}: ', summary['inputs'][0]['detail'])
            self.assertIn('cut.pcap', done.stderr)

    def test_a_capture_cut_before_its_first_packet_is_not_read(self):
        """Plain or compressed, with or without its header: exit status 1 where nothing else could be read, else 3."""
        good, out = self.write('good.pcap', pcap(PACKETS)), self.folder / 'out'
        whole = pcap(PACKETS[:1])
        cuts = {'header.pcap': whole[:23], 'record.pcap': whole[:24 + 7], 'packet.pcap': whole[:-1]}
        for name, pack in (('gz', gzip.compress), ('xz', lzma.compress)):
            cuts |= {f'inside.pcap.{name}': pack(whole[:-1]), f'outside.pcap.{name}': pack(whole)[:30]}
        cuts['outside.pcap.zst'] = subprocess.run(['zstd', '-c'], input=whole, stdout=subprocess.PIPE, check=True).stdout[:30]
        for name, data in cuts.items():
            cut = self.write(name, data)
            self.assertIn(name, self.trama('run', '-r', cut, '-w', out, code=1).stderr)
            self.assertFalse(out.exists() and list(out.iterdir()))
            summary, _ = self.run_job(cut, '-r', good, code=3)
            self.assertEqual(summary['packets']['counted'], len(PACKETS))
            self.assertEqual(summary['inputs'][0]['status'], 'truncated', name)

    def test_one_bad_input_of_several(self):
        good, bad = self.write('good.pcap', pcap(PACKETS)), self.write('bad.pcap', b'')
        for order in ([good, bad], [bad, good], [good, self.folder / 'missing.pcap']):
            done = self.trama('run', '-q', '-r', order[0], '-r', order[1], '-w', self.folder / 'out', '--summary', '-', code=3)
            self.assertEqual(json.loads(done.stdout)['packets']['counted'], 10)
        self.trama('run', '-r', self.folder / 'missing.pcap', '-w', self.folder / 'none', code=1)

    def test_headers_only_is_success_with_nothing(self):
        summary, out = self.run_job(self.write('empty.pcap', pcap([])))
        self.assertEqual((summary['packets']['seen'], summary['archives']), (0, []))

    def test_a_file_cut_while_it_is_read(self):
        """Truncation under the reader is an early end, no crash."""
        capture = self.write('big.pcap', pcap(PACKETS * 300000))
        out = self.folder / 'out'
        run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', capture, '-w', out, '--summary', '-', '--workers', '1'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.15)
        os.truncate(capture, 24 + 70 * 1000 + 3)
        stdout, stderr = run.communicate(timeout=120)
        self.assertIn(run.returncode, (0, 3), stderr)
        summary = json.loads(stdout)
        self.assertEqual(summary['packets']['seen'], summary['packets']['counted'])


class Keys(TramaTest):
    def test_keys_are_refused_with_the_reason(self):
        capture = self.write('a.pcap', pcap(PACKETS))
        digits = support.KEY.hex().encode()
        out = self.folder / 'out'
        for name, data in (('empty', b''), ('short', digits[:62]), ('long', digits + b'00'), ('raw', support.KEY),
                           ('words', b'x' * 64), ('lines', digits + b'\n\n')):
            key = self.write(name, data)
            key.chmod(0o600)
            done = self.trama('run', '-r', capture, '-w', out, '--key', key, code=2)
            self.assertIn(name, done.stderr)
            self.assertNotIn(digits.decode()[:16], done.stderr)
        open_key = self.write('open.key', digits)
        open_key.chmod(0o644)
        done = self.trama('run', '-r', capture, '-w', out, '--key', open_key, code=2)
        self.assertIn('chmod 600', done.stderr)
        done = self.trama('run', '-r', capture, '-w', out, '--key', self.folder / 'missing.key', code=2)
        self.assertIn('trama key new', done.stderr)
        self.assertFalse(out.exists())

    def test_key_new_and_show(self):
        key = self.folder / 'site.key'
        self.trama('key', 'new', key)
        self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600)
        content = key.read_text()
        self.assertRegex(content, '^[0-9a-f]{64}\n$')
        shown = self.trama('key', 'show', key)
        self.assertNotIn(content[:8], shown.stdout + shown.stderr)
        self.assertRegex(shown.stdout, '[0-9a-f]{16}')
        self.assertEqual(self.trama('key', 'new', key, code=2).stdout, '')
        self.assertEqual(key.read_text(), content)
        summary, out = self.run_job(self.write('a.pcap', pcap(PACKETS)), '--key', key)
        manifest, = support.manifests_in(out)
        self.assertIn(manifest['windows'][0]['key'], shown.stdout)


class Usage(TramaTest):
    def test_summary_never_over_an_input(self):
        capture = self.write('a.pcap', pcap(PACKETS))
        before = capture.read_bytes()
        os.link(capture, self.folder / 'other-name')
        for target in (capture, self.folder / 'other-name', self.key_file()):
            self.trama('run', '-r', capture, '-w', self.folder / 'out', '--key', self.key_file(), '--summary', target, code=2)
        self.assertEqual(capture.read_bytes(), before)
        self.assertFalse((self.folder / 'out').exists())

    def test_wrong_flags_say_what_was_meant(self):
        done = self.trama('run', '--window-packet', '5', '-r', 'a.pcap', code=2)
        self.assertIn('--window-packets', done.stderr)
        done = self.trama('inspekt', code=2)
        self.assertIn('inspect', done.stderr)
        self.assertIn('trama', self.trama('run', code=2).stderr)

    def test_graph_file_with_five_mistakes(self):
        graph = self.write('bad.toml', b'''[graph]
window_packets = 0
links = [
  "pcap -> parse -> in_order -> stamp",
  "stamp -> build -> serialise -> archive",
]
[stages.in_order]
kind = "reorder"
replicas = 2
[stages.pcap]
files = ["a.pcap"]
fils = 3
''')
        done = self.trama('check', graph, code=2)
        errors = [line for line in done.stderr.splitlines() if line.startswith('trama: error: ')]
        self.assertGreaterEqual(len(errors), 5, done.stderr)
        for line in errors:
            self.assertRegex(line, r'bad\.toml:[0-9]+: ')
        for word in ('window_packets', 'serialize', 'replica', 'files', 'AnonymizedWindow'):
            self.assertIn(word, done.stderr)
        syntax = self.write('syntax.toml', b'[graph]\nlinks = [\n"a -> b"\nworkers = 3\n')
        self.assertRegex(self.trama('check', syntax, code=2).stderr, r'syntax\.toml:[0-9]+: ')

    def test_graph_file_runs_and_takes_options(self):
        capture = self.write('a.pcap', pcap(PACKETS))
        graph = self.folder / 'my.toml'
        graph.write_text(self.trama('graph', '--builtin', 'pcap').stdout)
        done = self.trama('run', graph, '-q', '-r', capture, '-w', self.folder / 'out', '--key', self.key_file(), '--summary', '-')
        _, other = self.run_job(capture, '--key', self.key_file())
        self.assertEqual(support.everything_in(self.folder / 'out'), support.everything_in(other))
        self.assertEqual(json.loads(done.stdout)['packets']['counted'], 10)
        self.assertIn('digraph', self.trama('graph', graph).stdout)

    def test_output_is_quiet_where_nobody_looks(self):
        capture = self.write('a.pcap', pcap(PACKETS))
        done = self.trama('run', '-r', capture, '-w', self.folder / 'out', '--key', self.key_file())
        self.assertEqual(done.stdout, '')
        self.assertNotIn('\x1b', done.stderr)
        self.assertNotIn('\r', done.stderr)
        self.assertIn('10 packets', done.stderr)
        quiet = self.trama('run', '-q', '-r', capture, '-w', self.folder / 'out', '--key', self.key_file())
        self.assertEqual(quiet.stderr, '')

    def test_every_verb_has_help(self):
        for verb in 'run check graph stages inspect export verify key doctor'.split():
            self.assertIn(verb, self.trama(verb, '--help').stdout)
        stages = self.trama('stages').stdout
        for kind in ('pcap', 'synthetic', 'parse', 'exclude', 'stamp', 'anonymize', 'build', 'serialize', 'reorder',
                     'archive', 'pass', 'null'):
            self.assertIn(kind, stages)
        self.assertIn('key_file', self.trama('stages', 'anonymize').stdout)

    def test_signals_that_ask(self):
        run = subprocess.Popen([support.TRAMA, 'run', '-r', '-', '-w', self.folder / 'out', '--exclude-file',
                                self.write('ranges', b'10.0.0.0/29\n')],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = lambda: run.stderr.readline().decode()
        self.assertIn('note', said())  # on the key: it runs
        said()
        run.stdin.write(pcap(PACKETS))
        run.stdin.flush()
        self.wait_until_read(run.stdin)  # the packets have entered under the first list
        run.send_signal(signal.SIGUSR1)
        self.assertIn('packets', said())
        while 's, ' not in said():
            pass
        (self.folder / 'ranges').write_bytes(b'192.0.2.0/24\n')
        run.send_signal(signal.SIGUSR2)
        self.assertIn('exclusion', said())
        run.stdin.write(pcap(PACKETS)[24:])
        run.stdin.close()
        run.stdin = None
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, stderr)
        entries = [entry for manifest in support.manifests_in(self.folder / 'out') for entry in manifest['windows']]
        # The first list kept out 8 of 10 sources, the second one everything.
        self.assertEqual([(e['packets'], e['closed_by']) for e in entries], [(2, 'exclusions')])
        tail = support.manifests_in(self.folder / 'out')[0]['tail']['verdicts']
        self.assertEqual(tail['excluded'], 10)


if __name__ == '__main__':
    unittest.main()
