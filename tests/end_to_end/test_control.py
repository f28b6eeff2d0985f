"""A running engine is watched, asked and changed: control socket, status, ctl, top, metrics."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import termios
import time
import unittest
import urllib.request

import support
from support import TramaTest, ethernet, ipv4, pcap

GRAPH = """
[graph]
window_packets = {window_packets}
links = ["synthetic -> parse -> exclude -> in_order -> stamp", "stamp -> anonymize -> build -> serialize -> by_number -> archive"]
[stages.synthetic]
packets = 1_000_000_000_000
model = "{model}"
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.archive]
directory = "{out}"
"""
NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABELS = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')


def parse_metrics(text):
    """{(name, ((label, value), ...)): number} of the text format, version 0.0.4. Strict: anything else is an error."""
    assert text.endswith('\n')
    types, helped, samples = {}, set(), {}
    for line in text[:-1].split('\n'):
        if line.startswith('# HELP '):
            name = line.split(' ')[2]
            assert name not in helped, line
            helped.add(name)
        elif line.startswith('# TYPE '):
            _, _, name, kind = line.split(' ')
            assert kind in ('counter', 'gauge', 'summary', 'histogram', 'untyped') and name not in types, line
            types[name] = kind
        else:
            name = NAME.match(line).group()
            rest, labels = line[len(name):], ()
            if rest.startswith('{'):
                inside, rest = rest[1:].split('} ', 1)
                labels = tuple(LABELS.findall(inside))
                assert ','.join(f'{n}="{v}"' for n, v in labels) == inside, line
                rest = ' ' + rest
            assert re.fullmatch(r' (-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|[+-]?Inf|Nan)', rest), line
            family = name if name in types else re.sub('_(sum|count|bucket)$', '', name)
            assert family in types, f'no TYPE before {line}'
            assert (name, labels) not in samples, line
            samples[name, labels] = float(rest)
    return samples


class ControlTest(TramaTest):
    def start(self, *arguments, window_packets=2000, model='zipf', key=True, **options):
        """A run of generated packets without an end, its socket, its folder."""
        out = self.folder / 'out'
        graph = self.write('graph.toml', GRAPH.format(window_packets=window_packets, out=out, model=model).encode())
        return self.start_run(graph, '--socket', self.path, *(['--key', self.key_file()] if key else []), *arguments,
                              **options), out

    def start_run(self, *arguments, **options):
        run = subprocess.Popen([support.TRAMA, 'run', *map(str, arguments)], cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **{'stdin': subprocess.DEVNULL, **options})
        self.addCleanup(self.end, run)
        self.wait_for(lambda: self.path.exists() or run.poll() is not None, 'no socket')
        return run

    @staticmethod
    def end(run):
        if run.poll() is None:
            run.kill()
        run.communicate()

    @property
    def path(self):
        return self.folder / 'trama.sock'

    def wait_for(self, condition, what):
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.05)
        self.fail(what)

    def ask(self, **request):
        """The result, through a socket of our own."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.path))
            client.settimeout(60)
            client.sendall(json.dumps({'trama': 1, 'id': 'x', **request}).encode() + b'\n')
            answer = json.loads(client.makefile().readline())
        self.assertEqual((answer['trama'], answer['id'], answer['ok']), (1, 'x', True), answer)
        return answer['result']

    def answers(self):
        return self.trama('status', '--json', '--socket', self.path, code=None).returncode == 0

    def windows_done(self):
        return sum(self.ask(request='status')['windows'][kind] for kind in ('full', 'partial'))

    def wait_for_windows(self, more):
        wanted = self.windows_done() + more
        self.wait_for(lambda: self.windows_done() >= wanted, 'no windows')

    def ended(self, run, code=3):
        """Its summary on stdout, if any, and what it said."""
        stdout, stderr = run.communicate(timeout=support.TIMEOUT_S)
        self.assertNotIn('Sanitizer', stderr)
        self.assertNotIn('runtime error:', stderr)
        self.assertEqual(run.returncode, code, stderr[-2000:])
        return stdout, stderr

    def windows_in(self, out):
        return [w for manifest in support.manifests_in(out) for w in manifest['windows']]


