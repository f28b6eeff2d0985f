"""A running engine is asked and changed through its control socket, which is its owner's alone."""
import json
import os
import signal
import socket
import stat
import unittest

import support
from control import ControlTest
from support import ethernet, ipv4, pcap


class Changes(ControlTest):
    def test_exclusions_key_and_flush_close_windows(self):
        run, out = self.start('--exclude', '198.51.100.0/24', '--summary', '-', window_packets=100_000, model='uniform')
        self.wait_for_windows(2)
        self.assertEqual(self.trama('ctl', 'exclude', 'add', '0.0.0.0/1:source').stdout, '2 exclusion ranges from now on\n')
        self.wait_for_windows(3)
        self.assertEqual(self.trama('ctl', 'exclude', 'add', '0.0.0.0/1:source').stdout, '2 exclusion ranges as before\n')
        self.assertEqual(self.trama('ctl', 'exclude', 'list').stdout,
                         '198.51.100.0/24\n0.0.0.0/1:source\n2 different ranges in force\n')
        self.trama('ctl', 'exclude', 'remove', '0.0.0.0/1:source')
        self.wait_for_windows(3)
        other = self.folder / 'other.key'
        self.trama('key', 'new', other)
        self.assertIn('another key from now on', self.trama('ctl', 'rotate-key', 'other.key').stdout)
        self.wait_for_windows(3)
        self.trama('ctl', 'flush')
        self.wait_for_windows(3)
        self.assertIn('finishes', self.trama('ctl', 'stop').stdout)
        summary, stderr = self.ended(run)
        for note in ('2 exclusion ranges from now on', '1 exclusion range from now on', 'another key', 'told to stop'):
            self.assertIn(note, stderr)
        self.assertNotIn('0.0.0.0', stderr)
        self.assertNotIn('198.51', stderr)

        windows = self.windows_in(out)
        reasons = [w['closed_by'] for w in windows if w['closed_by'] not in ('full', 'end')]
        # A change that falls together with the end of a window closes nothing; that all of them do is out of the question.
        self.assertLessEqual(set(reasons), {'exclusions', 'key', 'flush'})
        self.assertIn(len(reasons), range(1, 5))
        lists = [w['exclusions'] for w in windows]
        keys = [w['key'] for w in windows]
        changes = [i for i in range(1, len(windows)) if (lists[i], keys[i]) != (lists[i - 1], keys[i - 1])]
        self.assertEqual(len(changes), 3)
        added, removed, rotated = changes
        self.assertEqual(lists[0], lists[removed])
        self.assertNotEqual(keys[rotated], keys[0])
        for index, window in enumerate(windows):
            half_out = added <= index < removed
            excluded = window['verdicts']['excluded']
            if half_out:  # of uniform sources
                self.assertGreater(excluded, window['verdicts']['counted'] / 2)
            else:
                self.assertLess(excluded, window['verdicts']['counted'] / 100 + 1)
        summary = json.loads(summary)
        self.assertEqual(summary['packets']['excluded'], sum(w['verdicts']['excluded'] for w in windows) +
                         sum(m['tail']['verdicts']['excluded'] for m in support.manifests_in(out)))
        self.trama('verify', out)

    def test_no_packet_escapes_a_range_once_the_answer_is_there(self):
        """Packets that enter after the answer are judged by the new list, whatever is under way."""
        reading, writing = os.pipe()
        run = self.start_run('-r', '-', '-w', self.folder / 'out', '--socket', self.path, '--no-anonymize', '--summary', '-',
                             stdin=reading)
        os.close(reading)
        pipe = open(writing, 'wb')
        packets = pcap([ethernet(ipv4(0x0A000001, 0xC0000201))] * 5000)
        pipe.write(packets)
        pipe.flush()
        self.wait_for(lambda: self.ask(request='status')['read']['packets'] == 5000, 'not all was read')
        self.assertEqual(self.ask(request='exclude add', range='10.0.0.1')['changed'], True)
        pipe.write(packets[24:])  # without the header
        pipe.flush()
        self.wait_for(lambda: self.ask(request='status')['read']['packets'] == 10_000, 'not all was read')
        pipe.close()
        summary, _ = self.ended(run, code=0)
        packets = json.loads(summary)['packets']
        self.assertEqual((packets['counted'], packets['excluded']), (5000, 5000))

    def test_reload(self):
        ranges = self.write('ranges.txt', b'10.0.0.0/8\n')
        run, out = self.start('--exclude-file', ranges)
        self.wait_for_windows(2)
        self.assertIn('as before', self.trama('ctl', 'reload').stdout)
        new = self.write('new.txt', b'10.0.0.0/8\n192.0.2.0/24\n')
        os.replace(new, ranges)
        self.assertEqual(self.trama('ctl', 'reload').stdout, '2 exclusion ranges from now on\n')
        ranges.write_text('nonsense\n')
        self.assertIn(f'{ranges}:1', self.trama('ctl', 'reload', code=1).stderr)
        self.wait_for_windows(2)
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertEqual(len({w['exclusions'] for w in self.windows_in(out)}), 2)

    def test_what_cannot_be_done_is_refused_and_nothing_changes(self):
        run, out = self.start(window_packets=500)
        for words, said in ((['exclude', 'add', '10.0.0.1/8'], 'bits set behind'),
                            (['exclude', 'remove', '10.0.0.0/8'], 'not among those'),
                            (['reload'], 'no file of ranges'),
                            (['rotate-key', self.folder / 'nothing'], 'nothing'),
                            (['rotate-key', '/dev/null'], 'regular file')):
            self.assertIn(said, self.trama('ctl', *words, code=1).stderr)
        for words in (['exclude'], ['exclude', 'add'], ['exclude', 'add', '10.0.0.0/8', 'more'], ['rotate-key'], ['stopp'], [],
                      ['stop', '--ephemeral'], ['rotate-key', '--ephemeral', 'file']):
            self.trama('ctl', *words, code=2)
        self.assertIn('did you mean `exclude add`', self.trama('ctl', 'exlude', 'add', '10.0.0.0/8', code=2).stderr)
        self.assertIn('as in `trama ctl exclude add 192.0.2.0/24`', self.trama('ctl', 'exclude', 'add', code=2).stderr)
        self.assertIn('--ephemeral`', self.trama('ctl', 'rotate-key', code=2).stderr)
        self.wait_for_windows(2)
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertEqual({w['closed_by'] for w in self.windows_in(out)} - {'end'}, {'full'})


