"""Trama as a service: what it tells its service manager, what it gives up, and the unit."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import support
from support import TramaTest, ethernet, ipv4, pcap

PACKETS = [ethernet(ipv4(0x0A000000 + i % 50, 0xC0000200 + i % 4)) for i in range(2500)]


class Manager:
    """A service manager that only listens."""

    def __init__(self, test, watchdog_us=None):
        self.test = test
        self.path = test.folder / 'notify'
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(60)
        test.addCleanup(self.socket.close)
        self.environment = {**os.environ, 'NOTIFY_SOCKET': str(self.path)}
        if watchdog_us:
            self.environment['WATCHDOG_USEC'] = str(watchdog_us)
        self.said = []

    def wait_for(self, line):
        """Until a message with this line has come, which it returns."""
        while True:
            message = self.socket.recv(4096).decode()
            self.said.append(message)
            if any(one.startswith(line) for one in message.split('\n')):
                return message

    def rest(self):
        self.socket.settimeout(0)
        while True:
            try:
                self.said.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return self.said


class ServiceTest(TramaTest):
    def start(self, *arguments, before=(), **options):
        """A run that reads what is written to its standard input, a pipe that stays open."""
        run = subprocess.Popen([*before, support.TRAMA, 'run', '-r', '-', '-w', str(self.folder / 'out'), '--key', self.key_file(),
                                '--window-packets', '1000', '--summary', '-', '--socket', self.folder / 's.sock',
                                *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(run.kill)
        return run

    def feed(self, run, packets):
        """Returns when all of them have been read: what was taken out of the pipe may not have become packets yet."""
        run.stdin.write(pcap(packets))
        run.stdin.flush()
        for _ in range(600):
            asked = self.trama('status', '--json', '--socket', self.folder / 's.sock', code=None)
            if asked.returncode == 0 and json.loads(asked.stdout)['read']['packets'] == len(packets):
                return
            time.sleep(0.05)
        self.fail('not all was read')

    def end(self, run):
        """(summary, stderr) of a run that was told to stop; standard input stays open until it has ended."""
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=60)
        stdout, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 3, stderr)  # a file input was interrupted
        return json.loads(stdout), stderr.decode()


class Service(ServiceTest):
    """What is told to the service manager, and to its journal."""

    def test_ready_alive_and_stopping(self):
        manager = Manager(self, watchdog_us=2_000_000)
        run = self.start('-q', env=manager.environment)
        self.assertIn('STATUS=running', manager.wait_for('READY=1'))
        manager.wait_for('WATCHDOG=1')  # with nothing to do, and every worker asleep
        manager.wait_for('WATCHDOG=1')
        self.feed(run, PACKETS)
        manager.wait_for('WATCHDOG=1')
        summary, _ = self.end(run)
        self.assertEqual(summary['packets']['counted'], 2500)  # nothing that was received is lost
        self.assertEqual(summary['windows'], {'full': 2, 'partial': 1})
        said = manager.rest()
        self.assertEqual([one.split('\n')[0] for one in said if 'WATCHDOG' not in one and not one.startswith('STATUS=')],
                         ['READY=1', 'STOPPING=1'])

    def test_rates(self):
        manager = Manager(self)
        run = self.start('-q', env=manager.environment)
        self.feed(run, PACKETS)
        self.assertRegex(manager.wait_for('STATUS=') + manager.wait_for('STATUS='),
                         r'STATUS=[0-9.]+( k)? packets/s, [0-2] windows, 0 dropped')
        self.end(run)

    def test_files_read_again(self):
        manager = Manager(self)
        ranges = self.write('ranges.txt', b'192.0.2.0/24\n')
        run = self.start('-q', '--exclude-file', ranges, env=manager.environment)
        self.feed(run, PACKETS[:10])
        manager.wait_for('READY=1')
        run.send_signal(signal.SIGUSR2)
        self.assertIn('MONOTONIC_USEC=', manager.wait_for('RELOADING=1'))
        manager.wait_for('READY=1')
        self.end(run)

    def test_a_run_that_is_over_at_once_was_ready(self):
        manager = Manager(self)
        self.trama('run', '-q', '-r', self.write('a.pcap', pcap(PACKETS[:1])), '-w', 'out', env=manager.environment)
        self.assertEqual([one.split('\n')[0] for one in manager.rest()], ['READY=1', 'STOPPING=1'])

    def test_what_can_not_begin_is_not_ready(self):
        manager = Manager(self)
        self.trama('run', '-r', self.folder / 'none.pcap', '-w', '/dev/null/x', env=manager.environment, code=2)
        self.assertEqual(manager.rest(), [])

    def test_levels_for_the_journal(self):
        read_end, write_end = os.pipe()
        status = os.fstat(write_end)
        environment = {**os.environ, 'JOURNAL_STREAM': f'{status.st_dev}:{status.st_ino}'}
        subprocess.run([support.TRAMA, 'run', '-r', self.write('a.pcap', pcap(PACKETS)[:-5]), '-w', self.folder / 'out'],
                       stderr=write_end, env=environment, timeout=60)
        os.close(write_end)
        with os.fdopen(read_end) as journal:
            lines = journal.read().split('\n')
        self.assertTrue(any(line.startswith('<6>trama: note: ') for line in lines), lines)
        self.assertTrue(any(line.startswith('<4>trama: warning: ') for line in lines), lines)
        self.assertFalse(any('\r' in line or '\x1b' in line for line in lines), lines)
        self.assertTrue(all(re.match('<[346]>', line) for line in lines if 'trama: ' in line or 'hint: ' in line), lines)
        # The variable is inherited by those whose standard error goes elsewhere.
        done = self.trama('run', '-r', self.folder / 'a.pcap', '-w', 'other', env=environment, code=None)
        self.assertNotIn('<6>', done.stderr)


def capabilities(process):
    """{set: number} of each thread of a process."""
    return [dict(re.findall(r'(Cap\w+):\s*(\w+)', (thread / 'status').read_text()))
            for thread in pathlib.Path(f'/proc/{process.pid}/task').iterdir()]


class Privileges(ServiceTest):
    """What a run may still do when the first packet comes."""
    FILE_ACCESS = f'{6:016x}'  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    NOTHING = f'{0:016x}'

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest('only root has something to give up')
        self.folder.chmod(0o777)
        self.manager = Manager(self)
        self.manager.path.chmod(0o777)

    def running(self, *arguments, before=()):
        run = self.start('-q', '--metrics', '0', *arguments, before=before, env=self.manager.environment)
        self.manager.wait_for('READY=1')
        return run

    def assert_all_threads(self, run, kept):
        threads = capabilities(run)
        self.assertGreater(len(threads), 5)  # workers, metrics, the thread behind the archive
        for thread in threads:
            self.assertEqual({name: value for name, value in thread.items() if name != 'CapBnd'},
                             {'CapInh': self.NOTHING, 'CapPrm': kept, 'CapEff': kept, 'CapAmb': self.NOTHING})

    def test_root(self):
        run = self.running()
        self.assert_all_threads(run, self.FILE_ACCESS)
        self.feed(run, PACKETS)
        self.assertEqual(self.end(run)[0]['packets']['counted'], 2500)

    def test_another_user(self):
        (self.folder / 'out').mkdir()
        shutil.chown(self.folder / 'out', 'nobody')
        run = self.running('--user', 'nobody')
        self.assert_all_threads(run, self.NOTHING)
        self.assertEqual({thread['CapBnd'] for thread in capabilities(run)}, {self.NOTHING})
        self.feed(run, PACKETS)
        self.assertEqual(self.end(run)[0]['packets']['counted'], 2500)
        self.assertEqual({path.owner() for path in (self.folder / 'out').iterdir()}, {'nobody'})

    def test_ambient_capabilities(self):
        """As a service has them: a user without privileges, and what it was given."""
        if not shutil.which('setpriv'):
            self.skipTest('setpriv is not installed')
        (self.folder / 'out').mkdir()
        shutil.chown(self.folder / 'out', 'nobody')
        shutil.chown(self.key_file(), 'nobody')
        run = self.running(before=('setpriv', '--reuid', 'nobody', '--clear-groups', '--inh-caps=+net_raw,+net_admin',
                                   '--ambient-caps=+net_raw,+net_admin'))
        self.assert_all_threads(run, self.NOTHING)
        self.feed(run, PACKETS)
        self.assertEqual(self.end(run)[0]['packets']['counted'], 2500)

    def test_a_folder_that_only_root_can_write(self):
        out = self.folder / 'out'
        out.mkdir(mode=0o700)
        run = self.start('-q', '--user', 'nobody', env=self.manager.environment)
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 2, stderr)
        self.assertIn(b"can't write into the folder", stderr)
        self.assertEqual(self.manager.rest(), [])


class Unit(TramaTest):
    """The unit as it is installed, judged by systemd's own tools; that it runs is tried by hand (docs/service.md)."""

    def setUp(self):
        super().setUp()
        if not shutil.which('systemd-analyze') or not shutil.which('cmake'):
            self.skipTest('systemd-analyze or cmake is not installed')
        self.prefix = self.folder / 'prefix'
        build = pathlib.Path(support.TRAMA).parent
        if not (build / 'cmake_install.cmake').exists():
            self.skipTest('the command is not in a build folder')
        done = subprocess.run(['cmake', '--install', build, '--prefix', self.prefix], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.units = self.prefix / 'lib/systemd/system'
        self.unit = self.units / 'trama@.service'

    def analyze(self, *arguments):
        done = subprocess.run(['systemd-analyze', *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, 'SYSTEMD_UNIT_PATH': f'{self.units}:', 'SYSTEMD_COLORS': '0'})
        return done.returncode, done.stdout + done.stderr

    def add_kernel_filters(self):
        folder = self.units / 'trama@.service.d'
        folder.mkdir()
        shutil.copy(self.prefix / 'share/trama/systemd/kernel-filters.conf', folder)

    def test_what_is_installed(self):
        command, = re.findall(r'^ExecStart=(\S+) run', self.unit.read_text(), re.M)
        self.assertEqual(command, str(self.prefix / 'bin/trama'))
        self.assertEqual(subprocess.run([command, '--version'], capture_output=True).returncode, 0)
        self.assertIn('sample.bpf.o', os.listdir(self.prefix / 'share/trama/filters'))
        self.assertIn('u trama ', (self.prefix / 'lib/sysusers.d/trama.conf').read_text())

    def test_options_of_the_command_exist(self):
        line, = re.findall(r'^ExecStart=\S+ (.*)$', self.unit.read_text(), re.M)
        graph = self.write('site.toml', b'[graph]\nlinks = ["nothing -> null"]\n')
        done = self.trama(*line.replace('/etc/trama/%i.toml', str(graph)).replace('/run/trama', str(self.folder)).split(), code=2)
        self.assertIn('nothing', done.stderr)  # it got as far as the graph
        self.assertNotIn('unknown option', done.stderr)

    def test_systemd_takes_it(self):
        for name in ('as it is', 'with kernel filters'):
            with self.subTest(name):
                if name != 'as it is':
                    self.add_kernel_filters()
                code, said = self.analyze('verify', '--man=no', 'trama@site.service')
                ours = [line for line in said.splitlines() if 'trama' in line]
                self.assertEqual((code, ours), (0, []), said)

    def test_exposure(self):
        code, said = self.analyze('security', '--offline=true', '--threshold=20', '--no-pager', self.unit)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, 'Overall exposure level')


if __name__ == '__main__':
    unittest.main()
