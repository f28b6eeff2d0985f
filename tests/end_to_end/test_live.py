"""Live capture: what was on the wire is in the matrices."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

import support
from live import LiveRun, LiveTest, numbered
from support import ethernet, ipv4, mixed_packets, pcap


class Wire(LiveTest):
    """The same packets from the wire and from a file."""

    def ethtool(self, *arguments):
        if not shutil.which('ethtool'):
            self.skipTest('ethtool is not installed')
        self.net.run('ethtool', *arguments)

    def packets(self):
        packets = [packet for packet in mixed_packets(3000, self.random) if len(packet) >= 14]
        for tags in ([0x8100], [0x88A8], [0x9100], [0x8100, 0x8100], [0x88A8, 0x8100, 0x8100]):
            packets += [ethernet(ipv4(0x0A000000 + i, 0xC0A80001), tags=tags) for i in range(50)]
        self.random.shuffle(packets)
        return packets

    def assert_same(self, packets, *expression):
        arguments = '--key', self.key_file(), '--window-packets', 500
        wanted, file_out = self.run_job(self.write('a.pcap', pcap(packets)), *arguments, *expression)
        run = LiveRun(self, *arguments, *expression)
        self.assertEqual(self.send(packets), len(packets))
        summary = run.stop()
        self.assertEqual(summary['packets'], wanted['packets'], self.id_with_seed())
        self.assertEqual(summary['dropped'], {'kernel': 0, 'nic': 0, 'ring': 0})
        self.assertEqual(summary['windows'], wanted['windows'])
        self.assertEqual([blob for *_, blob in support.blobs_in(run.out)],
                         [blob for *_, blob in support.blobs_in(file_out)], self.id_with_seed())
        self.assertEqual(summary['inputs'], [{'name': 'v1', 'packets': len(packets), 'bytes': sum(map(len, packets)),
                                              'status': 'ok', 'detail': ''}])
        return summary

    def test_as_from_the_file(self):
        self.assert_same(self.packets())

    def test_whichever_side_takes_vlan_tags_off(self):
        for receives, sends in (('off', 'off'), ('on', 'off'), ('off', 'on')):
            with self.subTest(receives=receives, sends=sends):
                self.ethtool('-K', 'v1', 'rxvlan', receives)
                self.ethtool('-K', 'v0', 'txvlan', sends)
                self.assert_same(self.packets())

    def test_filter_expressions_see_the_tags(self):
        summary = self.assert_same(self.packets(), 'vlan', '7')
        self.assertGreaterEqual(summary['packets']['counted'], 200)
        self.assertGreater(summary['packets']['filtered'], 1000)

    def test_snap_length(self):
        packets = [ethernet(ipv4(0x0A000001, 0xC0A80001, bytes(1200)))] * 100
        run = LiveRun(self, '--set', 'stages.af_packet.snap_bytes=64')
        self.send(packets)
        summary = run.stop()
        self.assertEqual(summary['packets']['counted'], 100)
        self.assertEqual(summary['inputs'][0]['bytes'], sum(map(len, packets)))

    def test_directions(self):
        for direction, counted in (('both', 15), ('in', 10), ('out', 5)):
            with self.subTest(direction=direction):
                run = LiveRun(self, '--set', f'stages.af_packet.direction="{direction}"')
                self.send(numbered(10))
                self.send(numbered(5), interface='v1')
                self.assertEqual(run.stop()['packets']['counted'], counted)

    def test_all_interfaces_at_once(self):
        """What one end sends the other receives; a loopback interface shows each packet once."""
        self.net.run('ip', 'link', 'set', 'lo', 'up')
        run = LiveRun(self, interfaces=('any',))
        self.send(numbered(10))
        self.net.run(sys.executable, '-c', 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n'
                                           'r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(("127.0.0.1", 0))\n'
                                           'for _ in range(7): s.sendto(b"x", r.getsockname())')
        self.assertEqual(run.stop()['packets']['counted'], 2 * 10 + 7)

    def test_packets_without_a_link_header(self):
        script = ('import fcntl, os, struct, subprocess, sys\n'
                  'tun = os.open("/dev/net/tun", os.O_RDWR)\n'
                  'fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", b"t0", 0x1001))\n'  # TUNSETIFF, IFF_TUN | IFF_NO_PI
                  'subprocess.run(["ip", "link", "set", "t0", "up"], check=True)\n'
                  'print(flush=True)\n'
                  'for line in sys.stdin: os.write(tun, bytes.fromhex(line)); print(flush=True)\n')
        if not pathlib.Path('/dev/net/tun').exists():
            self.skipTest('there is no /dev/net/tun')
        tun = self.net.start(sys.executable, '-c', script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(tun.communicate)
        if not tun.stdout.readline():
            self.skipTest('no tun device here')
        run = LiveRun(self, '--no-anonymize', interfaces=('t0',))
        for i in range(10):
            tun.stdin.write(ipv4(0x0A000000 + i, 0xC0A80001).hex() + '\n')
            tun.stdin.flush()
            tun.stdout.readline()
        summary = run.stop()
        self.assertEqual(summary['packets']['counted'], 10)
        self.assertEqual(run.matrices(), [{(0x0A000000 + i, 0xC0A80001): 1 for i in range(10)}])


class Interfaces(LiveTest):
    """Interfaces come, go, and are silent."""

    def test_a_silent_second_interface(self):
        self.net.add_pair('w0', 'w1')
        for replicas in (1, 2):
            run = LiveRun(self, '--packets', 3000, '--window-packets', 1000, '--replicas', f'af_packet={replicas}',
                          interfaces=('w1', 'v1'))
            self.send(numbered(3000))
            summary = run.end()  # by itself
            self.assertEqual([i['packets'] for i in summary['inputs']], [0, 3000])
            self.assertEqual([window['packets'] for window in run.windows()], [1000] * 3)

    def test_down_and_up_again(self):
        run = LiveRun(self, '--window-packets', 10)
        self.send(numbered(10))
        run.wait_for_windows(1)
        for _ in range(2):
            self.net.run('ip', 'link', 'set', 'v1', 'down')
            run.wait_for('v1 is down')
            self.net.run('ip', 'link', 'set', 'v1', 'up')
            self.send(numbered(10))
        summary = run.stop()
        self.assertEqual(summary['packets']['counted'], 30)
        self.assertEqual(run.stderr.count('is down'), 1)

    def test_down_from_the_beginning(self):
        self.net.run('ip', 'link', 'set', 'v1', 'down')
        run = LiveRun(self)
        run.wait_for('ip link set v1 up')
        self.net.run('ip', 'link', 'set', 'v1', 'up')
        self.send(numbered(10))
        self.assertEqual(run.stop()['packets']['counted'], 10)

    def test_gone(self):
        run = LiveRun(self, '--window-packets', 10)
        self.send(numbered(15))
        run.wait_for_windows(1)
        self.net.run('ip', 'link', 'delete', 'v1')
        summary = run.end(code=3)  # by itself
        self.assertEqual([(i['packets'], i['status']) for i in summary['inputs']], [(15, 'unreadable')])
        self.assertEqual([window['packets'] for window in run.windows()], [10, 5])

    def test_one_of_two_gone(self):
        self.net.add_pair('w0', 'w1')
        run = LiveRun(self, interfaces=('v1', 'w1'))
        self.net.run('ip', 'link', 'delete', 'v1')
        run.wait_for('v1 has disappeared')
        self.send(numbered(10), interface='w0')
        summary = run.stop(code=3)
        self.assertEqual([(i['packets'], i['status']) for i in summary['inputs']], [(0, 'unreadable'), (10, 'ok')])

    def test_promiscuous_unless_said(self):
        for arguments, wanted in (((), 1), (('-p',), 0)):
            run = LiveRun(self, *arguments)
            link, = json.loads(self.net.run('ip', '-d', '-j', 'link', 'show', 'v1'))
            self.assertEqual(link['promiscuity'], wanted)
            run.stop()

    def test_merged_packets_are_warned_of(self):
        if not shutil.which('ethtool'):
            self.skipTest('ethtool is not installed')
        self.net.run('ethtool', '-K', 'v1', 'gro', 'on')
        run = LiveRun(self)
        run.stop()
        self.assertIn('ethtool -K v1 gro off', run.stderr)

    def test_an_interface_that_is_not_there(self):
        done = self.trama('run', '-i', 'v7', '-w', self.folder / 'out', code=2)
        self.assertIn('there is no interface `v7`', done.stderr)
        self.assertIn('lo', done.stderr)
        self.assertFalse((self.folder / 'out').exists())

    def test_without_the_privilege(self):
        if not shutil.which('setpriv'):
            self.skipTest('setpriv is not installed')
        run = self.net.start('setpriv', '--inh-caps=-net_raw', '--bounding-set=-net_raw', support.TRAMA, 'run', '-i', 'v1',
                             '-w', self.folder / 'out', stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 2, stderr)
        self.assertIn('setcap cap_net_raw', stderr)
        self.assertFalse((self.folder / 'out').exists())


class Changes(LiveTest):
    """What changes while packets come, and time."""

    def test_exclusions_read_again(self):
        ranges = self.write('ranges.txt', b'192.0.2.0/24\n')
        run = LiveRun(self, '--no-anonymize', '--exclude-file', ranges, '--window-packets', 100)
        self.send(numbered(130))
        run.wait_for_windows(1)
        ranges.write_text('0.0.0.0/28\n')
        run.process.send_signal(signal.SIGUSR2)
        run.wait_for('read again')
        self.send(numbered(50))
        summary = run.stop()
        self.assertEqual(summary['packets']['seen'], 180)
        excluded = summary['packets']['excluded']
        self.assertEqual(excluded, 16)
        windows, matrices = run.windows(), run.matrices()
        self.assertEqual(windows[0]['closed_by'], 'full')
        self.assertEqual(sum(window['packets'] for window in windows), 180 - excluded)
        self.assertEqual(len({window['exclusions'] for window in windows}), 1)  # without a key they have no digest
        self.assertTrue(any(source < 16 for source, _ in matrices[0]))
        self.assertFalse(any(source < 16 for source, _ in matrices[-1]))

    def test_a_window_is_closed_by_time(self):
        run = LiveRun(self, '--window-timeout', 0.5)
        self.send(numbered(10))
        run.wait_for_windows(1)  # nothing else comes
        self.send(numbered(5))
        summary = run.stop()
        windows = run.windows()
        self.assertEqual(windows[0]['closed_by'], 'time')
        self.assertEqual(sum(window['packets'] for window in windows), 15)
        self.assertEqual(summary['windows'], {'full': 0, 'partial': len(windows)})

    def test_a_graph_file(self):
        text = self.trama('graph', '--builtin', 'live').stdout
        graph = self.write('live.toml', text.encode())
        run = LiveRun(self, '--set', 'stages.stamp.window_timeout=3600', graph)
        self.send(numbered(10))
        self.assertEqual(run.stop()['packets']['counted'], 10)


if __name__ == '__main__':
    unittest.main()
