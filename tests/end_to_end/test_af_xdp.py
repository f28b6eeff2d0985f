"""Capture through AF_XDP: as from a file, accounted for to the packet, and nothing left on the interface."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import support
from live import numbered
from network import Network
from support import LONG, TRAMA, TramaTest, ethernet, ipv4, mixed_packets, pcap

PLUGIN = pathlib.Path(TRAMA).parent / 'trama-af_xdp.so'


@unittest.skipUnless(PLUGIN.exists(), 'built without libxdp')
class XdpTest(TramaTest):
    MODE = 'auto'

    def setUp(self):
        super().setUp()
        self.net = Network()
        self.addCleanup(self.net.close)
        try:
            self.net.add_pair('v0', 'v1')
        except AssertionError as error:
            self.skipTest(f'no pair of interfaces here: {error}')
        self.graph = self.write('xdp.toml', self.trama('graph', '--builtin', 'xdp').stdout.encode())

    def command(self, *arguments, **parameters):
        self.out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / 'out'
        parameters = {'interfaces': ['v1'], 'role': 'tap', 'mode': self.MODE, **parameters}
        settings = [word for key, value in parameters.items()
                    for word in ('--set', f'stages.af_xdp.{key}={json.dumps(value)}')]
        return [TRAMA, 'run', self.graph, '-w', self.out, '--summary', '-', *settings, *arguments]

    def start(self, *arguments, **parameters):
        self.process = self.net.start(*self.command(*arguments, **parameters), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.kill)
        self.said = ''
        while 'listening on' not in self.said:
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                for reason in ('CAP_', 'no native', 'not permitted', 'not supported'):
                    if reason in self.said:
                        self.skipTest(self.said)
                self.fail(self.said)

    def end(self, code=0):
        stdout, stderr = self.process.communicate(timeout=support.TIMEOUT_S)
        self.said += stderr
        self.assertNotIn('Sanitizer', self.said)
        self.assertNotIn('runtime error:', self.said)
        if code is not None:
            self.assertEqual(self.process.returncode, code, self.said)
        self.summary = json.loads(stdout)
        return self.summary

    def stop(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        return self.end(code)

    def send(self, packets, times=1, interface='v0'):
        return self.net.send(interface, self.write('sent.pcap', pcap(packets)), times)

    def programs(self, interface='v1'):
        link, = json.loads(self.net.run('ip', '-d', '-j', 'link', 'show', interface))
        return link.get('xdp')

    def refused(self, words, *prefix, **parameters):
        done = subprocess.run([*self.net.prefix, *prefix, *map(str, self.command(**parameters))], capture_output=True,
                              text=True, timeout=support.TIMEOUT_S)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count('error:'), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(self.out.exists())


class Wire(XdpTest):
    """The same packets from the wire and from a file."""

    def packets(self):
        packets = [packet for packet in mixed_packets(3000, self.random) if len(packet) >= 14]
        for tags in ([0x8100], [0x88A8], [0x9100], [0x8100, 0x8100], [0x88A8, 0x8100, 0x8100]):
            packets += [ethernet(ipv4(0x0A000000 + i, 0xC0A80001), tags=tags) for i in range(50)]
        self.random.shuffle(packets)
        return packets

    def assert_as_from_the_file(self, *expression, **parameters):
        packets = self.packets()
        options = '--key', self.key_file(), '--window-packets', 500
        wanted, file_out = self.run_job(self.write('a.pcap', pcap(packets)), *options, *expression)
        self.start(*options, *expression, **parameters)
        self.assertEqual(self.send(packets), len(packets))
        summary = self.stop()
        self.assertEqual(summary['packets'], wanted['packets'], self.id_with_seed())
        self.assertEqual(summary['dropped'], {'kernel': 0, 'nic': 0, 'ring': 0})
        self.assertEqual([blob for *_, blob in support.blobs_in(self.out)],
                         [blob for *_, blob in support.blobs_in(file_out)], self.id_with_seed())
        self.assertEqual(summary['inputs'], [{'name': 'v1', 'packets': len(packets), 'bytes': sum(map(len, packets)),
                                              'status': 'ok', 'detail': ''}])

    def test_as_from_the_file(self):
        self.assert_as_from_the_file()
        self.assertIn('copying', self.said)  # a pair of virtual interfaces has no memory of its own to share
        self.assertIn('native mode', self.said)

    def test_generic(self):
        self.assert_as_from_the_file(mode='generic')
        self.assertIn('generic mode', self.said)

    def test_filter_expressions_see_the_tags(self):
        self.assert_as_from_the_file('vlan', '7')
        self.assertGreater(self.summary['packets']['filtered'], 1000)

    def test_few_frames(self):
        self.assert_as_from_the_file(frames=8192)

    def test_several_queues_and_replicas(self):
        self.net.run('ip', 'link', 'add', 'w0', 'numrxqueues', 2, 'numtxqueues', 2, 'type', 'veth',
                     'peer', 'name', 'w1', 'numrxqueues', 2, 'numtxqueues', 2)
        for name in ('w0', 'w1'):
            self.net.run('ip', 'link', 'set', name, 'up')
        self.start('--replicas', 'af_xdp=2', '--no-anonymize', interfaces=['w1'])
        self.send(numbered(1000), interface='w0')
        summary = self.stop()
        self.assertIn('2 queues', self.said)
        self.assertEqual(summary['packets']['counted'], 1000)
        matrix = support.open_blob(next(support.blobs_in(self.out))[2])
        self.assertEqual(matrix, {(i, 0xC0A80001): 1 for i in range(1000)})

    def test_several_interfaces(self):
        self.net.add_pair('w0', 'w1')
        self.start(interfaces=['v1', 'w1'])
        self.send(numbered(10))
        self.send(numbered(20), interface='w0')
        summary = self.stop()
        self.assertEqual([(i['name'], i['packets']) for i in summary['inputs']], [('v1', 10), ('w1', 20)])


class Accounts(XdpTest):
    """seen + dropped is what was sent."""

    def assert_closes(self, sent):
        dropped = self.summary['dropped']
        self.assertEqual(self.summary['packets']['seen'] + sum(dropped.values()), sent, (self.summary, self.said))
        self.assert_consistent()

    def assert_consistent(self):
        self.assertEqual(self.summary['inputs'][0]['packets'], self.summary['packets']['seen'])
        counted = sum(sum(support.open_blob(blob).values()) for *_, blob in support.blobs_in(self.out))
        self.assertEqual(counted, self.summary['packets']['counted'])

    def test_ten_packets_and_told_to_stop(self):
        for _ in range(5):
            self.start()
            self.send(numbered(10))
            time.sleep(0.05)
            self.stop()
            self.assertEqual(self.summary['packets']['counted'], 10)
            self.assert_closes(10)

    def test_a_flood_while_nobody_looks(self):
        """More than there are frames for, with the program stopped: what was lost is known to the packet."""
        self.start(frames=512)
        self.process.send_signal(signal.SIGSTOP)
        self.send(numbered(5000))
        self.process.send_signal(signal.SIGCONT)
        self.send(numbered(100, 5000))
        self.stop(code=3)
        self.assertGreater(self.summary['dropped']['ring'], 4000)
        self.assert_closes(5100)

    def test_stopped_in_a_flood(self):
        """The sender goes on while the run ends, and what comes then is the host's."""
        for _ in range(30 if LONG else 3):
            self.start(frames=2048)
            path = self.write('flood.pcap', pcap(numbered(1000)))
            sender = self.net.start(sys.executable, pathlib.Path(__file__).parent / 'send_frames.py', 'v0', path, 1000,
                                    stdout=subprocess.PIPE)
            time.sleep(0.3)
            self.process.send_signal(signal.SIGTERM)
            self.end(code=None)
            sender.terminate()
            sender.communicate()
            self.assertIn(self.process.returncode, (0, 3), self.said)
            self.assertGreater(self.summary['packets']['seen'], 0)
            self.assert_consistent()