class Sockets(ControlTest):
    def test_mode_stale_live_and_gone_at_the_end(self):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(self.path))
        left.close()
        run, _ = self.start(umask=0)
        self.wait_for(self.answers, 'the left-over was not replaced')
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        other = self.trama('run', self.folder / 'graph.toml', '--socket', self.path, '-w', self.folder / 'other', code=2)
        self.assertIn('another run listens', other.stderr)
        self.assertFalse((self.folder / 'other').exists())
        self.assertEqual(self.ask(request='status')['pid'], run.pid)
        run.send_signal(signal.SIGTERM)
        self.ended(run)
        self.assertFalse(self.path.exists())

    def test_gone_also_where_the_run_ends_at_once_or_fails(self):
        run, _ = self.start()
        run.send_signal(signal.SIGSTOP)
        run.send_signal(signal.SIGTERM)
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGCONT)  # both are there when it looks
        self.assertIn(run.wait(60), (128 + signal.SIGTERM, 128 + signal.SIGINT))
        self.assertFalse(self.path.exists())
        missing = self.trama('run', '-r', '-', '-w', self.folder / 'o', '--socket', self.path, code=1)
        self.assertFalse(self.path.exists(), missing.stderr)

    def test_a_killed_run_leaves_a_socket_that_the_next_one_replaces(self):
        run, _ = self.start()
        run.kill()
        run.wait(60)
        self.assertTrue(self.path.exists())
        self.assertIn('no running engine', self.trama('status', code=1).stderr)
        self.assertIn('has ended', self.trama('status', '--socket', self.path, code=1).stderr)
        run, _ = self.start()
        self.wait_for(self.answers, 'the left-over was not replaced')
        self.trama('ctl', 'stop')
        self.ended(run)

    def test_places_that_cannot_be_used(self):
        self.write('file', b'mine')
        for path, said in (('file', 'another kind'), ('nowhere/a.sock', 'folder'), ('x' * 200, 'name of a socket')):
            done = self.trama('run', '-r', '-', '-w', self.folder / 'out', '--socket', path, code=2)
            self.assertIn(said, done.stderr)
        self.assertEqual((self.folder / 'file').read_bytes(), b'mine')
        self.assertFalse((self.folder / 'out').exists())


class AsUser(ControlTest):
    @unittest.skipUnless(os.geteuid() == 0, 'only root can go on as another user')
    def test_belongs_to_the_user_that_the_run_goes_on_as(self):
        self.folder.chmod(0o777)
        run, _ = self.start('--user', 'nobody', key=False)
        self.wait_for(self.answers, 'nobody answers')
        owner = self.path.stat()
        self.assertEqual((owner.st_uid != 0, stat.S_IMODE(owner.st_mode)), (True, 0o600))
        self.trama('ctl', 'stop')
        self.ended(run)
        self.assertFalse(self.path.exists())


if __name__ == '__main__':
    unittest.main()
