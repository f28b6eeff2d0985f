"""A relay between real processes: it takes each window once, and those behind it have what they would have without it."""
import signal
import time
import unittest

import support
from streams import StreamTest


class Relay(StreamTest):
    def relay(self, url, *arguments, to='trama+tcp://127.0.0.1:0/roof'):
        return self.spawn('relay', url, '--to', to, *arguments)

    def await_status(self, process, code):
        process.wait(timeout=support.TIMEOUT_S)
        said = self.text_said(process)
        self.assertEqual(process.returncode, code, said)
        self.assertNotIn('Sanitizer', said)
        return said

    def test_windows_go_out_once_and_come_as_they_were(self):
        run = self.start_run('linger = 60')
        near = self.relay(self.ipc, '--linger', '60')
        near_url = self.url_of(near, words=f'relaying {self.ipc} at ')
        far = self.relay(near_url, '--linger', '60')
        far_url = self.url_of(far, words=f'relaying {near_url} at ')
        subscribers = [self.subscribe('--last', '1000', url=url) for url in (near_url, near_url, far_url, far_url)]
        copies = self.subscribe('--last', '1000', '-w', 'copy', url=far_url)
        self.send_windows(run, 1)
        for subscriber in (*subscribers, copies):
            self.assertEqual(self.next_window(subscriber)['seq'], 0)
        self.send_windows(run, 9)
        said = self.end(run)
        windows = [self.windows_of(subscriber) for subscriber in subscribers]
        self.windows_of(copies)
        self.assertEqual([window['seq'] for window in windows[0]], list(range(1, 10)))
        for other in windows[1:]:
            self.assertEqual(other, windows[0])
        self.assertIn('1 subscribed, and were sent 10 windows in all', said)
        self.assertIn('10 windows came, 0 were missed; 3 subscribers got 30 windows in all', self.await_status(near, 0))
        self.assertIn('3 subscribers got 30 windows', self.await_status(far, 0))
        entries = [w for manifest in support.manifests_in(self.folder / 'out') for w in manifest['windows']]
        for window, entry in zip(windows[0], entries[1:], strict=True):
            for key in ('seq', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(window[key], entry[key], key)
        self.assertEqual([blob for *_, blob in support.blobs_in(self.folder / 'copy')],
                         [blob for *_, blob in support.blobs_in(self.folder / 'out')])

    def test_one_that_is_killed_is_followed_by_the_next_without_a_loss(self):
        run = self.start_run('linger = 60')
        relay = self.relay(self.ipc)
        url = self.url_of(relay, words=' at ')
        subscriber = self.subscribe('--last', '1000', url=url)
        self.send_windows(run, 3)
        last = self.follow_to(subscriber, -1, 2)
        relay.kill()
        relay.wait(timeout=60)
        self.send_windows(run, 5)
        again = self.relay(self.ipc, '--linger', '60', to=url)
        last = self.follow_to(subscriber, last, 7)
        self.send_windows(run, 2)
        self.follow_to(subscriber, last, 9)
        self.end(run)
        self.assertEqual(self.windows_of(subscriber), [])
        self.await_status(again, 0)

    def test_a_killed_publisher_is_a_restart_below_and_sigterm_the_end(self):
        run = self.start_run()
        relay = self.relay(self.ipc, '--past-end')
        subscriber = self.subscribe('--last', '1000', url=self.url_of(relay, words=' at '))
        self.send_windows(run, 2)
        self.follow_to(subscriber, -1, 1)
        run.kill()
        run.wait(timeout=60)
        again = self.start_run('linger = 60')
        self.send_windows(again, 2)
        windows = [self.next_window(subscriber) for _ in range(2)]
        self.assertEqual([(w['seq'], w['missed'], w['restarted']) for w in windows], [(0, 0, True), (1, 0, False)])
        self.end(again)
        self.assertIsNone(subscriber.poll())
        relay.send_signal(signal.SIGTERM)
        self.assertEqual(self.windows_of(subscriber), [])
        self.await_status(relay, 0)

    def test_a_stopped_subscriber_behind_it_holds_up_nobody(self):
        run = self.start_run('linger = 60')
        relay = self.relay(self.ipc, '--queue', '4', '--linger', '60')
        url = self.url_of(relay, words=' at ')
        stopped, quick = self.subscribe('--ahead', '2', url=url), self.subscribe(url=url)
        first, first_of_quick = self.send_until_there(run, stopped, quick)
        last = self.follow_to(quick, first_of_quick['seq'], self.sent - 1)
        stopped.send_signal(signal.SIGSTOP)
        for _ in range(40):
            self.send_windows(run, 1)
            last = self.follow_to(quick, last, self.sent - 1)
        stopped.send_signal(signal.SIGCONT)
        said = self.end(run)
        self.assertEqual(self.windows_of(quick), [])
        rest = self.windows_of(stopped, code=3)
        self.assert_account([first, *rest])
        self.assertEqual(rest[-1]['seq'], self.sent - 1)
        self.assertGreater(sum(window['missed'] for window in rest), 20)
        self.await_status(relay, 0)  # itself it has missed nothing
        self.assertIn('slow ones lost 0', said)

    def test_without_a_publisher_it_says_so_and_ends_when_told(self):
        relay = self.relay(self.ipc)
        self.await_that(lambda: 'waiting for a publisher' in self.text_said(relay), 'a note')
        began = time.monotonic()
        relay.send_signal(signal.SIGTERM)
        self.await_status(relay, 0)
        self.assertLess(time.monotonic() - began, 60)


if __name__ == '__main__':
    unittest.main()