class GenericAccounts(Accounts):
    MODE = 'generic'


class Filters(XdpTest):
    """Modules that judge in the kernel, on the hook that redirects what they pass."""
    OBJECT = str(pathlib.Path(TRAMA).parent / 'filters' / 'privacy_ranges.bpf.o')

    def start_with(self, *arguments, **parameters):
        self.start('--no-anonymize', *arguments, kernel_filters=[self.OBJECT], **parameters)

    def sources(self):
        return sorted(source for *_, blob in support.blobs_in(self.out) for source, _ in support.open_blob(blob))

    def test_what_they_remove_never_arrives(self):
        for mode in ('native', 'generic'):
            self.start_with(kernel_ranges=['0.0.0.0/29:source'], mode=mode)
            self.assertIn(f'v1: filters in {mode} mode', self.said)
            self.send(numbered(20))
            summary = self.stop()
            self.assertEqual((summary['packets']['seen'], summary['removed_in_kernel']), (12, 8))
            self.assertEqual(self.sources(), list(range(8, 20)))
            self.assertFalse(self.programs())

    def test_tags_hide_nothing(self):
        self.start_with(kernel_ranges=['10.0.0.0/8:either'])
        packets = [ethernet(ipv4(0x0A000000 + i, 0xC0A80001), tags=tags)
                   for tags in ([], [0x8100], [0x88A8, 0x8100]) for i in range(10)]
        self.send(packets)
        self.send(numbered(1, 0x0B000000))
        summary = self.stop()
        self.assertEqual((summary['packets']['counted'], summary['removed_in_kernel']), (1, 30))

    def test_files_are_read_again(self):
        ranges = self.write('ranges.txt', b'0.0.0.0/29:source\n')
        self.start_with(kernel_files=[str(ranges)])
        self.send(numbered(10))
        ranges.write_text('0.0.0.8/31:source\n')
        self.process.send_signal(signal.SIGUSR2)
        while 'read again' not in self.said:
            line = self.process.stderr.readline()
            self.assertTrue(line, self.said)
            self.said += line
        self.send(numbered(10))
        summary = self.stop()
        self.assertEqual((summary['packets']['seen'], summary['removed_in_kernel']), (2 + 8, 8 + 2))

    def test_a_flood(self):
        """seen + dropped + removed is what was sent, while it is stopped."""
        self.start_with(kernel_ranges=['0.0.0.0/22:source'], frames=2048)
        sent = self.send(numbered(5000), times=4)
        self.stop(code=None)
        summary = self.summary
        self.assertEqual(summary['packets']['seen'] + sum(summary['dropped'].values()) + summary['removed_in_kernel'], sent)
        self.assertEqual(summary['removed_in_kernel'], 4 * 1024)

    def test_modules_that_are_not_there(self):
        self.refused(['missing.bpf.o'], kernel_filters=['missing.bpf.o'])
        self.refused(['kernel_ranges', 'kernel_filters = ["NAME.bpf.o"]'], kernel_ranges=['10.0.0.0/8'])


