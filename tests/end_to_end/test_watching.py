"""A running engine is watched: status, top, metrics."""
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
import struct
import subprocess
import termios
import time
import unittest
import urllib.request

import support
from control import ControlTest

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
        for window in windows:
            self.assertLessEqual(window['sources'], window['links'])
        self.wait_for(self.measured_window, 'no window is measured')
        self.assertEqual([w['seq'] for w in windows], list(range(windows[0]['seq'], windows[0]['seq'] + 3)))
        stages = self.ask(request='counters')['stages']
        self.assertEqual(stages[0]['stage'], 'synthetic')
        run.send_signal(signal.SIGTERM)
        self.ended(run)
        self.assertIn('no running engine', self.trama('status', code=1).stderr)

    def measured_window(self):
        """One among the last; one a second is, and here windows come faster."""
        for window in self.ask(request='windows', last=64)['windows']:
            if window['quantities'] and window['links']:
                names = 'packets', 'links', 'sources', 'destinations'
                self.assertEqual([window['quantities'][f'n_{name}'] for name in names], [window[name] for name in names])
                return True
        return False

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


if __name__ == '__main__':
    unittest.main()
