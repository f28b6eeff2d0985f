"""Subscribers in Python against real publishers: order, what was missed, where to begin, keys, errors."""
import selectors
import unittest

import packages
import support
import trama
from packages import LONG_S, PackageTest


class Live(PackageTest):
    def test_windows_come_as_they_are_made_and_end_with_the_run(self):
        run = self.start_run()
        with self.subscribe() as subscriber:
            windows = []
            for seq in range(4):
                self.send_windows(run, 1)
                windows.append(subscriber.next(LONG_S))
                self.assertEqual((windows[-1].seq, windows[-1].missed, windows[-1].sensor), (seq, 0, 'roof'))
            self.assertTrue(subscriber.connected)
            run.stdin.write(support.pcap([support.ethernet(support.ipv6(), 0x86DD)] * 3)[24:])
            self.end(run)
            self.assertEqual(list(subscriber), [])
            self.assertIsNone(subscriber.next())
            self.assertEqual(subscriber.counts, trama.Counts(windows=4, missed=0, damaged=0, sessions=1))
            self.assertEqual(subscriber.tail['ipv6'], 3)
        self.assert_cells([packages.cells(window) for window in windows], packages.cells_of_blobs(self.folder / 'out'))
        self.assertEqual((subscriber.closed, subscriber.counts.windows, subscriber.tail['ipv6']), (True, 4, 3))
        with self.assertRaisesRegex(ValueError, 'closed'):
            subscriber.next()

    def test_compact_matrices(self):
        run = self.start_run(compact=True)
        subscriber = self.subscribe()
        self.send_windows(run, 3)
        windows = [subscriber.next(LONG_S) for _ in range(3)]
        self.end(run)
        packets = support.pcap([support.ethernet(support.ipv4(0x0A000000 + (w * 7 + i * i) % 500, 0xC0000200 + i % 9))
                                for w in range(3) for i in range(self.WINDOW)])
        _, folder = self.run_job(self.write('same.pcap', packets), '--key', self.key_file(), '--window-packets', self.WINDOW)
        self.assertEqual([window.encoding for window in windows], ['compact'] * 3)
        self.assert_cells([packages.cells(window) for window in windows], packages.cells_of_blobs(folder))

    def test_where_to_begin(self):
        run = self.start_run()
        first = self.subscribe()
        self.send_windows(run, 6)
        windows = [first.next(LONG_S) for _ in range(6)]
        starts = {2: trama.number(2), 1: trama.last(5), 4: trama.since(windows[4].last_ns), 5: trama.since(windows[5].last_time),
                  0: trama.ALL}
        subscribers = {seq: self.subscribe(start=start) for seq, start in starts.items()}
        for seq, subscriber in subscribers.items():
            self.assertEqual(subscriber.next(LONG_S).seq, seq)
        live = self.subscribe(start=trama.LIVE)
        self.wait_until(lambda: live.connected)
        with self.assertRaises(TimeoutError):
            live.next(0)
        self.send_windows(run, 1)
        self.assertEqual(live.next(LONG_S).seq, 6)
        self.end(run)

    def test_what_is_missed_is_told_exactly(self):
        run = self.start_run('queue = 64')
        subscriber = self.subscribe(overflow='drop', ahead=2)
        self.send_windows(run, 1)
        self.assertEqual(subscriber.next(LONG_S).seq, 0)
        quick = self.subscribe(start=trama.LIVE)
        self.wait_until(lambda: quick.connected)
        self.send_windows(run, 20)
        self.assertEqual([quick.next(LONG_S).seq for _ in range(20)], [*range(1, 21)])
        self.end(run)  # which waits until both have taken what there is: the slow one has two in its hands
        rest = list(subscriber)
        self.assertEqual([(window.seq, window.missed) for window in rest], [(19, 18), (20, 0)])
        self.assertEqual(subscriber.counts, trama.Counts(windows=3, missed=18, damaged=0, sessions=1))
        self.assertEqual((subscriber.missed_at_end, quick.counts.missed), (0, 0))

    def test_what_is_missed_at_the_end_is_told_there(self):
        run = self.start_run()
        subscriber = self.subscribe(max_links=10)  # which no window here has so few of
        self.wait_until(lambda: subscriber.connected)
        self.send_windows(run, 3)
        self.end(run)
        self.assertEqual((subscriber.missed_at_end, list(subscriber), subscriber.missed_at_end), (0, [], 3))
        self.assertEqual(subscriber.counts, trama.Counts(windows=0, missed=3, damaged=3, sessions=1))

    def test_runs_that_end_are_followed_by_the_next(self):
        subscriber = self.subscribe(past_end=True)
        for restarted in (False, True):
            run = self.start_run()
            self.send_windows(run, 1)
            window = subscriber.next(LONG_S)
            self.assertEqual((window.seq, window.missed, window.restarted), (0, 0, restarted))
            self.end(run)

    def test_a_publisher_that_is_killed_is_followed_by_the_next(self):
        run = self.start_run()
        subscriber = self.subscribe()
        self.send_windows(run, 2)
        before = [subscriber.next(LONG_S) for _ in range(2)]
        run.kill()
        run.communicate(timeout=LONG_S)
        again = self.start_run()
        self.send_windows(again, 2)
        after = [subscriber.next(LONG_S) for _ in range(2)]
        self.assertEqual([(w.seq, w.missed, w.restarted) for w in before + after],
                         [(0, 0, False), (1, 0, False), (0, 0, True), (1, 0, False)])
        self.assertNotEqual(before[0].run, after[0].run)
        self.assertEqual(subscriber.counts.sessions, 2)
        self.end(again)

    def test_a_descriptor_for_event_loops(self):
        run = self.start_run()
        subscriber = self.subscribe()
        self.wait_until(lambda: subscriber.connected)
        with selectors.DefaultSelector() as selector:
            selector.register(subscriber, selectors.EVENT_READ)
            self.send_windows(run, 1)
            window = None
            while window is None:  # other things than windows wake, too
                self.assertTrue(selector.select(LONG_S))
                try:
                    window = subscriber.next(0)
                except TimeoutError:
                    pass
        self.assertEqual(window.seq, 0)
        self.end(run)


