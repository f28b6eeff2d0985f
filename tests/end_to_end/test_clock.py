"""The system's clock is set while packets come: nothing is lost, overwritten or negative."""
import glob
import json
import os
import time
import unittest

import support
from test_af_xdp import XdpTest, numbered

FAKETIME = next(iter(glob.glob('/usr/lib/*/faketime/libfaketimeMT.so.1')), None)
DAY_NS = 86_400_000_000_000


@unittest.skipUnless(FAKETIME, 'libfaketime is not installed')
class Clock(XdpTest):
    """AF_XDP has no times of its own: every time is read from the clock, which libfaketime sets for this run alone."""

    def setUp(self):
        super().setUp()
        self.setting = self.folder / 'clock'
        self.socket = self.folder / 'trama.sock'

    def set_clock(self, setting):
        new = self.write('clock.new', setting.encode() + b'\n')
        os.replace(new, self.setting)

    def command(self, *arguments, **parameters):
        fake = {'LD_PRELOAD': FAKETIME, 'FAKETIME_TIMESTAMP_FILE': self.setting, 'FAKETIME_NO_CACHE': 1,
                'FAKETIME_DONT_FAKE_MONOTONIC': 1, 'TZ': 'UTC'}
        return ['env', *(f'{name}={value}' for name, value in fake.items()),
                *super().command('--socket', self.socket, *arguments, **parameters)]

    def send_and_wait(self, count):
        """Until all of them are counted: each has the time that is set now."""
        before = self.status()['packets']['seen']
        self.send(numbered(count, before))
        for _ in range(600):
            if self.status()['packets']['seen'] == before + count:
                return
            time.sleep(0.05)
        self.fail('packets did not arrive')

    def status(self):
        status = json.loads(self.trama('status', '--json', '--socket', self.socket).stdout)
        for name, value in numbers_of(status):
            self.assertGreaterEqual(value, 0, name)
        return status

    def windows(self):
        return [window for manifest in support.manifests_in(self.out) for window in manifest['windows']]

    def assert_whole(self, sent, windows):
        self.assertEqual(self.summary['packets']['counted'], sent, self.said)
        self.assertEqual(self.summary['dropped'], {'kernel': 0, 'nic': 0, 'ring': 0})
        self.assertEqual(len(support.archives_in(self.out)), len(windows))
        found = sorted(self.windows(), key=lambda window: window['seq'])
        self.assertEqual([window['packets'] for window in found], windows)
        self.assertEqual([window['seq'] for window in found], list(range(len(windows))))
        for window in found:
            self.assertLessEqual(window['first_ns'], window['last_ns'])
        self.trama('verify', *support.archives_in(self.out))
        return found

    def test_set_back_and_forward(self):
        self.set_clock('+0')
        self.start('--no-anonymize', '--window-packets', 50, '--windows-per-archive', 1)
        self.send_and_wait(70)
        self.set_clock('-1d')
        self.send_and_wait(100)
        self.set_clock('+1d')
        self.send_and_wait(50)
        summary = self.stop()
        windows = self.assert_whole(220, [50, 50, 50, 50, 20])
        self.assertLess(windows[2]['last_ns'], windows[0]['first_ns'] - DAY_NS // 2)
        self.assertGreater(windows[4]['first_ns'], windows[0]['last_ns'] + DAY_NS // 2)
        # The window that was being filled has packets of both days.
        self.assertGreater(windows[1]['last_ns'], windows[1]['first_ns'] + DAY_NS // 2)
        for name, value in numbers_of(summary):
            self.assertGreaterEqual(value, 0, name)

    def test_one_time_for_all(self):
        """Archives are named by the time of their first packet."""
        self.set_clock('2026-01-01 00:00:00')  # the clock stands still
        self.start('--no-anonymize', '--window-packets', 10, '--windows-per-archive', 1)
        for _ in range(4):
            self.send_and_wait(10)
        self.stop()
        windows = self.assert_whole(40, [10] * 4)
        self.assertEqual(len({window['first_ns'] for window in windows}), 1)

    def test_windows_closed_by_time(self):
        """Their time is that of a clock that nobody sets."""
        self.set_clock('+0')
        self.start('--no-anonymize', '--window-timeout', 1)
        closed = 0
        for setting in ('-1d', '-2d', '+1d'):
            self.set_clock(setting)
            self.send_and_wait(5)
            for _ in range(600):
                if self.status()['windows']['partial'] > closed:
                    break
                time.sleep(0.05)
            else:
                self.fail('the window was not closed')
            closed = self.status()['windows']['partial']
        self.stop()
        self.assertEqual(sum(window['packets'] for window in self.windows()), 15)
        self.assertGreaterEqual([window['closed_by'] for window in self.windows()].count('time'), 2)


def numbers_of(value, name=''):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(inner, f'{name}.{key}')
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from numbers_of(inner, f'{name}[{index}]')
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


if __name__ == '__main__':
    unittest.main()
