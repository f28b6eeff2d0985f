"""Capture through DPDK, with drivers that need no hardware: as from a file, accounted for, and without traces."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import network
import support
from network import Network
from support import TRAMA, TramaTest, ethernet, ipv4, mixed_packets, pcap

PLUGIN = pathlib.Path(TRAMA).parent / 'trama-dpdk.so'
RUNTIME_FOLDERS = [pathlib.Path('/run/dpdk'), pathlib.Path('/tmp/dpdk'), pathlib.Path(f'/run/user/{os.geteuid()}/dpdk')]


def huge_bytes_free():
    total = 0
    for folder in pathlib.Path('/sys/kernel/mm/hugepages').glob('hugepages-*kB'):
        size_kib = int(folder.name.removeprefix('hugepages-').removesuffix('kB'))
        total += size_kib * 1024 * int((folder / 'free_hugepages').read_text())
    return total


@unittest.skipUnless(PLUGIN.exists(), 'built without DPDK')
class DpdkTest(TramaTest):
    def setUp(self):
        super().setUp()
        self.graph = self.write('dpdk.toml', self.trama('graph', '--builtin', 'dpdk').stdout.encode())

    def command(self, device, out, *arguments, huge_pages='no', **parameters):
        parameters = {'devices': [device], 'huge_pages': huge_pages, 'memory_mb': 256, 'mbufs': 16384, **parameters}
        settings = [word for key, value in parameters.items()
                    for word in ('--set', f'stages.dpdk.{key}={json.dumps(value)}')]
        return [TRAMA, 'run', self.graph, '-w', out, '--summary', '-', *settings, *arguments]

    def run_dpdk(self, device, *arguments, code=0, prefix=(), **parameters):
        """A run that ends by itself: (summary, folder, what it said)."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / 'out'
        command = [*prefix, *map(str, self.command(device, out, *arguments, **parameters))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=support.TIMEOUT_S)
        self.assertNotIn('Sanitizer', done.stderr)
        self.assertNotIn('runtime error:', done.stderr)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code in (0, 1, 3) else done.stdout, out, done.stderr

    def blobs(self, folder):
        return [blob for *_, blob in support.blobs_in(folder)]


class FileTest(DpdkTest):

    def packets(self):
        packets = mixed_packets(5000, self.random)
        # Longer than a packet buffer; tagged, so that headers are long too.
        packets += [ethernet(ipv4(0x0A000001 + i, 0xC0A80001, bytes(8000)), tags=[0x8100] * (i % 5)) for i in range(50)]
        self.random.shuffle(packets)
        return packets

    def assert_as_from_the_file(self, *arguments, **parameters):
        capture = self.write('a.pcap', pcap(self.packets()))
        options = '--key', self.key_file(), '--window-packets', 500
        wanted, file_out = self.run_job(capture, *options)
        summary, out, said = self.run_dpdk(f'net_pcap0,rx_pcap={capture}', *options, *arguments, **parameters)
        self.assertEqual(summary['packets'], wanted['packets'], self.id_with_seed())
        self.assertEqual(summary['dropped'], {'kernel': 0, 'nic': 0, 'ring': 0})
        self.assertEqual(self.blobs(out), self.blobs(file_out), self.id_with_seed())
        windows = lambda folder: [(w['first_ns'], w['last_ns'], w['verdicts']) for m in support.manifests_in(folder)
                                  for w in m['windows']]
        self.assertEqual(windows(out), windows(file_out))
        self.assertEqual([(i['name'], i['status'], i['packets']) for i in summary['inputs']],
                         [('net_pcap0', 'ok', wanted['packets']['seen'])])
        return said


class HugePages(FileTest):
    def test_with_huge_pages(self):
        if os.geteuid() != 0:
            self.skipTest('only root uses huge pages')
        if huge_bytes_free() < 256 << 20:
            self.skipTest('fewer than 256 MiB of huge pages are free')
        self.assert_as_from_the_file(huge_pages='yes')


