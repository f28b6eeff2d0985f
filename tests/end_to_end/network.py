"""A network namespace of a test's own, with pairs of interfaces in it. It has no name: it goes with the process that
holds it, which goes with the test, however that ends."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import unittest

import support

PR_SET_PDEATHSIG = 1
SEND = os.path.join(os.path.dirname(__file__), 'send_frames.py')


def die_with_the_test():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Network:
    """`as_user`: in a user namespace, too, as somebody without privileges can have one."""

    def __init__(self, as_user=False):
        for program in ('ip', 'unshare', 'nsenter'):
            if not shutil.which(program):
                raise unittest.SkipTest(f'{program} is not installed')
        user = ['--user', '--map-root-user'] if as_user else []
        self.holder = subprocess.Popen(['unshare', *user, '--net', sys.executable, '-c', 'print(flush=True); input()'],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       preexec_fn=die_with_the_test)
        if not self.holder.stdout.readline():
            _, stderr = self.holder.communicate()
            raise unittest.SkipTest(f'no network namespace here: {stderr.decode().strip()}')
        enter = ['--user', '--preserve-credentials'] if as_user else []
        self.prefix = ['nsenter', '--target', str(self.holder.pid), *enter, '--net']
        self.run('sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; '
                             'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6', check=False)

    def close(self):
        self.holder.communicate()

    def run(self, *command, check=True):
        done = subprocess.run([*self.prefix, *map(str, command)], capture_output=True, text=True,
                              timeout=support.TIMEOUT_S)
        if check and done.returncode != 0:
            raise AssertionError(f'{" ".join(map(str, command))}: {done.stderr}')
        return done.stdout

    def start(self, *command, **options):
        return subprocess.Popen([*self.prefix, *map(str, command)], preexec_fn=die_with_the_test, **options)

    def add_pair(self, near, far):
        """What is sent from one end is received at the other, and nothing else moves there."""
        self.run('ip', 'link', 'add', near, 'type', 'veth', 'peer', 'name', far)
        for name in (near, far):
            self.run('ip', 'link', 'set', name, 'up')

    def send(self, interface, path, times=1):
        return int(self.run(sys.executable, SEND, interface, path, times))
