"""A run with a control socket, for tests that watch, ask and change it."""
import json
import socket
import subprocess
import time

import support
from support import TramaTest

GRAPH = """
[graph]
window_packets = {window_packets}
links = ["synthetic -> parse -> exclude -> in_order -> stamp", "stamp -> anonymize -> build -> serialize -> by_number -> archive"]
[stages.synthetic]
packets = 1_000_000_000_000
model = "{model}"
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.archive]
directory = "{out}"
"""


class ControlTest(TramaTest):
    def start(self, *arguments, window_packets=2000, model='zipf', key=True, **options):
        """A run of generated packets without an end, its socket, its folder."""
        out = self.folder / 'out'
        graph = self.write('graph.toml', GRAPH.format(window_packets=window_packets, out=out, model=model).encode())
        return self.start_run(graph, '--socket', self.path, *(['--key', self.key_file()] if key else []), *arguments,
                              **options), out

    def start_run(self, *arguments, **options):
        run = subprocess.Popen([support.TRAMA, 'run', *map(str, arguments)], cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **{'stdin': subprocess.DEVNULL, **options})
        self.addCleanup(self.end, run)
        self.wait_for(lambda: self.path.exists() or run.poll() is not None, 'no socket')
        return run

    @staticmethod
    def end(run):
        if run.poll() is None:
            run.kill()
        run.communicate()

    @property
    def path(self):
        return self.folder / 'trama.sock'

    def wait_for(self, condition, what):
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.05)
        self.fail(what)

    def ask(self, **request):
        """The result, through a socket of our own."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.path))
            client.settimeout(60)
            client.sendall(json.dumps({'trama': 1, 'id': 'x', **request}).encode() + b'\n')
            answer = json.loads(client.makefile().readline())
        self.assertEqual((answer['trama'], answer['id'], answer['ok']), (1, 'x', True), answer)
        return answer['result']

    def answers(self):
        return self.trama('status', '--json', '--socket', self.path, code=None).returncode == 0

    def windows_done(self):
        return sum(self.ask(request='status')['windows'][kind] for kind in ('full', 'partial'))

    def wait_for_windows(self, more):
        wanted = self.windows_done() + more
        self.wait_for(lambda: self.windows_done() >= wanted, 'no windows')

    def ended(self, run, code=3):
        """Its summary on stdout, if any, and what it said."""
        stdout, stderr = run.communicate(timeout=support.TIMEOUT_S)
        self.assertNotIn('Sanitizer', stderr)
        self.assertNotIn('runtime error:', stderr)
        self.assertEqual(run.returncode, code, stderr[-2000:])
        return stdout, stderr

    def windows_in(self, out):
        return [w for manifest in support.manifests_in(out) for w in manifest['windows']]
