"""What `trama doctor` finds on a machine."""
import json
import os
import re
import shutil
import subprocess
import unittest

import support
from support import TramaTest


class Doctor(TramaTest):
    def findings(self, *arguments, **options):
        document = json.loads(self.trama('doctor', '--json', *arguments, **options).stdout)
        return {finding['what']: finding for finding in document['findings']}

    def test_text_and_json_say_the_same(self):
        text = self.trama('doctor').stdout
        for what, finding in self.findings().items():
            self.assertIn(finding['state'], ('ok', 'note', 'missing'))
            self.assertRegex(text, rf'(?m)^{finding["state"]} +{re.escape(what)}: ')
            if 'mend' in finding:
                self.assertIn(finding['mend'], text)

    def test_a_folder_that_can_not_be_used(self):
        findings = self.findings('-w', '/dev/null/out', code=1)
        self.assertEqual([f['state'] for f in findings.values() if f['what'].startswith('output folder')], ['broken'])

    def test_without_privileges(self):
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('needs root and setpriv')
        done = subprocess.run(['setpriv', '--reuid', 'nobody', '--clear-groups', support.TRAMA, 'doctor', '--json', '-w', '/tmp/out'],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        findings = {f['what']: f for f in json.loads(done.stdout)['findings']}
        for what in ('packet sockets (af_packet)', 'eBPF programs in the kernel', 'AF_XDP sockets'):
            self.assertEqual(findings[what]['state'], 'missing', findings[what])
            self.assertIn('setcap', findings[what]['mend'])
        self.assertIn('CAP_BPF', findings['eBPF programs in the kernel']['value'])

    def test_interfaces(self):
        if subprocess.run(['unshare', '-rn', 'true'], capture_output=True).returncode != 0:
            self.skipTest('no network namespace to be had')
        script = ('ip link set lo up; ip link add v0 type veth peer name v1; ip link set v0 up mtu 1400; '
                  'ip tuntap add t0 mode tun 2>/dev/null; '
                  f'exec {support.TRAMA} doctor --json -w {self.folder}/out')
        done = subprocess.run(['unshare', '-rn', 'sh', '-c', script], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        findings = {f['what']: f for f in json.loads(done.stdout)['findings']}
        self.assertRegex(findings['interface v0']['value'], 'Ethernet, up, driver veth, MTU 1400, .*filters native')
        self.assertIn('ip link set v1 up', findings['interface v1']['mend'])
        self.assertEqual(findings['interface lo']['value'], 'loopback')
        if 'interface t0' in findings:
            self.assertIn('raw IP', findings['interface t0']['value'])
        if 'merges' in findings['interface v0']['value']:
            self.assertIn('ethtool -K v0 gro off', findings['interface v0']['mend'])


if __name__ == '__main__':
    unittest.main()
