"""Subscribers that stop, get stuck or vanish, and connections that say nothing: others don't notice, memory is bounded,
and whoever comes back knows what it has missed."""
import fcntl
import os
import resource
import signal
import socket
import struct
import time
import unittest

import support
from network import Network
from streams import StreamTest, resident_kib
from support import ethernet, ipv4, pcap

MOST_GROWTH_KIB = 48 << 10  # of a publisher or subscriber, whatever happens
LEAST_BYTES = 160 << 20     # are published meanwhile
FORGOTTEN_S = 12            # who is silent for 10 s is forgotten by then
F_SETPIPE_SZ = 1031


class Peers(StreamTest):
    def catch_up(self, run, subscriber, windows):
        """More windows, until the subscriber has one of them; what it got is added to `windows`."""
        number = self.sent
        while windows[-1]['seq'] < number:
            self.send_windows(run, 1)
            time.sleep(0.05)
            while self.has_output(subscriber):
                windows.append(self.next_window(subscriber))
            self.assertLess(self.sent, number + 4000, 'it does not come back')
        self.assert_account(windows)


class Stopped(Peers):
    WINDOW = 20_000

    def setUp(self):
        super().setUp()
        # The address sanitizer would keep what was freed, up to 256 MB of it.
        options = os.environ.get('ASAN_OPTIONS', '')
        os.environ['ASAN_OPTIONS'] = f'{options}:quarantine_size_mb=4'
        self.addCleanup(os.environ.update, ASAN_OPTIONS=options)

    def packets_of_a_window(self, number):
        if not hasattr(self, 'packets'):
            draw = self.random.randrange
            self.packets = [ethernet(ipv4(draw(1 << 32), draw(1 << 32))) for _ in range(self.WINDOW)]
        return self.packets

    def flood(self, run, quick, last, watched, least_s=0):
        """Many windows, as fast as one takes them who takes all. Memory of those who are watched stays as it is then."""
        before, bytes_read, began = {}, 0, time.monotonic()
        message = pcap(self.packets_of_a_window(0))[24:]
        while bytes_read < LEAST_BYTES or time.monotonic() < began + (300 if support.LONG else least_s):
            run.stdin.write(message)
            run.stdin.flush()
            self.sent += 1
            while last < self.sent - 4:  # no faster than it takes them
                window = self.next_window(quick)
                self.assertEqual((window['seq'], window['missed']), (last + 1, 0))
                last, bytes_read = window['seq'], bytes_read + window['bytes']
            if not before and bytes_read > LEAST_BYTES / 8:
                before = {name: resident_kib(process) for name, process in watched.items()}
            for name, kib in before.items():
                self.assertLess(resident_kib(watched[name]) - kib, MOST_GROWTH_KIB, name)
            time.sleep(0.005)
        self.follow_to(quick, last, self.sent - 1)

    def test_memory_is_bounded(self):
        run = self.start_run('linger = 60', archive=None, more={'tcp': 'url = "trama+tcp://127.0.0.1:0/roof"\nlinger = 60'})
        tcp = self.url_of(run, scheme=r'trama\+tcp')
        quick = self.subscribe()
        stopped = [self.subscribe(), self.subscribe(url=tcp)]
        stuck = self.subscribe('--drop', url=tcp)  # nobody reads what it writes
        fcntl.fcntl(stuck.stdout, F_SETPIPE_SZ, 4096)
        first, *windows = self.send_until_there(run, quick, *stopped, stuck)
        windows = [[window] for window in windows]
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        self.flood(run, quick, first['seq'], {'the publisher': run, 'a subscriber that is stuck': stuck}, FORGOTTEN_S)
        quick.kill()
        for process in stopped:
            process.send_signal(signal.SIGCONT)
        for process, got in zip([*stopped, stuck], windows):
            self.catch_up(run, process, got)
            self.assertGreater(sum(window['missed'] for window in got), 0)
        self.end(run)
        for process, got in zip([*stopped, stuck], windows):
            got += self.windows_of(process, code=3)
            self.assert_account(got)
            self.assertEqual(got[-1]['seq'], self.sent - 1)

    def test_memory_of_a_relay_is_bounded(self):
        run = self.start_run('linger = 60', archive=None)
        relay = self.spawn('relay', self.ipc, '--to', 'trama+tcp://127.0.0.1:0/roof', '--linger', '60')
        url = self.url_of(relay, words=' at ')
        quick, stopped = self.subscribe(url=url), self.subscribe(url=url)
        first, *windows = self.send_until_there(run, quick, stopped)
        stopped.send_signal(signal.SIGSTOP)
        self.flood(run, quick, first['seq'], {'the relay': relay})
        quick.kill()
        stopped.send_signal(signal.SIGCONT)
        self.catch_up(run, stopped, windows)
        self.assertGreater(sum(window['missed'] for window in windows), 0)
        self.end(run)
        windows += self.windows_of(stopped, code=3)
        self.assert_account(windows)
        self.assertEqual(windows[-1]['seq'], self.sent - 1)
        relay.wait(timeout=support.TIMEOUT_S)
        self.assertEqual(relay.returncode, 0, self.text_said(relay))


