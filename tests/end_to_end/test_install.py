"""What is installed works by itself: the command finds its parts, and programs are built against the libraries."""
import os
import re
import subprocess
import unittest

import support
from installed import BUILD, PEDANTIC, SOURCE, WINDOW, Followers, InstallTest, Prefix, files_below, install, run
from support import ethernet, ipv4, pcap


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


if __name__ == '__main__':
    unittest.main()
