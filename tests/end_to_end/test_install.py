"""What is installed works by itself: the command finds its parts, and programs are built against the libraries; from
`cmake --install`, and from the Debian packages."""
import json
import os
import pathlib
import re
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


class Installed(InstallTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install(cls.base / 'prefix')
        cls.prefix = Prefix(cls.base / 'prefix')

    def test_a_destdir_holds_the_same(self):
        install('/opt/trama', DESTDIR=str(self.folder))
        staged = self.folder / 'opt/trama'
        self.assertEqual(files_below(staged), files_below(self.prefix.path))
        self.assertEqual(os.listdir(self.folder), ['opt'])
        self.assertEqual(os.listdir(self.folder / 'opt'), ['trama'])
        unit = (staged / 'lib/systemd/system/trama@.service').read_text()
        self.assertIn('ExecStart=/opt/trama/bin/trama run', unit)

    def test_all_parts_are_there(self):
        have = set(files_below(self.prefix.path))
        library = self.prefix.library.relative_to(self.prefix.path)
        for wanted in ('bin/trama', 'include/trama/trama.h', 'include/trama/trama_graphblas.h',
                       'include/trama/libclient/subscriber.hpp', 'include/trama/libclient/formats/graphblas_matrix.hpp',
                       'lib/systemd/system/trama@.service', 'lib/sysusers.d/trama.conf', 'share/man/man1/trama.1',
                       'share/trama/filters/sample.bpf.o', 'share/trama/graphs/live.toml', 'share/doc/trama/docs/streams.md',
                       'share/doc/libtrama-dev/examples/follow.c', f'{library}/libtrama.so', f'{library}/libtrama.so.0',
                       f'{library}/cmake/trama/tramaConfig.cmake', f'{library}/pkgconfig/trama-client.pc'):
            self.assertIn(wanted, have)

    def test_nothing_names_the_build_folder(self):
        for path in files_below(self.prefix.path):
            contents = (self.prefix.path / path).read_bytes()
            if path.endswith(('.cmake', '.pc', '.service', '.h', '.hpp')):
                self.assertNotIn(str(SOURCE).encode(), contents, path)
            if contents.startswith(b'\x7fELF') and not path.endswith('.bpf.o'):
                self.assertNotRegex(run('readelf', '-d', self.prefix.path / path), 'R(UN)?PATH', path)

    def test_the_command_finds_its_drivers(self):
        drivers = self.prefix.library.glob('trama/trama-*.so')
        self.assertEqual({path.name for path in drivers}, {path.name for path in BUILD.glob('trama-*.so')})
        driver = self.prefix.library / 'trama/trama-dpdk.so'
        if not driver.exists():
            return  # of a build without DPDK
        graph = self.write('g.toml', b'[graph]\nlinks = ["dpdk -> null"]\n[stages.dpdk]\ndevices = ["net_none0"]\n')

        def errors():
            return subprocess.run([self.prefix.path / 'bin/trama', 'run', graph], capture_output=True, text=True,
                                  timeout=support.TIMEOUT_S).stderr
        self.assertIn('DPDK has no device `net_none0`', errors())
        hidden = driver.rename(driver.with_suffix('.hidden'))
        without = errors()
        hidden.rename(driver)
        self.assertIn('built without DPDK', without)
        self.assertIn('trama-dpdk', without)

    def test_the_manual_names_every_verb(self):
        manual = (self.prefix.path / 'share/man/man1/trama.1').read_text()
        verbs = re.findall(r'^  ([a-z]+) ', run(self.prefix.path / 'bin/trama', '--help').split('examples:')[0], re.M)
        self.assertGreater(len(verbs), 10)
        for verb in verbs:
            self.assertRegex(manual, rf'(?m)^\.B trama {verb}\b')

    def test_a_program_in_c_needs_no_compiler_for_cxx(self):
        self.write('main.c', b'#include <trama/trama.h>\nint main(void) { return trama_version()[0] == 0; }\n')
        self.write('CMakeLists.txt', b'cmake_minimum_required(VERSION 3.25)\nproject(host LANGUAGES C)\n'
                   b'find_package(trama 0.1 REQUIRED)\nadd_executable(host main.c)\n'
                   b'target_link_libraries(host PRIVATE trama::client)\n')
        self.prefix.build_with_cmake(self.folder / 'b', self.folder)
        run(self.folder / 'b/host')

    def test_another_minor_version_is_refused(self):
        for version in ('0.0', '0.2'):
            self.write('CMakeLists.txt', b'cmake_minimum_required(VERSION 3.25)\nproject(host LANGUAGES C)\n'
                       b'find_package(trama %s REQUIRED)\n' % version.encode())
            done = subprocess.run(['cmake', '-S', self.folder, '-B', self.folder / version,
                                   f'-DCMAKE_PREFIX_PATH={self.prefix.path}'], capture_output=True, text=True,
                                  timeout=support.TIMEOUT_S)
            self.assertNotEqual(done.returncode, 0, version)
            self.assertIn('compatible with requested version', re.sub(r'\s+', ' ', done.stderr))


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

    def check_folder(self, program):
        inspected = json.loads(self.trama('inspect', '--json', self.archives()).stdout)['windows']
        lines = [f'window {w["seq"]}: {w["n_packets"]} packets on {w["n_links"]} links from {w["n_sources"]} sources, missed 0'
                 for w in inspected]
        self.assertEqual(len(lines), 4)
        self.assertEqual(self.follow(program, f'file://{self.out}', 0), [*lines, '4 windows, missed 0'])
        self.assertEqual(self.follow(program, f'file://{self.out}', 2), [*lines[2:], '2 windows, missed 0'])

    def check_refusal(self, program):
        done = subprocess.run([program, f'file://{self.folder}/none'], capture_output=True, text=True, timeout=support.TIMEOUT_S,
                              env=self.prefix.environment)
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn(f'{self.folder}/none', done.stderr)

    def check_sum(self, program):
        total = json.loads(self.trama('inspect', '--json', self.archives()).stdout)['total']
        lines = self.follow(program, f'file://{self.out}', 0)
        self.assertEqual(lines[:-1], [f'window {seq}, missed 0' for seq in range(4)])
        self.assertEqual(lines[-1], f'sum: {total["n_packets"]} packets on {total["n_links"]} links')


class Examples(InstallTest, Followers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install(cls.base / 'prefix')
        cls.prefix = Prefix(cls.base / 'prefix')
        cls.prefix.build_with_cmake(cls.base / 'cmake')

    def test_built_with_cmake(self):
        for name in ('follow_c', 'follow_cpp'):
            with self.subTest(name):
                self.check_folder(self.base / 'cmake' / name)
                self.check_refusal(self.base / 'cmake' / name)
        self.check_sum(self.base / 'cmake/sum')

    def test_built_with_pkg_config(self):
        self.prefix.compile(['gcc', '-std=c99', *PEDANTIC], 'follow.c', self.folder / 'c')
        self.prefix.compile(['g++', '-std=c++20', *PEDANTIC], 'follow.cpp', self.folder / 'cpp')
        self.prefix.compile(['gcc', '-std=c11', '-Wall', '-Wextra', '-Werror'], 'sum.c', self.folder / 'sum', 'trama-graphblas')
        self.check_folder(self.folder / 'c')
        self.check_folder(self.folder / 'cpp')
        self.check_sum(self.folder / 'sum')

    def test_headers_are_for_c_and_cxx(self):
        for compiler, name in ((('gcc', '-std=c99', '-x', 'c'), 'trama.h'), (('g++', '-std=c++98', '-x', 'c++'), 'trama.h'),
                               (('g++', '-std=c++20', '-x', 'c++'), 'trama_graphblas.h')):
            pedantic = PEDANTIC if name == 'trama.h' else ()  # GraphBLAS.h isn't
            run(*compiler, *pedantic, '-Wno-long-long', '-fsyntax-only', self.prefix.path / 'include/trama' / name)

    def start_publisher(self, queue):
        graph = self.write('g.toml', f'''
[graph]
window_packets = {WINDOW}
links = ["pcap -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> publish"]
[stages.pcap]
files = ["-"]
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.publish]
url = "trama+ipc://{self.folder / 's'}"
queue = {queue}
'''.encode())
        publisher = subprocess.Popen([support.TRAMA, 'run', graph, '--key', self.key_file()], cwd=self.folder,
                                     stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(publisher.kill)
        publisher.stdin.write(pcap([]))
        publisher.stdin.flush()
        return publisher

    def send_window(self, publisher):
        publisher.stdin.write(pcap([ethernet(ipv4(0x0A000000 + i, 0xC0000201)) for i in range(WINDOW)])[24:])
        publisher.stdin.flush()

    def start_follower(self, name, *arguments):
        follower = subprocess.Popen([self.base / 'cmake' / name, f'trama+ipc://{self.folder / "s"}', *arguments], text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env=self.prefix.environment)
        self.addCleanup(follower.communicate)
        self.addCleanup(follower.kill)
        return follower

    def expect_end(self, follower, lines):
        follower.wait(timeout=support.TIMEOUT_S)  # so little is said that it fits into the pipes
        # By the object that the first line was read from: it has read ahead, which communicate() would not see.
        said, stderr = follower.stdout.read().splitlines(), follower.stderr.read()
        self.assertEqual((follower.returncode, said), (0, lines), stderr)

    def test_a_publisher_is_followed_and_what_is_missed_is_told(self):
        publisher = self.start_publisher(queue=2)
        early, late = self.start_follower('follow_c', '0'), {}
        what = f'{WINDOW} packets on {WINDOW} links from {WINDOW} sources'
        for seq in range(5):
            self.send_window(publisher)
            self.assertEqual(early.stdout.readline(), f'window {seq}: {what}, missed 0\n')
        for name in ('follow_c', 'follow_cpp'):
            late[name] = self.start_follower(name, '0')
            self.assertEqual(late[name].stdout.readline(), f'window 3: {what}, missed 3\n')
        adding = self.start_follower('sum', '0')
        self.assertEqual(adding.stdout.readline(), 'window 3, missed 3\n')
        self.send_window(publisher)
        _, stderr = publisher.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(publisher.returncode, 0, stderr)
        self.expect_end(early, [f'window 5: {what}, missed 0', '6 windows, missed 0'])
        for follower in late.values():
            self.expect_end(follower, [f'window {seq}: {what}, missed 0' for seq in (4, 5)] + ['3 windows, missed 3'])
        self.expect_end(adding, ['window 4, missed 0', 'window 5, missed 0', f'sum: {3 * WINDOW} packets on {WINDOW} links'])


class Packages(InstallTest, Followers):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('dpkg-shlibdeps'):
            raise unittest.SkipTest('dpkg-dev is not installed')
        packages = cls.base / 'packages'
        run('cpack', '-G', 'DEB', '--config', BUILD / 'CPackConfig.cmake', '-B', packages)
        cls.packages = {path.name.split('_')[0]: path for path in packages.glob('*.deb')}
        cls.root = cls.base / 'root'
        for path in cls.packages.values():
            run('dpkg-deb', '-x', path, cls.root)
        cls.prefix = Prefix(cls.root / 'usr')

    def field(self, package, name):
        return run('dpkg-deb', '-f', self.packages[package], name).strip()

    def contents(self, package):
        lines = run('dpkg-deb', '-c', self.packages[package]).splitlines()
        return [(line.split()[0], line.split()[1], line.split()[5].lstrip('.')) for line in lines]

    def test_hold_all_that_is_installed_once(self):
        install('/usr', DESTDIR=str(self.folder))
        installed = files_below(self.folder / 'usr')
        packaged = sorted(path.removeprefix('/usr/') for package in self.packages
                          for mode, _, path in self.contents(package) if not mode.startswith('d'))
        self.assertEqual(packaged, installed)

    def test_belong_to_root_and_can_be_read_by_all(self):
        for package in self.packages:
            for mode, owner, path in self.contents(package):
                self.assertEqual(owner, 'root/root', path)
                self.assertRegex(mode, '^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx)$', path)

    def test_depend_on_what_they_need(self):
        version = self.field('libtrama0', 'Version')
        for package, wanted in (('trama', ('libzmq5', 'libpcap0.8', 'libgraphblas7')),
                                ('libtrama0', ('libc6', 'libzmq5', 'libarchive13')),
                                ('libtrama-graphblas0', ('libgraphblas7', f'libtrama0 \\(= {version}\\)')),
                                ('libtrama-dev', ('libexpected-dev', f'libtrama0 \\(= {version}\\)'))):
            for one in wanted:
                self.assertRegex(self.field(package, 'Depends'), rf'(^|, ){one}', package)
        self.assertNotIn('graphblas', self.field('libtrama0', 'Depends'))
        for package in ('trama', 'libtrama0'):  # drivers have packages of their own for the sake of this
            self.assertNotRegex(self.field(package, 'Depends'), 'librte|libxdp')
        for driver in BUILD.glob('trama-*.so'):
            name = driver.stem.replace('_', '-')
            self.assertRegex(self.field(name, 'Depends'), rf'trama \(= {version}\)')
            self.assertRegex(self.field(name, 'Depends'), 'librte|libxdp')

    def test_tell_the_system_about_themselves(self):
        for package, library in (('libtrama0', 'libtrama'), ('libtrama-graphblas0', 'libtrama-graphblas')):
            control = self.folder / package
            run('dpkg-deb', '-e', self.packages[package], control)
            self.assertRegex((control / 'shlibs').read_text(), rf'(?m)^{library} 0 {package} ')
            self.assertIn('ldconfig', (control / 'postinst').read_text())
        run('dpkg-deb', '-e', self.packages['trama'], self.folder / 'control')
        self.assertTrue(os.access(self.folder / 'control/postinst', os.X_OK))
        run('sh', '-n', self.folder / 'control/postinst')
        self.assertIn('ExecStart=/usr/bin/trama ', (self.root / 'usr/lib/systemd/system/trama@.service').read_text())

    def test_pythons_package_lies_where_debians_python_looks(self):
        if 'python3-trama' not in self.packages:
            self.skipTest('the Python package is not built')
        package = only((self.root / 'usr/lib/python3/dist-packages').glob('*'))
        self.assertEqual(package.name, 'trama')
        only(package.glob('_trama*.so'))
        for wanted in ('python3', 'python3-numpy', 'libzmq5'):
            self.assertRegex(self.field('python3-trama', 'Depends'), rf'(^|, ){wanted}\b')

    def test_work_where_they_are_unpacked(self):
        self.assertEqual(run(self.root / 'usr/bin/trama', '--version'), run(support.TRAMA, '--version'))
        self.prefix.build_with_cmake(self.folder / 'b', self.root / 'usr/share/doc/libtrama-dev/examples')
        for name in ('follow_c', 'follow_cpp'):
            self.check_folder(self.folder / 'b' / name)
        self.check_sum(self.folder / 'b/sum')


if __name__ == '__main__':
    unittest.main()
