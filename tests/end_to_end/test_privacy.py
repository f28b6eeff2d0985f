"""No original address and no key reaches any file, log, error or summary, whatever is switched on."""
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import time
import unittest

import independent
import support
from support import TramaTest, ethernet, ipv4, pcap

# Addresses that don't occur by chance: each of their bytes is unusual, and so is each pair.
SECRETS = [0xAC1DD35B + i * 0x01030507 for i in range(40)]


def dotted(address):
    return '.'.join(map(str, address.to_bytes(4, 'big')))


class Privacy(TramaTest):
    def packets(self):
        """Secret addresses in headers, and quoted inside ICMP payloads."""
        quote = lambda a, b: b'\x03\x01' + bytes(6) + ipv4(a, b)
        return [ethernet(ipv4(SECRETS[i], SECRETS[(i + 7) % 40], quote(SECRETS[(i + 1) % 40], SECRETS[(i + 2) % 40])))
                for i in range(40)] * 30

    def find_secrets(self, what, data, binary):
        if isinstance(data, str):
            data = data.encode()
        for address in SECRETS:
            self.assertNotIn(dotted(address).encode(), data, what)
            self.assertNotIn(b'%d' % address, data, what)
            self.assertNotRegex(data.decode('latin1').lower(), f'{address:08x}', what)
            if binary:
                for form in (struct.pack('>I', address), struct.pack('<I', address)):
                    self.assertNotIn(form, data, what)
        self.assertNotIn(support.KEY.hex().encode(), data, what)
        self.assertNotIn(support.KEY[:16], data, what)
        self.assertNotIn(support.KEY[16:], data, what)

    def test_nothing_original_is_written(self):
        capture = self.write('a.pcap', pcap(self.packets()))
        cut = self.write('cut.pcap', capture.read_bytes()[:-20])
        ranges = self.write('ranges', b'203.0.113.0/24\n')
        for how in (['--key', self.key_file()], [], ['--key', self.key_file(), '--compression', 'none'],
                    ['--key', self.key_file(), '--index-order', 'raw', '--exclude-file', ranges]):
            for source, code in ((capture, 0), (cut, 3)):
                out = self.folder / f'out{len(list(self.folder.iterdir()))}'
                done = self.trama('run', '-v', '-r', source, '-w', out, '--window-packets', 100, '--summary',
                                  self.folder / 'summary', *how, code=code)
                self.find_secrets('stdout', done.stdout, True)
                self.find_secrets('stderr', done.stderr, True)
                self.find_secrets('summary', (self.folder / 'summary').read_bytes(), True)
                for name, data in support.everything_in(out).items():
                    self.find_secrets(name, name, False)
                    self.find_secrets(name, data, name.endswith('.json'))
                indices = {i for _, _, blob in support.blobs_in(out) for cell in support.open_blob(blob) for i in cell}
                swapped = {int.from_bytes(a.to_bytes(4, 'big'), 'little') for a in SECRETS}
                # Crypto-PAn leaves an address as it is once in (4/3)^32 = 10,000: the same AES input comes back wherever
                # an address bit equals the pad's. Chance leaves one of these 40 at times, and three practically never.
                self.assertLess(len(indices & set(SECRETS)), 3)
                self.assertLess(len(indices & swapped), 3)

    def test_the_exclusion_list_can_not_be_guessed(self):
        capture = self.write('a.pcap', pcap(self.packets()))
        _, out = self.run_job(capture, '--key', self.key_file(), '--exclude', '203.0.113.0/24')
        said = support.manifests_in(out)[0]['windows'][0]['exclusions']
        self.assertRegex(said, '^[0-9a-f]{16}$')
        other = self.folder / 'other.key'
        self.trama('key', 'new', other)
        _, out = self.run_job(capture, '--key', other, '--exclude', '203.0.113.0/24')
        self.assertNotEqual(support.manifests_in(out)[0]['windows'][0]['exclusions'], said)

    def test_it_fails_closed(self):
        """No key that can be read, or no stage that anonymizes: nothing is written."""
        capture = self.write('a.pcap', pcap(self.packets()))
        out = self.folder / 'out'
        self.trama('run', '-r', capture, '-w', out, '--key', self.folder, code=2)
        graph = self.write('clear.toml', f'''[graph]
links = ["pcap -> parse -> stamp -> build -> serialize -> archive"]
[stages.pcap]
files = ["{capture}"]
[stages.archive]
directory = "{out}"
'''.encode())
        done = self.trama('run', graph, code=2)
        self.assertIn('AnonymizedWindow', done.stderr)
        self.assertFalse(out.exists())

    def test_one_key_for_a_graph(self):
        """A second key would take the place of the first, wherever the first is meant to be."""
        capture = self.write('a.pcap', pcap(self.packets()))
        for other in ('clear = true', 'ephemeral = true', f'key_file = "{self.key_file()}"'):
            for first in ('anonymize', 'second'):
                ways = ['anonymize', 'second'] if first == 'anonymize' else ['second', 'anonymize']
                links = ['pcap -> parse -> in_order -> stamp',
                         *(f'stamp -> {way} -> {way}_build -> {way}_serialize -> {way}_archive' for way in ways)]
                tables = ''.join(f'[stages.{way}_{kind}]\nkind = "{kind}"\n' for way in ways
                                 for kind in ('build', 'serialize', 'archive'))
                tables = tables.replace('kind = "archive"\n', 'kind = "archive"\ndirectory = "%s"\n' % (self.folder / 'ways'))
                graph = (f'[graph]\nlinks = {json.dumps(links)}\n[stages.pcap]\nfiles = [{json.dumps(str(capture))}]\n'
                         f'[stages.in_order]\nkind = "reorder"\n[stages.anonymize]\nkey_file = "{self.key_file()}"\n'
                         f'[stages.second]\nkind = "anonymize"\n{other}\n{tables}')
                done = self.trama('run', self.write('ways.toml', graph.encode()), code=2)
                self.assertIn('a second stage that anonymizes', done.stderr)
                self.assertEqual(list(self.folder.glob('ways/*')), [])

    def test_no_core_is_dumped(self):
        capture = self.folder / 'fifo'
        os.mkfifo(capture)
        run = subprocess.Popen([support.TRAMA, 'run', '-q', '-r', capture, '-w', self.folder / 'out', '--key', self.key_file()],
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2),
                               cwd=self.folder)
        with open(capture, 'wb') as fifo:
            fifo.write(pcap(self.packets()))
            fifo.flush()
            for _ in range(100):
                limits = pathlib.Path(f'/proc/{run.pid}/limits').read_text()
                if re.search(r'Max core file size +0 +0 ', limits):
                    break
                time.sleep(0.05)
            else:
                self.fail(limits)
            run.send_signal(6)
            run.wait(timeout=30)
        if not pathlib.Path('/proc/sys/kernel/core_pattern').read_text().startswith('|'):
            self.assertEqual(list(self.folder.glob('core*')), [])


if __name__ == '__main__':
    unittest.main()
