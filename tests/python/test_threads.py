"""Subscribers in Python and threads, signals and child processes."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import packages
import trama
from packages import LONG_S, PackageTest


class Threads(PackageTest):
    def test_two_subscribers_in_two_threads(self):
        run = self.start_run()
        got = {}
        subscribers = {name: self.subscribe() for name in 'ab'}
        self.wait_until(lambda: all(subscriber.connected for subscriber in subscribers.values()))

        def follow(name):
            got[name] = [packages.cells(window) for window in subscribers[name]]

        threads = [threading.Thread(target=follow, args=[name], daemon=True) for name in 'ab']
        for thread in threads:
            thread.start()
        self.send_windows(run, 12)
        self.end(run)
        for thread in threads:
            thread.join(LONG_S)
        expected = packages.cells_of_blobs(self.folder / 'out')
        for name in 'ab':
            self.assert_cells(got[name], expected)

    def test_threads_share_a_subscriber(self):
        folder = self.archives(windows=40)
        subscriber = trama.subscribe(folder.as_uri(), start=trama.ALL, follow=False)
        got = []
        threads = [threading.Thread(target=lambda: got.extend(window.seq for window in subscriber), daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_S)
        self.assertEqual(sorted(got), [*range(40)])

    def test_others_run_while_one_waits_and_close_wakes_it(self):
        subscriber = self.subscribe()
        ended = []

        def wait():
            try:
                subscriber.next()
            except ValueError as error:
                ended.append(str(error))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        for _ in range(1000):
            sum(range(100))
        self.assertTrue(thread.is_alive())
        subscriber.close()
        thread.join(LONG_S)
        self.assertEqual(ended, ['the subscriber is closed'])

    def test_signals_are_left_to_the_threads_of_the_program(self):
        before = set(os.listdir('/proc/self/task'))
        subscribers = [self.subscribe(), trama.subscribe(self.folder.as_uri())]
        for task in set(os.listdir('/proc/self/task')) - before:
            status = pathlib.Path(f'/proc/self/task/{task}/status').read_text()
            blocked = int(next(line for line in status.splitlines() if line.startswith('SigBlk:')).split()[1], 16)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
                self.assertTrue(blocked >> (number - 1) & 1, number)
        self.assertGreaterEqual(len(set(os.listdir('/proc/self/task')) - before), len(subscribers))
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), set())

    def script(self, text, *arguments):
        return subprocess.Popen([sys.executable, '-c', text, self.url, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_ctrl_c_ends_a_wait(self):
        process = self.script('''
import sys, trama
with trama.subscribe(sys.argv[1]) as subscriber:
    print("waiting", flush=True)
    try:
        subscriber.next()
    except KeyboardInterrupt:
        print("interrupted")
''')
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), 'waiting\n')
        time.sleep(0.3)  # so that it most likely waits by then; nothing depends on it
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=LONG_S)
        self.assertEqual((process.returncode, stdout, stderr), (0, 'interrupted\n', ''))

    def test_a_program_ends_though_a_thread_waits(self):
        process = self.script('''
import sys, threading, time, trama
subscriber = trama.subscribe(sys.argv[1])
threading.Thread(target=subscriber.next, daemon=True).start()
time.sleep(0.3)
''')
        self.addCleanup(process.kill)
        stdout, stderr = process.communicate(timeout=LONG_S)
        self.assertEqual((process.returncode, stdout, stderr), (0, '', ''))

    def test_a_child_process_leaves_the_subscriber_to_its_parent(self):
        run = self.start_run()
        subscriber = self.subscribe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                subscriber.next(0)
            except trama.Error as error:
                subscriber.close()
                del subscriber
                status = 0 if 'another process' in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.send_windows(run, 1)
        self.assertEqual(subscriber.next(LONG_S).seq, 0)
        self.end(run)


if __name__ == '__main__':
    unittest.main()