class Changes(ControlTest):
    def test_exclusions_key_and_flush_close_windows(self):
        run, out = self.start('--exclude', '198.51.100.0/24', '--summary', '-', window_packets=100_000, model='uniform')
        self.wait_for_windows(2)
        self.assertEqual(self.trama('ctl', 'exclude', 'add', '0.0.0.0/1:source').stdout, '2 exclusion ranges from now on\n')
        self.wait_for_windows(3)
        self.assertEqual(self.trama('ctl', 'exclude', 'add', '0.0.0.0/1:source').stdout, '2 exclusion ranges as before\n')
        self.assertEqual(self.trama('ctl', 'exclude', 'list').stdout,
                         '198.51.100.0/24\n0.0.0.0/1:source\n2 different ranges in force\n')
        self.trama('ctl', 'exclude', 'remove', '0.0.0.0/1:source')
        self.wait_for_windows(3)
        other = self.folder / 'other.key'
        self.trama('key', 'new', other)
        self.assertIn('another key from now on', self.trama('ctl', 'rotate-key', 'other.key').stdout)
        self.wait_for_windows(3)
        self.trama('ctl', 'flush')
        self.wait_for_windows(3)
        self.assertIn('finishes', self.trama('ctl', 'stop').stdout)
        summary, stderr = self.ended(run)
        for note in ('2 exclusion ranges from now on', '1 exclusion range from now on', 'another key', 'told to stop'):
            self.assertIn(note, stderr)
        self.assertNotIn('0.0.0.0', stderr)
        self.assertNotIn('198.51', stderr)

        windows = self.windows_in(out)
        reasons = [w['closed_by'] for w in windows if w['closed_by'] not in ('full', 'end')]
        # A change that falls together with the end of a window closes nothing; that all of them do is out of the question.
        self.assertLessEqual(set(reasons), {'exclusions', 'key', 'flush'})
        self.assertIn(len(reasons), range(1, 5))
        lists = [w['exclusions'] for w in windows]
        keys = [w['key'] for w in windows]
        changes = [i for i in range(1, len(windows)) if (lists[i], keys[i]) != (lists[i - 1], keys[i - 1])]
        self.assertEqual(len(changes), 3)
        added, removed, rotated = changes
        self.assertEqual(lists[0], lists[removed])
        self.assertNotEqual(keys[rotated], keys[0])
        for index, window in enumerate(windows):
            half_out = added <= index < removed
            excluded = window['verdicts']['excluded']
            if half_out:  # of uniform sources
                self.assertGreater(excluded, window['verdicts']['counted'] / 2)
            else:
                self.assertLess(excluded, window['verdicts']['counted'] / 100 + 1)
        summary = json.loads(summary)
        self.assertEqual(summary['packets']['excluded'], sum(w['verdicts']['excluded'] for w in windows) +
                         sum(m['tail']['verdicts']['excluded'] for m in support.manifests_in(out)))
        self.trama('verify', out)

    def test_no_packet_escapes_a_range_once_the_answer_is_there(self):
        """Packets that enter after the answer are judged by the new list, whatever is under way."""
        reading, writing = os.pipe()
        run = self.start_run('-r', '-', '-w', self.folder / 'out', '--socket', self.path, '--no-anonymize', '--summary', '-',
                             stdin=reading)
        os.close(reading)
        pipe = open(writing, 'wb')
        packets = pcap([ethernet(ipv4(0x0A000001, 0xC0000201))] * 5000)
        pipe.write(packets)
        pipe.flush()
        self.wait_for(lambda: self.ask(request='status')['read']['packets'] == 5000, 'not all was read')
        self.assertEqual(self.ask(request='exclude add', range='10.0.0.1')['changed'], True)
        pipe.write(packets[24:])  # without the header
        pipe.flush()
        self.wait_for(lambda: self.ask(request='status')['read']['packets'] == 10_000, 'not all was read')
        pipe.close()
        summary, _ = self.ended(run, code=0)
        packets = json.loads(summary)['packets']
        self.assertEqual((packets['counted'], packets['excluded']), (5000, 5000))

    def test_reload(self):
        ranges = self.write('ranges.txt', b'10.0.0.0/8\n')
        run, out = self.start('--exclude-file', ranges)
        self.wait_for_windows(2)
        self.assertIn('as before', self.trama('ctl', 'reload').stdout)
        new = self.write('new.txt', b'10.0.0.0/8\n192.0.2.0/24\n')
        os.replace(new, ranges)
        self.assertEqual(self.trama('ctl', 'reload').stdout, '2 exclusion ranges from now on\n')
        ranges.write_text('nonsense\n')
        self.assertIn(f'{ranges}:1', self.trama('ctl', 'reload', code=1).stderr)
        self.wait_for_windows(2)
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertEqual(len({w['exclusions'] for w in self.windows_in(out)}), 2)

    def test_what_cannot_be_done_is_refused_and_nothing_changes(self):
        run, out = self.start(window_packets=500)
        for words, said in ((['exclude', 'add', '10.0.0.1/8'], 'bits set behind'),
                            (['exclude', 'remove', '10.0.0.0/8'], 'not among those'),
                            (['reload'], 'no file of ranges'),
                            (['rotate-key', self.folder / 'nothing'], 'nothing'),
                            (['rotate-key', '/dev/null'], 'regular file')):
            self.assertIn(said, self.trama('ctl', *words, code=1).stderr)
        for words in (['exclude'], ['exclude', 'add'], ['exclude', 'add', '10.0.0.0/8', 'more'], ['rotate-key'], ['stopp'], [],
                      ['stop', '--ephemeral'], ['rotate-key', '--ephemeral', 'file']):
            self.trama('ctl', *words, code=2)
        self.wait_for_windows(2)
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertEqual({w['closed_by'] for w in self.windows_in(out)} - {'end'}, {'full'})


