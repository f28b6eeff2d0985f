"""A thousand random captures (60 without TRAMA_LONG), judged by Trama and by tshark.

tests/end_to_end/random_captures/ makes them, and says how they are bundled. What a packet is by tshark's dissection is
worked out by Judgement, with the differences that docs/counting.md names under "Compared with tshark".
"""
import collections
import concurrent.futures
import csv
import io
import json
import os
import shutil
import subprocess
import unittest

import support
from support import LONG, TIMEOUT_S, TramaTest

GENERATOR = os.environ.get('TRAMA_RANDOM_CAPTURES', '')
MARKER = 200_000  # and twice the capture's number: the length on the wire of the packet before the capture's first

FIELDS = '''frame.cap_len frame.len frame.protocols ip.version ip.hdr_len ip.src ip.dst ipv6.src ipv6.dst _ws.short
            _ws.malformed wlan.fc.type_subtype wlan.fc.protected tr.frame_type pppoe.code pppoe.payload_length
            nflog.family'''.split()

# tshark's names of what the walk steps over.
LINK_LAYERS = set('''arcnet chdlc eth etag ethertype fddi ieee8021ad ieee8021ah ipoib llc mpls nflog nsh null
                     pcap_pktdata pktap ppi ppp pppoes prism radiotap raw sll tr vlan vntag wlan wlan_aggregate
                     wlan_radio wlancap'''.split())
# What link types that aren't walked are for tshark.
NOT_WALKED = {'bluetooth', 'user_dlt', 'wpan', ''}

# Frames in other frames that tshark enters beside pseudowires and the like: bridged Ethernet, LLC of ARCNET.
NOT_ENTERED = {('ethertype', 'eth'), ('arcnet', 'llc')}


class Judgement:
    """What one packet is by tshark: `verdict`, and `pair` if it is counted."""

    def __init__(self, row):
        values = dict(zip(FIELDS, row))
        self.first = {name: value.split(',')[0] for name, value in values.items()}
        self.layers = values['frame.protocols'].split(':')
        self.ended_early = any(self.stops_here(text) for name in ('_ws.short', '_ws.malformed')
                               for text in values[name].split(','))
        self.pair = None
        self.verdict = self.judge()

    def stops_here(self, text):
        """Whether it tells of the last layer's end. An 802.3 frame's end is told beside that."""
        return 'Packet' in text and ('Ethernet' not in text or self.layers[-1] == 'eth')

    def judge(self):
        if self.layers[0] in NOT_WALKED and not self.first['ip.version']:
            return 'unknown_link'
        if self.is_no_data():
            return 'not_ip'
        for before, layer in zip([''] + self.layers, self.layers):
            if layer in ('ip', 'ipv6'):
                return self.judge_ip('counted' if layer == 'ip' else 'ipv6', layer)
            if layer in ('data', '') and (self.first['ip.version'] or before == 'raw'):
                return 'malformed'  # looked at as IP, and put aside
            if layer not in LINK_LAYERS or (before, layer) in NOT_ENTERED:
                return 'not_ip'  # tshark may go on: pseudowires, multilink, OSI, 6LoWPAN, roofnet
        # When these are whole, another layer follows.
        return 'cut' if self.ended_early or self.layers[-1] in ('nsh', 'llc', 'nflog') else 'not_ip'

    def is_no_data(self):
        """Frames of a kind that carries no packet in clear, whatever tshark makes of the rest of them."""
        kind = self.first['wlan.fc.type_subtype']
        if kind and (int(kind, 0) >> 4 != 2 or int(kind, 0) & 4 or self.first['wlan.fc.protected'] in ('1', 'True')):
            return True
        pppoe_code = self.first['pppoe.payload_length'] and self.first['pppoe.code']
        return (bool(pppoe_code) and int(pppoe_code, 0) != 0 or self.first['tr.frame_type'] == '0'
                or self.first['nflog.family'] not in ('', '2', '10'))

    def judge_ip(self, verdict, layer):
        right = '4' if layer == 'ip' else '6'
        if self.first['ip.version'] not in ('', right):
            return 'malformed'
        if layer == 'ip' and self.first['ip.hdr_len'] and int(self.first['ip.hdr_len']) < 20:
            return 'malformed'
        source, destination = self.first[layer + '.src'], self.first[layer + '.dst']
        if not source or not destination:
            return 'cut'
        if layer == 'ip':
            self.pair = source, destination
        return verdict