class Files(FileTest):
    """What net_pcap reads is what -r reads."""

    def test_as_from_the_file(self):
        said = self.assert_as_from_the_file()
        self.assertIn('listening on net_pcap0', said)
        self.assertNotIn('EAL', said)

    def test_few_buffers_lose_nothing(self):
        self.assert_as_from_the_file(mbufs=4200, burst=16, descriptors=64)

    def test_chosen_by_itself(self):
        said = self.assert_as_from_the_file(huge_pages='auto')
        if huge_bytes_free() == 0:
            self.assertIn('without huge pages', said)
            self.assertIn('nr_hugepages', said)

    def test_without_privileges(self):
        if os.geteuid() != 0:
            self.skipTest('all other tests run without privileges here')
        if not shutil.which('setpriv'):
            self.skipTest('setpriv is not installed')
        as_nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all']
        self.folder.chmod(0o777)
        if subprocess.run([*as_nobody, TRAMA, '--version'], capture_output=True).returncode != 0:
            self.skipTest('another user can\'t run what was built here')
        capture = self.write('a.pcap', pcap(self.packets()))
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        out.chmod(0o777)
        done = subprocess.run([*as_nobody, *map(str, self.command(f'net_pcap0,rx_pcap={capture}', out / 'out'))],
                              capture_output=True, text=True, timeout=support.TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)['packets']['seen'], 5050)

    def test_leaves_nothing_behind(self):
        before = [sorted(folder.rglob('*')) if folder.exists() else None for folder in RUNTIME_FOLDERS]
        self.assert_as_from_the_file()
        self.assertEqual([sorted(folder.rglob('*')) if folder.exists() else None for folder in RUNTIME_FOLDERS], before)


class Refusals(DpdkTest):
    """One message with what mends it, nothing else, and nothing is left."""

    def refused(self, words, device='net_null0', **parameters):
        stdout, out, said = self.run_dpdk(device, code=2, **parameters)
        self.assertEqual(stdout, '')
        self.assertEqual(said.count('error:'), 1, said)
        for word in words:
            self.assertIn(word, said)
        self.assertNotIn('EAL:', said)
        self.assertNotIn('Usage', said)
        self.assertFalse(out.exists())

    def test_devices(self):
        self.refused(['DPDK has no device `net_pcap0,rx_pcap=missing.pcap`', 'No such file', 'hint:'],
                     device='net_pcap0,rx_pcap=missing.pcap')
        self.refused(['DPDK has no device `net_nothing`', 'hint:'], device='net_nothing')
        self.refused(['DPDK has found no port'], device='all')

    def test_options_of_eal(self):
        self.refused(['DPDK can\'t be initialised'], eal=['--no-such-option'])
        self.refused(['DPDK can\'t be initialised'], eal=['-n abc'])
        self.refused(['DPDK can\'t be initialised'], eal=['-l 4095'])
        self.refused(['would print EAL\'s options'], eal=['--help'])

    def test_a_driver_that_takes_traffic_away(self):
        self.refused(['takes traffic away from this host', 'role = "tap"'], device='net_bonding0,mode=0')

    def test_memory(self):
        self.refused(['memory'], mbufs=1000000)

    def test_without_the_plugin(self):
        alone = self.folder / 'trama'
        shutil.copy(TRAMA, alone)
        out = self.folder / 'out'
        done = subprocess.run([alone, *map(str, self.command('net_null0', out)[1:])], capture_output=True, text=True,
                              timeout=support.TIMEOUT_S)
        if done.returncode == 0:
            self.skipTest('a plug-in is installed on this machine')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('built without DPDK', done.stderr)
        self.assertIn('sudo apt-get install libdpdk-dev', done.stderr)
        self.assertFalse(out.exists())
        # All else is as ever.
        self.assertEqual(subprocess.run([alone, 'check', self.graph], capture_output=True).returncode, 0)


class Endless(DpdkTest):
    """net_null makes frames without end, none of which is IP."""

    def test_as_many_packets_as_asked_for(self):
        summary, _, _ = self.run_dpdk('net_null0', '--packets', 100000)
        self.assertEqual(summary['packets']['seen'], 100000)
        self.assertEqual(summary['packets']['not_ip'], 100000)

    def test_several_queues_and_replicas(self):
        summary, _, said = self.run_dpdk('net_null0', '--packets', 100000, '--replicas', 'dpdk=2')
        self.assertEqual(summary['packets']['seen'], 100000)
        self.assertIn('2 queues', said)

    def test_several_devices(self):
        summary, _, _ = self.run_dpdk('net_null0', '--packets', 100000, devices=['net_null0', 'net_null1,size=100'])
        self.assertEqual(summary['packets']['seen'], 100000)
        self.assertEqual([i['name'] for i in summary['inputs']], ['net_null0', 'net_null1'])
        self.assertTrue(all(i['packets'] > 10000 for i in summary['inputs']), summary['inputs'])
        self.assertEqual(sum(i['packets'] for i in summary['inputs']), 100000)

    def test_told_to_stop(self):
        out = self.folder / 'out'
        process = subprocess.Popen(list(map(str, self.command('net_null0', out))), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=network.die_with_the_test)
        self.addCleanup(process.kill)
        while line := process.stderr.readline():
            if 'listening' in line:
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=support.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, stderr)
        summary = json.loads(stdout)
        self.assertEqual(summary['packets']['seen'], summary['inputs'][0]['packets'])
        self.assertEqual(summary['packets']['seen'], summary['packets']['not_ip'])


