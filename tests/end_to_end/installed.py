"""What the tests of `cmake --install` and of the Debian packages share: an installed tree, and programs built against it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap

BUILD = pathlib.Path(support.TRAMA).parent
SOURCE = pathlib.Path(__file__).parents[2]
EXAMPLES = SOURCE / 'examples'
PEDANTIC = ('-pedantic', '-Wall', '-Wextra', '-Werror')
WINDOW = 1000


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=support.TIMEOUT_S,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f'{command} ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}'
    return done.stdout


def install(prefix, **environment):
    run('cmake', '--install', BUILD, '--prefix', prefix, env={**os.environ, **environment})


def files_below(folder):
    """Paths from the folder, of all that is not a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_symlink() or not path.is_dir())


def only(paths):
    paths = list(paths)
    assert len(paths) == 1, paths
    return paths[0]


class Prefix:
    """An installed tree, and how programs are built against it."""

    def __init__(self, path):
        self.path = path
        self.library = only(path.rglob('libtrama.so.0')).parent
        self.environment = {**os.environ, 'LD_LIBRARY_PATH': str(self.library)}

    def flags(self, name):
        environment = {**os.environ, 'PKG_CONFIG_PATH': str(self.library / 'pkgconfig')}
        return run('pkg-config', '--cflags', '--libs', name, env=environment).split()

    def compile(self, compiler, source, to, package='trama-client'):
        run(*compiler, '-O1', EXAMPLES / source, '-o', to, *self.flags(package))

    def build_with_cmake(self, folder, source=EXAMPLES):
        run('cmake', '-S', source, '-B', folder, f'-DCMAKE_PREFIX_PATH={self.path}', '-DCMAKE_BUILD_TYPE=Release')
        run('cmake', '--build', folder)


class InstallTest(TramaTest):
    @classmethod
    def setUpClass(cls):
        if not (BUILD / 'cmake_install.cmake').exists():
            raise unittest.SkipTest('the command is not in a build folder')
        cls.base = pathlib.Path(tempfile.mkdtemp(prefix='trama-install-'))
        cls.addClassCleanup(shutil.rmtree, cls.base, ignore_errors=True)


class Followers:
    """What the programs in examples/ are asked, whatever tree they were built against."""

    def archives(self):
        if not hasattr(self, 'out'):
            packets = [ethernet(ipv4(0x0A000000 + i * i % 300, 0xC0000200 + i % 7)) for i in range(3 * WINDOW + 10)]
            _, self.out = self.run_job(self.write('a.pcap', pcap(packets)), '--window-packets', WINDOW,
                                       '--key', self.key_file())
        return self.out

    def follow(self, program, *arguments):
        return run(program, *arguments, env=self.prefix.environment).splitlines()

    def inspected(self):
        return json.loads(self.trama('inspect', '--json', self.archives()).stdout)['windows']

    def lines(self):
        return [f'window {w["seq"]}: {w["n_packets"]} packets on {w["n_links"]} links from {w["n_sources"]} sources, missed 0'
                for w in self.inspected()]

    def check_folder(self, program):
        lines = self.lines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(self.follow(program, f'file://{self.out}', 0), [*lines, '4 windows, missed 0'])
        self.assertEqual(self.follow(program, f'file://{self.out}', 2), [*lines[2:], '2 windows, missed 0'])

    def check_refusal(self, program):
        done = subprocess.run([program, f'file://{self.folder}/none'], capture_output=True, text=True, timeout=support.TIMEOUT_S,
                              env=self.prefix.environment)
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn(f'{self.folder}/none', done.stderr)

    def sums(self):
        total = json.loads(self.trama('inspect', '--json', self.archives()).stdout)['total']
        return [*(f'window {seq}, missed 0' for seq in range(4)), f'sum: {total["n_packets"]} packets on {total["n_links"]} links']

    def check_sum(self, program):
        self.assertEqual(self.follow(program, f'file://{self.archives()}', 0), self.sums())