class HalfOpen(Peers):
    def test_a_thousand_of_them_keep_nobody_out(self):
        wanted, hard = 1200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < 2 * wanted:
            self.skipTest(f'fewer than {2 * wanted} descriptors may be open here')
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        run = self.start_run(url='trama+tcp://127.0.0.1:0/roof')
        url = self.url_of(run)
        port = int(url.split(':')[2].split('/')[0])
        greeting = b'\xff' + struct.pack('>Q', 1) + b'\x7f'  # how ZMTP begins, and nothing behind it
        for number in range(1000):
            silent = socket.create_connection(('127.0.0.1', port), timeout=support.TIMEOUT_S)
            self.addCleanup(silent.close)
            if number % 2:
                silent.sendall(greeting)
        subscriber = self.subscribe(url=url)
        first, = self.send_until_there(run, subscriber)
        self.send_windows(run, 3)
        self.follow_to(subscriber, first['seq'], self.sent - 1)
        self.end(run)
        self.assertEqual(self.windows_of(subscriber), [])


class Vanished(Peers):
    def cut_off(self):
        """Packets go nowhere, and nobody is told: they are for a machine that isn't there."""
        for network, interface, address in self.ends:
            network.run('ip', 'neigh', 'replace', address, 'lladdr', '02:00:00:00:00:99', 'dev', interface, 'nud', 'permanent')

    def mend(self):
        for network, interface, address in self.ends:
            network.run('ip', 'neigh', 'del', address, 'dev', interface)

    def setUp(self):
        super().setUp()
        self.near, self.far = Network(), Network()
        self.addCleanup(self.near.close)
        self.addCleanup(self.far.close)
        self.near.run('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far')
        self.near.run('ip', 'link', 'set', 'far', 'netns', self.far.holder.pid)
        for network, interface, address in ((self.near, 'near', '10.1.0.1/24'), (self.far, 'far', '10.1.0.2/24')):
            network.run('ip', 'address', 'add', address, 'dev', interface)
            for name in (interface, 'lo'):
                network.run('ip', 'link', 'set', name, 'up')
        self.ends = (self.near, 'near', '10.1.0.2'), (self.far, 'far', '10.1.0.1')

    def test_it_is_forgotten_and_comes_back(self):
        run = self.start_run('insecure = true', url='trama+tcp://10.1.0.1:0/roof', prefix=self.near.prefix)
        url = self.url_of(run)
        vanishes, stays = self.subscribe(url=url, prefix=self.far.prefix), self.subscribe(url=url, prefix=self.near.prefix)
        first, first_of_stays = self.send_until_there(run, vanishes, stays)
        last, windows = first_of_stays['seq'], [first]
        self.cut_off()
        before, until = resident_kib(run), time.monotonic() + FORGOTTEN_S
        while time.monotonic() < until:
            self.send_windows(run, 2)
            last = self.follow_to(stays, last, self.sent - 1)
            time.sleep(0.05)
        self.assertLess(resident_kib(run) - before, MOST_GROWTH_KIB)
        while self.has_output(vanishes):
            windows.append(self.next_window(vanishes))
        self.assertLess(windows[-1]['seq'], last)
        self.mend()
        self.catch_up(run, vanishes, windows)
        self.follow_to(stays, last, self.sent - 1)
        said = self.end(run)
        self.assertEqual(self.windows_of(stays), [])
        windows += self.windows_of(vanishes, code=3)
        self.assert_account(windows)
        self.assertEqual(windows[-1]['seq'], self.sent - 1)
        self.assertIn('3 subscribed', said)  # one of them twice


class Replay(StreamTest):
    def test_a_late_subscriber_has_the_whole_run(self):
        run = self.start_run('queue = 4\nreplay = true\nlinger = 60', archive='windows_per_archive = 16')
        live = self.subscribe()
        first, = self.send_until_there(run, live)
        last = first['seq']
        for _ in range(300 - self.sent):
            self.send_windows(run, 1)
            last = self.follow_to(live, last, self.sent - 1)
        late = self.subscribe('--number', '0', '-w', 'copy')
        windows = [self.next_window(late)]
        while windows[-1]['seq'] < self.sent - 1:
            windows.append(self.next_window(late))
        self.send_windows(run, 5)
        self.end(run)
        self.windows_of(live)
        windows += self.windows_of(late)
        self.assertEqual([(w['seq'], w['missed'], w['sensor']) for w in windows], [(n, 0, 'roof') for n in range(self.sent)])
        self.trama('verify', self.folder / 'copy')
        self.assertEqual([blob for *_, blob in support.blobs_in(self.folder / 'copy')],
                         [blob for *_, blob in support.blobs_in(self.folder / 'out')])
        entries = [w for manifest in support.manifests_in(self.folder / 'out') for w in manifest['windows']]
        for window, entry in zip(windows, entries, strict=True):
            for key in ('seq', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(window[key], entry[key], key)


if __name__ == '__main__':
    unittest.main()