class WireTest(DpdkTest):
    def setUp(self):
        super().setUp()
        self.net = Network()
        self.addCleanup(self.net.close)

    def start(self, device, *arguments, **parameters):
        self.out = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / 'out'
        self.process = self.net.start(*self.command(device, self.out, *arguments, **parameters),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.kill)
        self.said = ''
        while 'listening on' not in self.said:
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                if 'DPDK has no device' in self.said:
                    self.skipTest(f'no such device here: {self.said}')
                self.fail(self.said)

    def stop(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        stdout, stderr = self.process.communicate(timeout=support.TIMEOUT_S)
        self.said += stderr
        self.assertNotIn('Sanitizer', self.said)
        self.assertEqual(self.process.returncode, code, self.said)
        return json.loads(stdout)

    def packets(self):
        packets = [packet for packet in mixed_packets(3000, self.random) if len(packet) >= 14]
        for tags in ([0x8100], [0x8100, 0x8100], [0x88A8, 0x8100, 0x8100]):
            packets += [ethernet(ipv4(0x0A000000 + i, 0xC0A80001), tags=tags) for i in range(50)]
        self.random.shuffle(packets)
        return packets

    def assert_as_from_the_file(self, interface, device, **parameters):
        packets = self.packets()
        capture = self.write('a.pcap', pcap(packets))
        options = '--key', self.key_file(), '--window-packets', 500
        wanted, file_out = self.run_job(capture, *options)
        self.start(device, *options, **parameters)
        self.net.run('ip', 'link', 'set', interface, 'txqueuelen', 10000)  # a tap drops what doesn't fit, and tells nobody
        self.assertEqual(self.net.send(interface, capture), len(packets))
        summary = self.stop()
        self.assertEqual(summary['packets'], wanted['packets'], self.id_with_seed())
        self.assertEqual(self.blobs(self.out), self.blobs(file_out), self.id_with_seed())


class Wire(WireTest):
    """Interfaces of the kernel's, through DPDK."""

    def test_af_packet(self):
        try:
            self.net.add_pair('v0', 'v1')
        except AssertionError as error:
            self.skipTest(f'no pair of interfaces here: {error}')
        # It is asked whether frames have come, and may not have looked when it is told to stop: they wait in its ring.
        self.assert_as_from_the_file('v0', 'net_af_packet0,iface=v1,framecnt=16384', descriptors=16384, mbufs=60000)

    def test_tap(self):
        if not pathlib.Path('/dev/net/tun').exists():
            self.skipTest('there is no /dev/net/tun')
        self.assert_as_from_the_file('dtap0', 'net_tap0,iface=dtap0')


class TapRules(WireTest):
    def test_tap_that_filters(self):
        """Where the kernel can (flower, in tc), what isn't IP doesn't come; where it can't, that is said."""
        if not pathlib.Path('/dev/net/tun').exists():
            self.skipTest('there is no /dev/net/tun')
        self.start('net_tap0,iface=dtap0', keep='ip')
        packets = [ethernet(ipv4(1, 2)), ethernet(bytes(28), 0x0806), ethernet(ipv4(3, 4), tags=[0x8100])] * 10
        self.net.send('dtap0', self.write('a.pcap', pcap(packets)))
        summary = self.stop()
        self.assertEqual(summary['packets']['counted'], 20)
        if "doesn't filter" in self.said:
            self.assertEqual(summary['packets']['not_ip'], 10)
            self.skipTest('no rules (flower) in this kernel: ' + self.said)
        self.assertEqual(summary['packets']['not_ip'], 0)


if __name__ == '__main__':
    unittest.main()
