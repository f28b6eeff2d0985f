"""NATS servers for the tests: with the configurations that ship, on ports of their own."""
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import support
from streams import StreamTest

CONFIGURATIONS = pathlib.Path(__file__).parents[2] / 'control/nats'
SERVER = shutil.which('nats-server') or shutil.which('nats-server', path='/usr/sbin:/usr/local/sbin')


def free_ports(count):
    """Ports that nobody listens at now."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(('127.0.0.1', 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Server:
    """hub.conf or leaf.conf, with the values of its .site file, and lines of configuration behind them."""

    def __init__(self, folder, name, values, port, more=''):
        self.folder, self.port = folder, port
        folder.mkdir()
        shutil.copy(CONFIGURATIONS / f'{name}.conf', folder)
        (folder / f'{name}.site').write_text(''.join(f'{key}: {value}\n' for key, value in values.items()))
        (folder / 'main.conf').write_text(f'include "{name}.conf"\n{more}\n')
        self.process = None
        self.start()

    def start(self):
        # It goes with this program, however that ends.
        self.process = subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', SERVER, '-c', self.folder / 'main.conf', '-l', self.folder / 'log'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.port), timeout=5).close()
                return
            except OSError as failure:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise AssertionError((self.folder / 'log').read_text()) from failure
                time.sleep(0.02)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@unittest.skipUnless(SERVER, 'nats-server is not installed')
class NatsTest(StreamTest):
    WINDOW = 200

    def start_hub(self, more=''):
        port, leaf_port = free_ports(2)
        hub = Server(self.folder / 'hub', 'hub', {'HUB_HOST': '"127.0.0.1"', 'HUB_PORT': port, 'HUB_LEAF_PORT': leaf_port,
                                                  'HUB_STORE': f'"{self.folder / "hub" / "store"}"'}, port, more)
        hub.leaf_port = leaf_port
        self.addCleanup(hub.kill)
        return hub

    def start_leaf(self, hub):
        [port] = free_ports(1)
        leaf = Server(self.folder / 'leaf', 'leaf', {'LEAF_NAME': '"leaf"', 'LEAF_PORT': port,
                                                     'LEAF_STORE': f'"{self.folder / "leaf" / "store"}"',
                                                     'LEAF_HUB': f'"nats-leaf://127.0.0.1:{hub.leaf_port}"'}, port)
        self.addCleanup(leaf.kill)
        return leaf

    @staticmethod
    def url(server, subject='trama.roof', scheme='nats', login='', host='127.0.0.1'):
        return f'{scheme}://{login}{host}:{server.port}/{subject}'

    def await_said(self, process, words):
        self.await_that(lambda: words in self.text_said(process), words)

    def stored(self, said):
        """How many windows the end of a run says that are stored, and of how many that isn't known."""
        stored, unknown = re.search(r'(\d+) windows? stored(?: at |; of (\d+) it is not known)', said).groups()
        return int(stored), int(unknown or 0)

    def assert_all(self, windows, first, count):
        self.assertEqual([(w['seq'], w['missed']) for w in windows], [(n, 0) for n in range(first, count)])
