"""Live capture: what was lost is said, to the packet."""
import json
import signal
import subprocess
import sys
import time
import unittest

import network
import support
from live import LiveRun, LiveTest, numbered
from support import LONG, pcap


class Accounts(LiveTest):
    """seen + dropped is what was sent."""

    def assert_closes(self, run, sent):
        summary = run.summary
        link, = json.loads(self.net.run('ip', '-j', '-s', 'link', 'show', 'v1'))
        never_received = link['stats64']['rx']['dropped']  # by the queue in front of it, where this machine is busy
        self.assertEqual(summary['packets']['seen'] + sum(summary['dropped'].values()) + never_received, sent, summary)
        self.assertEqual(summary['dropped']['ring'], 0)
        self.assertEqual(summary['inputs'][0]['packets'], summary['packets']['seen'])
        counted = sum(sum(matrix.values()) for matrix in run.matrices())
        self.assertEqual(counted, summary['packets']['counted'])
        windows = run.windows()
        self.assertEqual([window['seq'] for window in windows], list(range(len(windows))))

    def test_ten_packets_and_told_to_stop(self):
        for attempt in range(5):
            run = LiveRun(self)
            self.send(numbered(10))
            time.sleep(0.05)
            run.stop()
            self.assertEqual(run.summary['packets']['counted'], 10)
            self.assert_closes(run, 10)

    def test_told_to_stop_at_once(self):
        """What came while it was not looking is not lost."""
        run = LiveRun(self)
        run.process.send_signal(signal.SIGSTOP)
        self.send(numbered(1000))
        run.process.send_signal(signal.SIGTERM)
        run.process.send_signal(signal.SIGCONT)
        run.end()
        self.assertEqual(run.summary['packets']['counted'], 1000)

    def test_more_than_the_ring_holds(self):
        for replicas in (1, 2):
            with self.subTest(replicas=replicas):
                run = LiveRun(self, '--set', 'stages.af_packet.ring_bytes=262144', '--window-packets', 1000,
                              '--replicas', f'af_packet={replicas}', '--set', 'stages.af_packet.fanout="balance"')
                sent = self.send(numbered(500))
                run.wait_for_windows(0)
                run.process.send_signal(signal.SIGSTOP)
                sent += self.send(numbered(5000), times=4)
                run.process.send_signal(signal.SIGCONT)
                sent += self.send(numbered(500))
                summary = run.stop(code=3)
                self.assertGreater(summary['dropped']['kernel'], 1000)
                self.assertEqual(sum(window['dropped']['kernel'] for window in run.windows()) +
                                 sum(manifest.get('tail', {}).get('dropped', {}).get('kernel', 0)
                                     for manifest in support.manifests_in(run.out)), summary['dropped']['kernel'])
                self.assertIn('dropped by the kernel', run.stderr)
                self.assertIn('busiest', run.stderr)
                self.assert_closes(run, sent)

    def test_told_to_stop_during_a_flood(self):
        """What was captured is the beginning of what was sent, without a hole."""
        flood = self.write('flood.pcap', pcap(numbered(60000)))
        for attempt in range(50 if LONG else 4):
            with self.subTest(attempt=attempt):
                run = LiveRun(self, '--no-anonymize', '--window-packets', 1000)
                sender = self.net.start(sys.executable, network.SEND, 'v0', flood, stdout=subprocess.PIPE)
                run.wait_for_windows(self.random.randrange(1, 30))
                run.stop()
                sender.terminate()
                sent, _ = sender.communicate(timeout=60)
                counted = run.summary['packets']['counted']
                self.assertEqual(run.summary['dropped'], {'kernel': 0, 'nic': 0, 'ring': 0})
                self.assertLessEqual(counted, int(sent))
                sources = sorted(source for matrix in run.matrices() for source, _ in matrix)
                self.assertEqual(sources, list(range(counted)))
                self.assertEqual([window['packets'] for window in run.windows()[:-1]], [1000] * (len(run.windows()) - 1))

    def test_replicas_share_the_packets_and_windows_stay_whole(self):
        for fanout in ('hash', 'balance', 'cpu'):
            with self.subTest(fanout=fanout):
                run = LiveRun(self, '--no-anonymize', '--window-packets', 1000, '--replicas', 'af_packet=2', '-v',
                              '--set', f'stages.af_packet.fanout="{fanout}"')
                self.assertEqual(self.send(numbered(20500)), 20500)
                run.stop()
                self.assert_closes(run, 20500)
                self.assertEqual([window['packets'] for window in run.windows()], [1000] * 20 + [500])
                sources = sorted(source for matrix in run.matrices() for source, _ in matrix)
                self.assertEqual(sources, list(range(20500)))

    def test_as_many_packets_as_were_asked_for(self):
        for replicas in (1, 3):
            with self.subTest(replicas=replicas):
                run = LiveRun(self, '--packets', 1234, '--replicas', f'af_packet={replicas}',
                              '--set', 'stages.af_packet.fanout="balance"')
                self.send(numbered(5000))
                summary = run.end()
                self.assertEqual((summary['packets']['seen'], summary['inputs'][0]['packets']), (1234, 1234))


class AsUser(Accounts):
    """Without privileges, in a user namespace: what a container may be."""
    AS_USER = True


if __name__ == '__main__':
    unittest.main()
