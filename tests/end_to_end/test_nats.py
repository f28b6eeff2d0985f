"""Matrix streams over NATS: what the server has acknowledged is never lost, whoever is killed; what is, is said."""
import json
import signal
import time
import unittest

import support
from nats import NatsTest


class Nats(NatsTest):
    def test_windows_are_those_of_the_archives_now_and_later(self):
        hub = self.start_hub()
        run = self.start_run(url=self.url(hub), archive='')
        self.await_said(run, 'publishing at')
        live = self.subscribe('--number', '0', url=self.url(hub))
        windows = []
        for _ in range(3):
            self.send_windows(run, 1)
            windows.append(self.next_window(live))
        said = self.end(run)
        self.assertEqual(self.windows_of(live), [])
        self.assertEqual(self.stored(said), (3, 0))
        entries = [w for manifest in support.manifests_in(self.folder / 'out') for w in manifest['windows']]
        for window, entry in zip(windows, entries, strict=True):
            for key in ('seq', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(window[key], entry[key], key)
        # The run is over, and the server has it all.
        later = self.subscribe('--number', '0', '-w', 'copy', url=self.url(hub))
        self.assertEqual(self.windows_of(later), windows)
        self.trama('verify', self.folder / 'copy')
        self.assertEqual([blob for *_, blob in support.blobs_in(self.folder / 'copy')],
                         [blob for *_, blob in support.blobs_in(self.folder / 'out')])
        last = self.windows_of(self.subscribe('--since', str(windows[2]['first_ns']), url=self.url(hub)))
        self.assertEqual(last, windows[2:])

    def test_a_server_that_is_killed_loses_nothing(self):
        hub = self.start_hub()
        run = self.start_run('queue = 256\nlinger = 60', url=self.url(hub))
        self.await_said(run, 'publishing at')
        live = self.subscribe('--number', '0', url=self.url(hub))
        for round_number in range(3):
            for _ in range(10):
                self.send_windows(run, 1)
                time.sleep(0.01)
            hub.kill()
            self.send_windows(run, 5)
            hub.start()
            self.send_windows(run, 5)
        said = self.end(run)
        self.assertEqual(self.stored(said), (self.sent, 0))
        self.assert_all(self.windows_of(live), 0, self.sent)
        self.assert_all(self.windows_of(self.subscribe('--number', '0', url=self.url(hub))), 0, self.sent)

    def test_what_a_short_queue_can_not_bridge_is_told_exactly(self):
        hub = self.start_hub()
        run = self.start_run('queue = 4\nlinger = 60', url=self.url(hub), archive='')
        self.await_said(run, 'publishing at')
        live = self.subscribe('--number', '0', url=self.url(hub))
        self.send_windows(run, 1)
        self.assertEqual(self.next_window(live)['seq'], 0)
        hub.kill()
        self.await_said(run, 'no connection')  # what went out before may have come, or not
        for _ in range(30):
            self.send_windows(run, 1)
            time.sleep(0.01)
        self.await_that(lambda: self.all_read(run), 'the run')
        hub.start()
        said = self.end(run)
        stored, unknown = self.stored(said)
        rest = self.windows_of(live, code=3)
        self.assertEqual(rest[-1]['seq'], self.sent - 1)
        self.assert_account([{'seq': 0, 'missed': 0}, *rest])
        self.assertEqual((stored, unknown), (1 + len(rest), sum(w['missed'] for w in rest)))
        self.assertGreaterEqual(unknown, 20)
        self.assertEqual(sum(len(m['windows']) for m in support.manifests_in(self.folder / 'out')), self.sent)

    def all_read(self, run):
        """Are all windows that were sent to it in the archive?"""
        logs = list((self.folder / 'out').glob('*.tar.part.log'))
        return logs and len(logs[0].read_text().splitlines()) >= self.sent

    def test_a_stopped_subscriber_gets_everything_later(self):
        hub = self.start_hub()
        run = self.start_run('queue = 256\nlinger = 60', url=self.url(hub))
        self.await_said(run, 'publishing at')
        stopped = self.subscribe('--number', '0', '--ahead', '2', url=self.url(hub))
        self.send_windows(run, 1)
        self.assertEqual(self.next_window(stopped)['seq'], 0)
        stopped.send_signal(signal.SIGSTOP)
        for _ in range(60):  # none passes the publishing thread by, which has eight slots
            self.send_windows(run, 1)
            self.await_that(lambda: self.all_read(run), 'the run')
        self.end(run)
        stopped.send_signal(signal.SIGCONT)
        self.assert_all(self.windows_of(stopped), 1, self.sent)

    def test_a_publisher_that_is_killed_is_followed_by_the_next(self):
        hub = self.start_hub()
        run = self.start_run(url=self.url(hub))
        self.await_said(run, 'publishing at')
        live = self.subscribe('--number', '0', url=self.url(hub))
        self.send_windows(run, 3)
        self.assertEqual([self.next_window(live)['seq'] for _ in range(3)], [0, 1, 2])
        run.kill()
        run.wait(timeout=60)
        again = self.start_run(url=self.url(hub))
        self.send_windows(again, 2)
        windows = [self.next_window(live) for _ in range(2)]
        self.assertEqual([(w['seq'], w['missed'], w['restarted']) for w in windows], [(0, 0, True), (1, 0, False)])
        self.end(again)
        self.assertEqual(self.windows_of(live), [])

    def test_without_a_server_the_run_goes_on(self):
        hub = self.start_hub()
        hub.kill()
        run = self.start_run('linger = 0.2', url=self.url(hub), archive='')
        self.send_windows(run, 3)
        self.await_said(run, 'no connection to nats://')
        said = self.end(run)
        self.assertEqual(self.stored(said), (0, 3))
        self.assertEqual(sum(len(m['windows']) for m in support.manifests_in(self.folder / 'out')), 3)

    def test_a_server_that_comes_later_gets_what_waits(self):
        hub = self.start_hub()
        hub.kill()
        run = self.start_run('linger = 60', url=self.url(hub))
        self.send_windows(run, 3)
        self.await_said(run, 'no connection to nats://')
        hub.start()
        self.assertEqual(self.stored(self.end(run)), (3, 0))
        self.assert_all(self.windows_of(self.subscribe('--number', '0', url=self.url(hub))), 0, 3)

    def test_windows_that_are_too_long_for_the_server_are_told(self):
        hub = self.start_hub('max_payload: 1500')
        run = self.start_run(url=self.url(hub))
        self.await_said(run, 'publishing at')
        live = self.subscribe('--number', '0', url=self.url(hub))
        self.send_windows(run, 2)
        said = self.end(run)
        self.assertIn('max_payload = 8MB', said)
        self.assertIn('(2 were too long)', said)
        self.assertEqual(self.windows_of(live, code=3), [])
        self.assertIn('2 were missed', self.text_said(live))

    def test_nothing_comes_from_another_subject(self):
        hub = self.start_hub()
        run = self.start_run(url=self.url(hub))
        self.await_said(run, 'publishing at')
        self.send_windows(run, 2)
        done = self.trama('subscribe', '--timeout', '2.5', self.url(hub, 'trama.cellar', login='me:secret@'), code=1)
        self.assertIn('waiting for a publisher', done.stderr)
        self.assertIn(f'no window came from {self.url(hub, "trama.cellar")}', done.stderr)
        self.end(run)

    def test_without_jetstream_windows_come_live_and_are_not_stored(self):
        hub = self.start_hub('jetstream: false')
        run = self.start_run('linger = 0.2', url=self.url(hub))
        self.await_said(run, 'no JetStream')
        live = self.subscribe(url=self.url(hub))
        [first] = self.send_until_there(run, live)
        self.send_windows(run, 3)
        said = self.end(run)
        self.assertEqual(self.stored(said), (0, self.sent))
        # What is lost on the way can't be filled, but is told.
        output, _ = live.communicate(timeout=support.TIMEOUT_S)
        rest = [json.loads(line) for line in output.splitlines()]
        self.assert_account([first, *rest])
        lost = first['seq'] + 1 + len(rest) < self.sent
        self.assertEqual(live.returncode, 3 if lost else 0, self.text_said(live))


class LeafAndHub(NatsTest):
    def start_all(self, publish=''):
        hub = self.start_hub()
        leaf = self.start_leaf(hub)
        run = self.start_run(f'mirror = "hub"\nqueue = 256\nlinger = 60\n{publish}', url=self.url(leaf))
        self.await_said(run, 'publishing at')
        self.send_windows(run, 1)
        at_hub = self.subscribe('--number', '0', url=self.url(hub))
        at_leaf = self.subscribe('--number', '0', url=self.url(leaf))
        for subscriber in (at_hub, at_leaf):
            self.assertEqual(self.next_window(subscriber)['seq'], 0)
        return hub, leaf, run, at_hub, at_leaf

    def flow(self, run, count=10):
        for _ in range(count):
            self.send_windows(run, 1)
            time.sleep(0.01)

    def test_a_hub_that_is_killed_catches_up(self):
        hub, _, run, at_hub, at_leaf = self.start_all()
        for _ in range(2):
            self.flow(run)
            hub.kill()
            self.flow(run)
            hub.start()
        self.flow(run)
        self.assertEqual(self.stored(self.end(run)), (self.sent, 0))
        for subscriber in (at_leaf, at_hub):
            self.assert_all(self.windows_of(subscriber), 1, self.sent)

    def test_a_leaf_that_is_killed_loses_nothing(self):
        hub, leaf, run, at_hub, at_leaf = self.start_all()
        for _ in range(2):
            self.flow(run)
            leaf.kill()
            self.flow(run)
            leaf.start()
        self.flow(run)
        self.assertEqual(self.stored(self.end(run)), (self.sent, 0))
        for subscriber in (at_leaf, at_hub):
            self.assert_all(self.windows_of(subscriber), 1, self.sent)
        # The hub has its own copy, once it has caught up.
        self.assert_all(self.windows_of(self.subscribe('--number', '0', url=self.url(hub))), 0, self.sent)
        leaf.kill()
        self.assert_all(self.windows_of(self.subscribe('--number', '0', url=self.url(hub))), 0, self.sent)


if __name__ == '__main__':
    unittest.main()
