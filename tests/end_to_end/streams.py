"""A run that publishes what it reads from standard input, and those who subscribe to it: for the tests of streams."""
import contextlib
import json
import re
import select
import subprocess
import time

import support
from support import TramaTest, ethernet, ipv4, pcap

PAUSE_S = 0.02


class StreamTest(TramaTest):
    WINDOW = 1000

    @property
    def ipc(self):
        return f'trama+ipc://{self.folder / "socket"}'

    def graph(self, publish='', archive='', url=None, more=None, encoding='blob'):
        """A graph file: it archives (parameters; None: not at all) and publishes. `more`: {name: parameters} of further
        stages that publish. Archives take blobs."""
        more = more or {}
        tables = ''.join(f'[stages.{name}]\nkind = "publish"\n{parameters}\n' for name, parameters in more.items())
        if archive is not None:
            tables += f'[stages.archive]\ndirectory = "{self.folder / "out"}"\n{archive}\n'
        sinks = ', '.join([*(['archive'] if archive is not None else []), 'publish', *more])
        return self.write('g.toml', f'''
[graph]
window_packets = {self.WINDOW}
links = ["pcap -> parse -> in_order -> stamp -> anonymize -> build -> serialize -> by_number -> {sinks}"]
[stages.pcap]
files = ["-"]
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.serialize]
encoding = "{encoding}"
[stages.publish]
url = "{url or self.ipc}"
sensor = "roof"
{publish}
{tables}
'''.encode())

    def spawn(self, *arguments, prefix=(), **options):
        """The program, with what it says on stderr in a file."""
        said = open(self.folder / f'said-{time.monotonic_ns()}', 'w+b')
        self.addCleanup(said.close)
        process = subprocess.Popen([*prefix, support.TRAMA, *map(str, arguments)], cwd=self.folder,
                                   **{'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': said, **options})
        process.said = said
        for pipe in (process.stdin, process.stdout):
            if pipe:
                self.addCleanup(self.close_quietly, pipe)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def close_quietly(pipe):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()

    @staticmethod
    def text_said(process):
        process.said.seek(0)
        return process.said.read().decode(errors='replace')

    def await_that(self, condition, what):
        """Until it holds. Generous: a test that passes doesn't wait for it."""
        until = time.monotonic() + support.TIMEOUT_S / 2
        while not (result := condition()):
            self.assertLess(time.monotonic(), until, f'in vain waited for {what}')
            time.sleep(PAUSE_S)
        return result

    def start_run(self, publish='', prefix=(), **graph):
        run = self.spawn('run', self.graph(publish, **graph), '--key', self.key_file(), prefix=prefix, stdin=subprocess.PIPE)
        run.stdin.write(pcap([]))
        run.stdin.flush()
        self.sent = 0
        return run

    def url_of(self, process, words='publishing at ', scheme='trama'):
        """Where it says that it can be subscribed to."""
        pattern = re.compile(re.escape(words) + rf'({scheme}\S+)')
        return self.await_that(lambda: pattern.search(self.text_said(process)), words).group(1)

    def packets_of_a_window(self, number):
        begin_ns = support.T0 * 10**9 + number * self.WINDOW * 1000
        return [(ethernet(ipv4(0x0A000000 + (number * 7 + i * i) % 500, 0xC0000200 + i % 9)), begin_ns + i * 1000)
                for i in range(self.WINDOW)]

    def send_windows(self, run, count):
        for _ in range(count):
            run.stdin.write(pcap(self.packets_of_a_window(self.sent))[24:])
            self.sent += 1
        run.stdin.flush()

    def subscribe(self, *arguments, url=None, prefix=()):
        # Unbuffered: lines are read one by one, and what is left by communicate().
        return self.spawn('subscribe', '--json', '-q', url or self.ipc, *arguments, prefix=prefix, stdout=subprocess.PIPE,
                          bufsize=0)

    def send_until_there(self, run, *subscribers):
        """Windows, until each of the subscribers has had one: the first of each."""
        first = {}
        while len(first) < len(subscribers):
            self.send_windows(run, 1)
            time.sleep(0.05)
            for subscriber in subscribers:
                if subscriber.pid not in first and self.has_output(subscriber):
                    first[subscriber.pid] = self.next_window(subscriber)
            self.assertLess(self.sent, 4000, 'windows that nobody gets')
        return [first[subscriber.pid] for subscriber in subscribers]

    @staticmethod
    def has_output(process):
        return bool(select.select([process.stdout], [], [], 0)[0])

    def next_window(self, subscriber):
        self.assertTrue(select.select([subscriber.stdout], [], [], support.TIMEOUT_S)[0], 'no window came')
        line = subscriber.stdout.readline()
        self.assertTrue(line, self.text_said(subscriber))
        return json.loads(line)

    def follow_to(self, subscriber, last, number):
        """Reads on from window `last` to window `number`, without a loss."""
        while last < number:
            window = self.next_window(subscriber)
            self.assertEqual((window['seq'], window['missed']), (last + 1, 0))
            last = window['seq']
        return last

    def end(self, run, code=0):
        run.stdin.close()
        run.wait(timeout=support.TIMEOUT_S)
        said = self.text_said(run)
        self.assertEqual(run.returncode, code, said)
        self.assertNotIn('Sanitizer', said)
        return said

    def windows_of(self, subscriber, code=0):
        stdout, _ = subscriber.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(subscriber.returncode, code, self.text_said(subscriber))
        return [json.loads(line) for line in stdout.splitlines()]

    def assert_account(self, windows):
        """Every number is there or said to be missed, once."""
        for window, following in zip(windows, windows[1:]):
            self.assertEqual(following['seq'], window['seq'] + 1 + following['missed'])


def resident_kib(process):
    with open(f'/proc/{process.pid}/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS:'))
