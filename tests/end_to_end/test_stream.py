"""Matrix streams between real processes: what subscribers get is what archives hold, and what they don't get is said."""
import json
import signal
import subprocess
import unittest

import support
from streams import StreamTest
from support import ethernet, ipv4, pcap


class Stream(StreamTest):
    def test_windows_are_those_of_the_archives(self):
        run = self.start_run()
        subscribers = [self.subscribe('--last', '1000'), self.subscribe('--last', '1000', '-w', 'copy')]
        windows = []
        for _ in range(3):
            self.send_windows(run, 1)
            lines = [json.loads(subscriber.stdout.readline()) for subscriber in subscribers]
            self.assertEqual(lines[0], lines[1])
            windows.append(lines[0])
        self.end(run)
        for subscriber in subscribers:
            self.assertEqual(self.windows_of(subscriber), [])
        entries = [w for manifest in support.manifests_in(self.folder / 'out') for w in manifest['windows']]
        self.assertEqual([w['seq'] for w in windows], [0, 1, 2])
        for window, entry in zip(windows, entries):
            self.assertEqual((window['missed'], window['restarted'], window['sensor']), (0, False, 'roof'))
            for key in ('seq', 'first_ns', 'last_ns', 'closed_by', 'key', 'exclusions', 'verdicts', 'dropped'):
                self.assertEqual(window[key], entry[key], key)
        inspected = json.loads(self.trama('inspect', '--json', self.folder / 'out').stdout)['windows']
        for window, quantities in zip(windows, inspected):
            for key in ('n_packets', 'n_links', 'n_sources', 'n_destinations', 'max_packets', 'max_fan_in', 'max_fan_out'):
                self.assertEqual(window[key], quantities[key], key)
        self.trama('verify', self.folder / 'copy')
        self.assertEqual([blob for *_, blob in support.blobs_in(self.folder / 'copy')],
                         [blob for *_, blob in support.blobs_in(self.folder / 'out')])

    def test_only_what_is_published_is_replayed(self):
        """Two ways to a window may differ in what they exclude: archives of the one are not replayed for the other."""
        graph = self.graph('replay = true').read_text()
        ways = {
            'two that archive': graph.replace('archive, publish', 'archive, other, publish') +
                f'[stages.other]\nkind = "archive"\ndirectory = "{self.folder / "other"}"\n',
            'two that serialize': graph.replace('by_number -> archive, publish"]', 'by_number -> publish", '
                                                '"build -> second -> by_second -> archive"]') +
                '[stages.second]\nkind = "serialize"\n[stages.by_second]\nkind = "reorder"\n',
        }
        for way, text in ways.items():
            with self.subTest(way):
                self.assertNotEqual(text, graph)
                read = '-r', self.write('a.pcap', pcap([]))
                done = self.trama('run', self.write('ways.toml', text.encode()), *read, code=2)
                self.assertIn('must have the windows that are published', done.stderr)
                self.trama('run', self.write('ways.toml', text.replace('replay = true', '').encode()), *read)

    def test_a_stopped_subscriber_loses_its_own_windows_only(self):
        run = self.start_run('queue = 4\nlinger = 60')
        stopped, quick = self.subscribe('--ahead', '2'), self.subscribe()
        first, first_of_quick = self.send_until_there(run, stopped, quick)
        last = self.follow_to(quick, first_of_quick['seq'], self.sent - 1)
        stopped.send_signal(signal.SIGSTOP)
        before = self.sent
        for _ in range(40):
            self.send_windows(run, 1)
            last = self.follow_to(quick, last, self.sent - 1)
        stopped.send_signal(signal.SIGCONT)
        self.end(run)
        self.windows_of(quick)
        rest = self.windows_of(stopped, code=3)
        got = [first, *rest]
        self.assert_account(got)
        self.assertEqual(got[-1]['seq'], self.sent - 1)
        self.assertGreaterEqual(sum(w['missed'] for w in rest), self.sent - before - 2 - 4 - 2)
        self.assertEqual(sum(len(m['windows']) for m in support.manifests_in(self.folder / 'out')), self.sent)

    def test_a_publisher_that_is_killed_is_followed_by_the_next(self):
        run = self.start_run()
        subscriber = self.subscribe('--last', '1000')
        self.send_windows(run, 1)
        self.assertEqual(json.loads(subscriber.stdout.readline())['seq'], 0)
        run.kill()
        run.wait(timeout=60)
        again = self.start_run()
        self.send_windows(again, 2)
        windows = [json.loads(subscriber.stdout.readline()) for _ in range(2)]
        self.assertEqual([(w['seq'], w['missed'], w['restarted']) for w in windows], [(0, 0, True), (1, 0, False)])
        self.end(again)
        self.assertEqual(self.windows_of(subscriber), [])

    def test_what_became_of_it_is_told_and_is_no_failure(self):
        for name in ('roof', 'me'):
            self.trama('key', 'curve', name)
        clients = self.write('clients', (self.folder / 'me.pub').read_bytes())
        graph = self.graph(f'server_key_file = "{self.folder / "roof"}"\nclients_file = "{clients}"')
        run = self.spawn('run', graph, '--key', self.key_file(), '--socket', 'control', '--summary', 'summary', stdin=subprocess.PIPE)
        run.stdin.write(pcap([]))
        self.sent = 0
        stranger = self.subscribe()
        friend = self.subscribe('--number', '0', '--publisher-key', 'roof.pub', '--stream-key', 'me')
        self.send_windows(run, 2)
        self.assertEqual([self.next_window(friend)['seq'] for _ in range(2)], [0, 1])

        def streams_now():
            return json.loads(self.trama('status', '--json', '--socket', 'control').stdout)['streams'][0]

        self.await_that(lambda: streams_now()['shut_out'] > 0, 'the stranger')
        now = streams_now()
        self.assertEqual((now['stage'], now['url'], now['subscribers'], now['sent']), ('publish', self.ipc, 1, 2))
        self.assertIn('1 subscriber; 2 sent, 0 lost by slow ones; ', self.trama('status', '--socket', 'control').stdout)
        said = self.end(run)
        self.assertIn('some had no key that fits', said)
        self.assertEqual(self.windows_of(friend), [])
        stranger.kill()
        told = json.loads((self.folder / 'summary').read_text())['streams'][0]
        self.assertEqual({key: told[key] for key in ('subscribed', 'sent', 'lost', 'refused', 'passed_by')},
                         {'subscribed': 1, 'sent': 2, 'lost': 0, 'refused': 0, 'passed_by': 0})
        self.assertGreater(told['shut_out'], 0)

    def test_nobody_is_let_in_from_other_machines_without_keys(self):
        capture = self.write('a.pcap', pcap([ethernet(ipv4(1, 2))]))
        done = self.trama('run', self.graph(url='trama+tcp://0.0.0.0:0/x'), '-r', capture, '--key', self.key_file(), code=2)
        self.assertIn('insecure = true', done.stderr)
        self.assertIn('server_key_file', done.stderr)


if __name__ == '__main__':
    unittest.main()
