"""Whatever vector instructions the processor has, and whichever processor it is: the same archives, the same manifests."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import numpy

import support
from support import TramaTest, pcap

ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 'TRAMA_VECTOR'
WINDOW = 12000


def raw_ip_pcap(sources, destinations):
    """A pcap of raw IPv4 headers, a microsecond apart."""
    packets = numpy.zeros(len(sources), dtype=[('seconds', '<u4'), ('microseconds', '<u4'), ('captured', '<u4'),
                                               ('length', '<u4'), ('version', 'u1'), ('between', 'V11'),
                                               ('source', '>u4'), ('destination', '>u4')])
    packets['seconds'], packets['microseconds'] = numpy.divmod(numpy.arange(len(sources)), 10**6)
    packets['seconds'] += support.T0
    packets['captured'] = packets['length'] = 20
    packets['version'] = 0x45
    packets['source'], packets['destination'] = sources, destinations
    return pcap([], link_type=101) + packets.tobytes()


def every_kind_of_window(random):
    """Evenly spread, heavy-tailed, one source, one destination, one link: kernels decide by it how to go about a window."""
    draw = numpy.random.default_rng(random.randrange(1 << 30))

    def anywhere(count=WINDOW):
        return draw.integers(1 << 32, size=count)

    def popular(count=WINDOW):
        return draw.zipf(1.3, size=count).astype('u8') * 2654435761 >> 4 & 0xFFFFFFFF

    def only(address):
        return numpy.full(WINDOW, address)

    windows = [(anywhere(), anywhere()), (popular(), popular()), (anywhere() >> 20, 0x2C000000 | anywhere() >> 8),
               (only(0x0A000001), anywhere()), (popular(), only(0xFFFFFFFF)), (only(7), only(9)),
               (anywhere(1001), popular(1001))]
    return raw_ip_pcap(*(numpy.concatenate(side) for side in zip(*windows)))


class SameBytes(TramaTest):
    def setUp(self):
        super().setUp()
        windows = self.write('windows.pcap', every_kind_of_window(self.random))
        mixed = self.write('mixed.pcap', pcap(support.mixed_packets(4000, self.random)))
        # Making the tables of a key takes QEMU longer than the rest of a job.
        self.jobs = [('-r', windows, '--window-packets', WINDOW, '--key', self.key_file()),
                     ('-r', windows, '--window-packets', WINDOW, '--key', self.key_file(), '--index-order', 'raw',
                      '--compression', 'zstd'),
                     ('-r', windows, '--window-packets', 30011, '--no-anonymize', '--compression', 'none'),
                     ('-r', mixed, '--window-packets', 37, '--no-anonymize', '--exclude', '10.0.0.3')]

    def results(self, run):
        """The files that every job makes; `run` gets the arguments of the command."""
        results = []
        for job in self.jobs:
            out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / 'out'
            run('run', '-q', *job, '-w', out)
            results.append(support.everything_in(out))
            self.assertGreaterEqual(len(results[-1]), 2)
            shutil.rmtree(out.parent)
        return results

    def compare(self, results, right):
        for job, files, expected in zip(self.jobs, results, right, strict=True):
            differ = [name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name)]
            self.assertEqual(differ, [], f'{job[2:]}, {self.id_with_seed()}')


class Targets(SameBytes):
    """The vector instructions of this processor, one after the other, by TRAMA_VECTOR."""

    def vector(self, limit=''):
        """(in use, what else there is), as `trama doctor` says."""
        said = self.trama('doctor', env={**os.environ, LIMIT: limit}).stdout
        used, others = re.search(r'^ok +vector instructions: (\w+)(?: \(\w+ may lower it to (.*)\))?$', said, re.M).groups()
        return used, others.split(', ') if others else []

    def test_every_target_gives_the_same_bytes(self):
        best, others = self.vector()
        right = self.results(self.trama)
        for number, target in enumerate(others):
            with self.subTest(best=best, target=target):
                self.assertEqual(self.vector(target), (target, others[number + 1:]))
                self.compare(self.results(lambda *arguments: self.trama(*arguments, env={**os.environ, LIMIT: target})), right)

    def test_no_such_target(self):
        for target in ('mmx', 'AVX', 'neon sse4'):
            out = self.folder / 'out'
            done = self.trama(*('run', '-q', *self.jobs[0], '-w', out), env={**os.environ, LIMIT: target}, code=2)
            self.assertIn(f'`{target}`', done.stderr)
            self.assertIn(self.vector()[0], done.stderr)  # the list of those that there are
            self.assertFalse(out.exists())


def arm64_program():
    """(command that runs the arm64 build, None) or (None, why it can't be run)."""
    path = pathlib.Path(os.environ.get('TRAMA_ARM64') or ROOT / 'build/arm64/trama')
    sysroot = pathlib.Path(os.environ.get('TRAMA_ARM64_SYSROOT') or ROOT / 'build/sysroot-arm64')
    emulator = shutil.which('qemu-aarch64-static')
    if not path.exists():
        return None, f'there is no {path}: scripts/build.sh arm64 trama'
    if not os.environ.get('TRAMA_ARM64') and path.stat().st_mtime < pathlib.Path(support.TRAMA).stat().st_mtime:
        return None, f'{path} is older than {support.TRAMA}: scripts/build.sh arm64 trama'
    if not sysroot.exists():
        return None, f'there is no {sysroot}: scripts/arm64-sysroot.sh'
    if not emulator:
        return None, 'there is no qemu-aarch64-static: apt-get install qemu-user-static'
    return [emulator, '-cpu', 'cortex-a72', '-L', sysroot, path], None


class Arm64(SameBytes):
    """The command for 64-bit Arm, in QEMU, against the one of this machine."""

    def test_arm64_gives_the_same_bytes(self):
        program, missing = arm64_program()
        if missing:
            self.skipTest(missing)

        def run_arm64(*arguments):
            done = subprocess.run([*map(str, program), *map(str, arguments)], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=support.TIMEOUT_S, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            return done.stdout

        self.assertIn('vector instructions: neon', run_arm64('doctor'))
        self.compare(self.results(run_arm64), self.results(self.trama))


if __name__ == '__main__':
    unittest.main()