class Errors(PackageTest):
    def test_what_can_not_be_is_said_at_once(self):
        for url, text in (('http://x', 'not the URL of a stream'), ('trama+tcp://127.0.0.1', 'without a port'),
                          ('file:///nonexistent', 'neither a folder nor a file')):
            with self.assertRaisesRegex(trama.Error, text) as caught:
                trama.subscribe(url)
            self.assertTrue(caught.exception.hint)
            self.assertIn(caught.exception.hint, str(caught.exception))
        with self.assertRaisesRegex(trama.Error, '`ahead`'):
            trama.subscribe(self.url, ahead=0)
        with self.assertRaisesRegex(ValueError, 'overflow'):
            trama.subscribe(self.url, overflow='block')
        with self.assertRaisesRegex(ValueError, '`max_links` is below 0'):
            trama.subscribe(self.url, max_links=-1)
        with self.assertRaisesRegex(ValueError, 'below 0'):
            trama.number(-1)
        with self.assertRaisesRegex(ValueError, 'LIVE begins with the next'):
            trama.last(0)
        with self.assertRaisesRegex(TypeError, '`start` is LIVE, ALL'):
            trama.subscribe(self.url, start=5)
        for timeout in (-1, float('nan')):
            with self.assertRaisesRegex(ValueError, 'timeout'):
                self.subscribe().next(timeout)

    def test_what_comes_later_is_an_error_of_the_stream_again_and_again(self):
        run = self.start_run(url='trama+tcp://127.0.0.1:0/roof')
        url = self.url_of(run).removesuffix('/roof')
        self.url = url + '/cellar'
        subscriber = self.subscribe()
        for _ in range(2):
            with self.assertRaisesRegex(trama.Error, 'no stream of that name'):
                subscriber.next(LONG_S)
        self.url = f'trama+ipc://{self.folder / "nobody"}'
        with self.assertRaisesRegex(trama.Error, 'no publisher answers'):
            self.subscribe(reconnect=False).next(LONG_S)
        self.end(run)

    def test_keys(self):
        for name in ('roof', 'me', 'stranger'):
            self.trama('key', 'curve', f'{name}.curve')
        clients = self.write('clients.txt', (self.folder / 'me.curve.pub').read_bytes())
        run = self.start_run(f'server_key_file = "{self.folder / "roof.curve"}"\nclients_file = "{clients}"')
        roof, me = self.folder / 'roof.curve.pub', self.folder / 'me.curve'
        self.send_windows(run, 1)
        by_file = self.subscribe(publisher_key=roof, secret_key=me)
        self.assertEqual(by_file.next(LONG_S).seq, 0)
        by_text = self.subscribe(publisher_key=roof.read_text().strip(), secret_key=me.read_text().strip())
        self.assertEqual(by_text.next(LONG_S).seq, 0)
        refused = self.subscribe(publisher_key=roof, secret_key=self.folder / 'stranger.curve', reconnect=False)
        with self.assertRaisesRegex(trama.Error, 'connection|no publisher answers'):
            refused.next(LONG_S)
        self.end(run)

    def test_keys_that_are_none(self):
        self.trama('key', 'curve', 'me.curve')
        me, roof = self.folder / 'me.curve', self.folder / 'me.curve.pub'
        secret = me.read_text().strip()
        wrong = self.write('wrong', b'nonsense\n')
        wrong.chmod(0o600)
        cases = [({'publisher_key': roof}, 'go together'), ({'publisher_key': roof, 'secret_key': wrong}, 'not a key'),
                 ({'publisher_key': roof, 'secret_key': secret[:-1]}, 'not a key'),
                 ({'publisher_key': '#' * 40, 'secret_key': me}, 'not a key'),  # beyond 32 bits
                 ({'publisher_key': roof, 'secret_key': self.folder / 'none'}, 'No such file'),
                 ({'publisher_key': me, 'secret_key': me}, 'this is the secret key .give the public one, .*me.curve.pub'),
                 ({'publisher_key': wrong, 'secret_key': me}, 'may be a secret key: .*chmod a.r'),
                 ({'publisher_key': roof, 'secret_key': roof}, 'this is a public key .give the secret one, .*me.curve.$')]
        for keys, text in cases:
            with self.assertRaisesRegex(trama.Error, text) as caught:
                trama.subscribe(self.url, **keys)
            self.assertTrue(caught.exception.hint or text == 'No such file')
            self.assertNotIn(secret[:10], str(caught.exception))
        for wrong in ({'silence': 'long'}, {'reconnect': 'no'}, {'ahead': 1.5}):  # whose texts show all arguments
            with self.assertRaises(TypeError) as caught:
                trama.subscribe(self.url, publisher_key=roof, secret_key=secret, **wrong)
            self.assertNotIn(secret[:10], str(caught.exception))
        me.chmod(0o644)
        with self.assertRaisesRegex(trama.Error, 'others can use this key .chmod 600'):
            trama.subscribe(self.url, publisher_key=roof, secret_key=me)


if __name__ == '__main__':
    unittest.main()
