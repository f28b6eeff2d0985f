"""The package as its users have it: types, examples, installed."""
import ast
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import support
import trama
import trama._trama
from packages import LONG_S, PackageTest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = os.environ.get('TRAMA_BUILD')


class Types(PackageTest):
    def mypy(self, *arguments):
        return subprocess.run(['mypy', '--strict', '--python-executable', sys.executable, '--cache-dir', self.folder / 'cache',
                               *arguments], cwd=self.folder, capture_output=True, text=True, timeout=support.TIMEOUT_S)

    @unittest.skipUnless(shutil.which('mypy'), 'mypy is not installed')
    def test_the_package_and_its_users_are_checked(self):
        example = self.write('user.py', (ROOT / 'examples/python/follow.py').read_bytes())
        done = self.mypy('-p', 'trama', '-m', 'user')
        self.assertEqual(done.returncode, 0, done.stdout)
        wrong = ('window.pakets', 'window.first_time + 1', 'trama.subscribe("x", overflow="block")', 'trama.last("x")')
        example.write_text('import trama\nfor window in trama.read("x"):\n' + ''.join(f'    {line}\n' for line in wrong))
        done = self.mypy('-m', 'user')
        found = [line.split(':')[1] for line in done.stdout.splitlines() if 'error:' in line]
        self.assertEqual(found, ['3', '4', '5', '6'], done.stdout)

    def test_the_stub_names_what_the_extension_has(self):
        stub = ast.parse((ROOT / 'python/trama/_trama.pyi').read_text())
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        self.assertEqual(set(classes), {name for name, value in inspect.getmembers(trama._trama, inspect.isclass)})
        for name in ('Window', 'Stream'):
            stubbed = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)} - {'__init__'}
            self.assertEqual(stubbed, {member for member in vars(getattr(trama._trama, name)) if not member.startswith('_')})
        for name in ('StartKind', 'Overflow', 'Outcome'):
            stubbed = {node.targets[0].id: node.value.value for node in classes[name].body if isinstance(node, ast.Assign)}
            self.assertEqual(stubbed, {key: int(value) for key, value in getattr(trama._trama, name).__members__.items()})


class Examples(PackageTest):
    def example(self, name, *arguments):
        process = subprocess.Popen([sys.executable, ROOT / 'examples/python' / name, *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_follow(self):
        run = self.start_run()
        process = self.example('follow.py', self.url)
        self.send_windows(run, 2)
        lines = [process.stdout.readline() for _ in range(2)]
        self.end(run)
        stdout, stderr = process.communicate(timeout=LONG_S)
        self.assertEqual((process.returncode, stdout, stderr), (0, '', ''))
        inspected = json.loads(self.trama('inspect', '--json', self.folder / 'out').stdout)['windows']
        for line, quantities in zip(lines, inspected, strict=True):
            words = line.split()
            self.assertEqual([int(words[i]) for i in (0, 2, 4, 6, 9, 13, 15)],
                             [quantities[name] for name in ('seq', 'n_packets', 'n_links', 'n_sources', 'n_destinations',
                                                            'max_fan_out', 'max_fan_in')], line)

    def test_total(self):
        folder = self.archives(windows=5)
        process = self.example('total.py', folder)
        stdout, stderr = process.communicate(timeout=LONG_S)
        total = json.loads(self.trama('inspect', '--json', folder).stdout)['total']
        self.assertEqual((process.returncode, stdout, stderr),
                         (0, f'5 windows: {total["n_packets"]} packets in {total["n_links"]} links\n', ''))
        process = self.example('total.py', self.folder / 'nowhere')
        self.assertIn('neither a folder nor a file', process.communicate(timeout=LONG_S)[1])
        self.assertEqual(process.returncode, 1)


class Installed(PackageTest):
    @unittest.skipUnless(BUILD and shutil.which('cmake'), 'no build folder named, or no cmake')
    def test_the_component_is_whole(self):
        subprocess.run(['cmake', '--install', BUILD, '--component', 'python', '--prefix', self.folder / 'usr'], check=True,
                       capture_output=True, timeout=support.TIMEOUT_S)
        package, = (self.folder / 'usr').glob('lib/python*/dist-packages/trama')
        self.assertTrue((package / 'py.typed').exists())
        folder = self.archives(windows=2)
        done = subprocess.run([sys.executable, '-c', 'import sys, trama; print(trama.__file__, len(list(trama.read(sys.argv[1]))))',
                               folder], env={**os.environ, 'PYTHONPATH': str(package.parent)}, capture_output=True, text=True,
                              timeout=LONG_S)
        self.assertEqual((done.stdout, done.stderr), (f'{package / "__init__.py"} 2\n', ''))


if __name__ == '__main__':
    unittest.main()