class Interface(XdpTest):
    """The interface, and who else uses it."""

    def test_nothing_is_left(self):
        for end in (signal.SIGTERM, signal.SIGKILL):
            self.start()
            self.assertTrue(self.programs())
            self.process.send_signal(end)
            self.process.communicate(timeout=support.TIMEOUT_S)
            self.assertFalse(self.programs())
        self.start()  # and it can be used again
        self.send(numbered(3))
        self.assertEqual(self.stop()['packets']['counted'], 3)

    def test_one_that_is_used_already(self):
        self.start()
        first = self.process
        self.refused(['v1'])
        self.process = first
        self.send(numbered(3))
        self.stop()

    def test_a_host(self):
        self.refused(['takes all that arrives at an interface away from this host', 'role = "tap"'], role='host')

    def test_one_that_is_not_there(self):
        self.refused(['v7', 'v1'], interfaces=['v7'])

    def test_zero_copy_where_there_is_none(self):
        self.refused(['AF_XDP can\'t receive from queue 0 of v1', 'copy = "auto"'], copy='zero_copy')

    def test_without_privileges(self):
        if not shutil.which('setpriv'):
            self.skipTest('setpriv is not installed')
        self.refused(['CAP_BPF', 'CAP_NET_ADMIN', 'setcap'], 'setpriv', '--inh-caps=-all', '--bounding-set=-all')

    def test_promiscuous_unless_said(self):
        for wanted in (True, False):
            self.start(promiscuous=wanted)
            link, = json.loads(self.net.run('ip', '-d', '-j', 'link', 'show', 'v1'))
            self.assertEqual(link['promiscuity'], int(wanted))
            self.stop()

    def test_one_that_disappears(self):
        self.start()
        self.send(numbered(5))
        time.sleep(0.2)
        self.net.run('ip', 'link', 'delete', 'v1')
        summary = self.end(code=3)  # by itself
        self.assertEqual([(i['packets'], i['status']) for i in summary['inputs']], [(5, 'unreadable')])


if __name__ == '__main__':
    unittest.main()