Sums = collections.namedtuple('Sums', 'verdicts pairs truncated')


def by_tshark(bundle):
    """{number: Sums} of the captures in a bundle."""
    command = ['tshark', '-n', '-r', bundle, '-o', 'ip.defragment:FALSE', '-d', 'ethertype==0x9200,vlan', '-T', 'fields',
               '-E', 'separator=/t', '-E', 'occurrence=a']
    for name in FIELDS:
        command += ['-e', name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    captures = {}
    for line in done.stdout.splitlines():
        row = line.split('\t')
        if int(row[1]) >= MARKER - 1:  # tshark takes the direction of a PPP packet off
            current = captures[(int(row[1]) + 1 - MARKER) // 2] = Sums(collections.Counter(), collections.Counter(), False)
            continue
        judged = Judgement(row)
        current.verdicts[judged.verdict] += 1
        if judged.pair:
            current.pairs[judged.pair] += 1
    said = [line for line in done.stderr.splitlines() if line.startswith('tshark: ')]
    if said:
        assert all('cut short' in line for line in said), done.stderr
        last = max(captures)
        captures[last] = captures[last]._replace(truncated=True)
    return captures


@unittest.skipUnless(shutil.which('tshark'), 'tshark is not installed')
@unittest.skipUnless(GENERATOR, 'TRAMA_RANDOM_CAPTURES does not name the program that makes them')
class Tshark(TramaTest):
    def by_trama(self, capture):
        out = capture.with_suffix('.out')
        done = self.trama('run', '-q', '-r', capture, '-w', out, '--no-anonymize', '--workers', '1', '--summary', '-',
                          code=None)
        self.assertIn(done.returncode, (0, 3), (capture.name, done.stderr))
        packets = json.loads(done.stdout)['packets']
        seen = packets.pop('seen')
        self.assertEqual(seen, sum(packets.values()))
        pairs = collections.Counter()
        if packets['counted']:
            for line in csv.DictReader(io.StringIO(self.trama('export', out).stdout)):
                pairs[line['source'], line['destination']] += int(line['packets'])
        return Sums(collections.Counter({name: n for name, n in packets.items() if n}), pairs, done.returncode == 3)

    def test_random_captures(self):
        subprocess.run([GENERATOR, self.folder, self.seed, str(1000 if LONG else 60)], check=True)
        listed = [line.split('\t') for line in (self.folder / 'captures.tsv').read_text().splitlines()]
        right = {}
        with concurrent.futures.ThreadPoolExecutor(4) as several:
            for part in several.map(by_tshark, sorted({self.folder / bundle for _, bundle, _ in listed})):
                right.update(part)
            judged = list(several.map(self.by_trama, [self.folder / name for name, _, _ in listed]))
        wrong = []
        total = collections.Counter()
        for (name, _, number), ours in zip(listed, judged):
            theirs = right.get(int(number))
            total += ours.verdicts
            if ours != theirs:
                wrong.append(f'{name}: Trama {ours.verdicts}, tshark {theirs and theirs.verdicts}; pairs '
                             f'{"agree" if theirs and ours.pairs == theirs.pairs else "differ"}; cut: {ours.truncated}, '
                             f'{theirs and theirs.truncated}')
        for verdict in 'counted ipv6 not_ip malformed cut unknown_link'.split():
            self.assertGreater(total[verdict], 0, f'no capture has any: {verdict}')
        print(f'{self.id_with_seed()}: {len(listed)} captures, {sum(total.values())} packets, {dict(total)}')
        self.assertEqual(wrong, [], self.id_with_seed())


if __name__ == '__main__':
    unittest.main()