class Watching(ControlTest):
    def test_status_for_people_and_programs(self):
        run, _ = self.start('--sensor', 'tap-3')
        self.wait_for_windows(3)
        page = self.trama('status').stdout
        for part in ('sensor tap-3', 'packets/s', 'counted', 'dropped', 'full', 'synthetic', 'archive', 'closed by'):
            self.assertIn(part, page)
        status = json.loads(self.trama('status', '--json', '--socket', self.path).stdout)
        self.assertEqual(status['pid'], run.pid)
        self.assertEqual(status['packets']['seen'], sum(v for k, v in status['packets'].items() if k != 'seen'))
        self.assertGreaterEqual(status['read']['packets'], status['packets']['seen'])
        self.assertLessEqual(status['windows']['full'] * 2000, status['packets']['counted'])  # windows come later
        later = json.loads(self.trama('ctl', 'status').stdout)
        self.assertGreater(later['seconds'], status['seconds'])
        windows = self.ask(request='windows', last=3)['windows']
        self.assertEqual([w['packets'] for w in windows], [2000] * 3)
        self.assertEqual([w['seq'] for w in windows], list(range(windows[0]['seq'], windows[0]['seq'] + 3)))
        stages = self.ask(request='counters')['stages']
        self.assertEqual(stages[0]['stage'], 'synthetic')
        run.send_signal(signal.SIGTERM)
        self.ended(run)
        self.assertIn('no running engine', self.trama('status', code=1).stderr)

    def test_the_engine_lets_nobody_hold_it_up(self):
        run, _ = self.start()
        with contextlib.ExitStack() as held:
            for number in range(200):
                client = held.enter_context(socket.socket(socket.AF_UNIX))
                client.connect(str(self.path))  # waits where many do
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                    client.send([b'{"trama": 1, "requ', b'{"trama":1,"request":"status"}\n' * 3000, b'x' * 100_000, b''][number % 4])
            # Sixty-four are let in and stay; that the engine goes on shows in its archives.
            count = len(list(self.folder.glob('out/*')))
            self.wait_for(lambda: len(list(self.folder.glob('out/*'))) > count + 1, 'the engine stands still')
        self.wait_for(self.answers, 'nobody is let in any more')
        run.send_signal(signal.SIGTERM)
        self.ended(run)

    def test_metrics(self):
        run, _ = self.start('--metrics', '0')
        url = ''
        while not url:
            line = run.stderr.readline()
            self.assertTrue(line, 'it has ended')
            url = ''.join(re.findall(r'metrics at (http://127\.0\.0\.1:\d+/metrics)', line))
        self.wait_for_windows(2)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

        def scrape():
            with opener.open(url, timeout=60) as answer:
                self.assertTrue(answer.headers['Content-Type'].startswith('text/plain'))
                return parse_metrics(answer.read().decode())
        first = scrape()
        self.wait_for_windows(2)
        second = scrape()
        self.assertEqual({s for s in first if s[0].startswith('trama_')}, {s for s in second if s[0].startswith('trama_')})
        for (name, labels), value in first.items():
            if name.endswith('_total'):
                self.assertLessEqual(value, second[name, labels], name)
        counted = 'trama_packets_total', (('verdict', 'counted'),)
        full = 'trama_windows_total', (('kind', 'full'),)
        self.assertGreater(second[counted], first[counted])
        self.assertLessEqual(second[full] * 2000, second[counted])  # windows come later
        busy = [value for (name, _), value in second.items() if name == 'trama_stage_busy_seconds_total']
        self.assertGreater(sum(busy), 0)
        run.send_signal(signal.SIGTERM)
        self.ended(run)

    def test_metrics_for_others_are_warned_of_and_a_taken_port_is_refused(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            out = self.folder / 'out'
            run, _ = self.start('--metrics', str(taken.getsockname()[1]))
            _, stderr = self.ended(run, code=2)
            self.assertIn('can\'t listen at 127.0.0.1', stderr)
            self.assertFalse(out.exists())
            self.assertFalse(self.path.exists(), 'the socket was left')
        run, _ = self.start('--metrics', '0.0.0.0:0')
        self.trama('ctl', 'stop')
        _, stderr = self.ended(run)
        self.assertIn('other machines', stderr)
        self.assertIn('9100 for this machine alone', self.trama('run', '-r', 'x', '--metrics', 'x', code=2).stderr)


class Top(ControlTest):
    def watch(self, *arguments):
        """`trama top` on a terminal of 30 x 100."""
        screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 100, 0, 0))
        before = termios.tcgetattr(terminal)
        top = subprocess.Popen([support.TRAMA, 'top', '--interval', '0.1', *map(str, arguments)], cwd=self.folder,
                               stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
        self.addCleanup(os.close, screen)
        self.addCleanup(os.close, terminal)
        self.addCleanup(self.end, top)
        return top, screen, terminal, before

    def read_until(self, screen, done, seen=b''):
        deadline = time.monotonic() + 60
        while not done(seen):
            self.assertLess(time.monotonic(), deadline, seen[-500:])
            if select.select([screen], [], [], 1)[0]:
                seen += os.read(screen, 65536)
        return seen

    def test_screen_and_way_back(self):
        run, _ = self.start()
        self.wait_for_windows(2)
        for leave in (b'q', signal.SIGINT, signal.SIGTERM):
            with self.subTest(leave=leave):
                top, screen, terminal, before = self.watch()
                seen = self.read_until(screen, lambda seen: seen.count(b'\x1b[H') >= 3)
                self.assertTrue(seen.startswith(b'\x1b[?1049h\x1b[?25l'), seen[:40])
                for part in (b'packets/s', b'synthetic', b'closed by', b'q quits'):
                    self.assertIn(part, seen)
                lines = re.sub(rb'\x1b\[[0-9;?]*[A-Za-z]', b'', seen.split(b'\x1b[H')[1]).split(b'\r\n')
                self.assertLessEqual(len(lines), 30)
                self.assertLessEqual(max(map(len, lines)), 100)
                os.write(screen, leave) if isinstance(leave, bytes) else top.send_signal(leave)
                seen = self.read_until(screen, lambda seen: seen.endswith(b'\x1b[?25h\x1b[?1049l'), seen)
                self.assertEqual(top.wait(60), 128 + leave if leave == signal.SIGTERM else 0)
                self.assertEqual(termios.tcgetattr(terminal), before)
        self.trama('ctl', 'stop')
        self.ended(run)

    def test_stops_and_comes_back(self):
        run, _ = self.start()
        top, screen, _, _ = self.watch()
        seen = self.read_until(screen, lambda seen: b'q quits' in seen)
        top.send_signal(signal.SIGTSTP)
        self.read_until(screen, lambda seen: seen.endswith(b'\x1b[?25h\x1b[?1049l'), seen)
        self.wait_for(lambda: ' T ' in pathlib.Path(f'/proc/{top.pid}/stat').read_text(), 'it goes on')
        top.send_signal(signal.SIGCONT)
        self.read_until(screen, lambda seen: b'\x1b[?1049h' in seen and b'q quits' in seen)
        os.write(screen, b'q')
        self.assertEqual(top.wait(60), 0)
        self.trama('ctl', 'stop')
        self.ended(run)

    def test_the_end_of_the_run(self):
        run, _ = self.start()
        top, screen, _, _ = self.watch('--socket', self.path)
        seen = self.read_until(screen, lambda seen: b'q quits' in seen)
        self.trama('ctl', 'stop')
        self.ended(run)
        seen = self.read_until(screen, lambda seen: b'has gone away' in seen, seen)
        self.assertIn(b'\x1b[?1049l', seen)
        self.assertEqual(top.wait(60), 0)

    def test_without_a_terminal_one_page(self):
        run, _ = self.start()
        page = self.trama('top').stdout
        self.assertIn('packets/s', page)
        self.assertNotIn('\x1b', page)
        self.trama('ctl', 'stop')
        self.ended(run)


class Sockets(ControlTest):
    def test_mode_stale_live_and_gone_at_the_end(self):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(self.path))
        left.close()
        run, _ = self.start(umask=0)
        self.wait_for(self.answers, 'the left-over was not replaced')
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        other = self.trama('run', self.folder / 'graph.toml', '--socket', self.path, '-w', self.folder / 'other', code=2)
        self.assertIn('another run listens', other.stderr)
        self.assertFalse((self.folder / 'other').exists())
        self.assertEqual(self.ask(request='status')['pid'], run.pid)
        run.send_signal(signal.SIGTERM)
        self.ended(run)
        self.assertFalse(self.path.exists())

    def test_gone_also_where_the_run_ends_at_once_or_fails(self):
        run, _ = self.start()
        run.send_signal(signal.SIGSTOP)
        run.send_signal(signal.SIGTERM)
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGCONT)  # both are there when it looks
        self.assertIn(run.wait(60), (128 + signal.SIGTERM, 128 + signal.SIGINT))
        self.assertFalse(self.path.exists())
        missing = self.trama('run', '-r', '-', '-w', self.folder / 'o', '--socket', self.path, code=1)
        self.assertFalse(self.path.exists(), missing.stderr)

    def test_a_killed_run_leaves_a_socket_that_the_next_one_replaces(self):
        run, _ = self.start()
        run.kill()
        run.wait(60)
        self.assertTrue(self.path.exists())
        self.assertIn('no running engine', self.trama('status', code=1).stderr)
        self.assertIn('has ended', self.trama('status', '--socket', self.path, code=1).stderr)
        run, _ = self.start()
        self.wait_for(self.answers, 'the left-over was not replaced')
        self.trama('ctl', 'stop')
        self.ended(run)

    def test_places_that_cannot_be_used(self):
        self.write('file', b'mine')
        for path, said in (('file', 'another kind'), ('nowhere/a.sock', 'folder'), ('x' * 200, 'name of a socket')):
            done = self.trama('run', '-r', '-', '-w', self.folder / 'out', '--socket', path, code=2)
            self.assertIn(said, done.stderr)
        self.assertEqual((self.folder / 'file').read_bytes(), b'mine')
        self.assertFalse((self.folder / 'out').exists())


class AsUser(ControlTest):
    @unittest.skipUnless(os.geteuid() == 0, 'only root can go on as another user')
    def test_belongs_to_the_user_that_the_run_goes_on_as(self):
        self.folder.chmod(0o777)
        run, _ = self.start('--user', 'nobody', key=False)
        self.wait_for(self.answers, 'nobody answers')
        owner = self.path.stat()
        self.assertEqual((owner.st_uid != 0, stat.S_IMODE(owner.st_mode)), (True, 0o600))
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertFalse(self.path.exists())


if __name__ == '__main__':
    unittest.main()
