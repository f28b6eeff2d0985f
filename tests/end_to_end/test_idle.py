"""A link with ten packets a second costs few wake-ups, whichever source listens, and each packet is seen soon."""
import pathlib
import subprocess
import sys
import time
import unittest

from live import LiveRun, LiveTest, numbered
from support import TRAMA

# Ten frames a second on an interface, and their number at the end.
SENDER = ('import socket, sys, time\n'
          's = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((sys.argv[1], 0))\n'
          'for _ in range(40): s.send(bytes.fromhex(sys.argv[2])); time.sleep(0.1)\n')


class Idle(LiveTest):
    SECONDS = 3

    def sleeps(self, process):
        """How often all threads of a process have fallen asleep so far."""
        return sum(int(line.split()[1]) for status in pathlib.Path(f'/proc/{process.pid}/task').glob('*/status')
                   for line in status.read_text().splitlines() if line.startswith('voluntary_ctxt_switches'))

    def assert_seldom_awake(self, at_most, *arguments, listens_at='v1', sends_at='v0'):
        run = LiveRun(self, '--window-timeout', '0.5', *arguments, interfaces=(listens_at,))
        sender = self.net.start(sys.executable, '-c', SENDER, sends_at, numbered(1)[0].hex(), stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        before = self.sleeps(run.process)
        time.sleep(self.SECONDS)
        slept = self.sleeps(run.process) - before
        self.assertEqual(sender.wait(60), 0)
        self.assertEqual(run.stop()['packets']['counted'], 40, run.stderr)
        self.assertLess(slept, at_most * self.SECONDS)
        return run

    def test_af_packet(self):
        self.assert_seldom_awake(150)

    def test_af_xdp(self):
        if not (pathlib.Path(TRAMA).parent / 'trama-af_xdp.so').exists():
            self.skipTest('no af_xdp in this build')
        self.assert_seldom_awake(150, '--set', 'stages.af_xdp.role=tap', listens_at='xdp:v1')

    def test_dpdk(self):
        """A driver without interrupts is asked; one that has them wakes the source up."""
        if not (pathlib.Path(TRAMA).parent / 'trama-dpdk.so').exists():
            self.skipTest('no DPDK in this build')
        settings = [word for setting in ('huge_pages=no', 'memory_mb=256', 'mbufs=16384')
                    for word in ('--set', f'stages.dpdk.{setting}')]
        self.assert_seldom_awake(300, *settings, listens_at='dpdk:net_af_packet0,iface=v1')
        if pathlib.Path('/dev/net/tun').exists():
            self.assert_seldom_awake(150, *settings, listens_at='dpdk:net_tap0,iface=dtap0', sends_at='dtap0')


if __name__ == '__main__':
    unittest.main()
