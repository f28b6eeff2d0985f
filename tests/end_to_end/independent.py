"""The main job done once more, in plain Python: its own capture walk, its own Crypto-PAn, its own sums.

It shares nothing with the program under test but the published definitions: pcap (draft-ietf-opsawg-pcap), Crypto-PAn
(Xu, Fan, Ammar, Moon 2002), AES-128 (FIPS 197).
"""
import collections
import functools
import struct

import numpy

# --- AES-128 on many blocks at once ---------------------------------------------------------------------------------


def _make_sbox():
    """From the definition in FIPS 197, 5.1.1: inverse in GF(2^8), then an affine map."""
    power, log = [0] * 256, [0] * 256
    value = 1
    for i in range(255):
        power[i], log[value] = value, i
        value ^= (value << 1) ^ (0x11B if value & 0x80 else 0)
        value &= 0xFF
    sbox = []
    for x in range(256):
        inverse = power[(255 - log[x]) % 255] if x else 0
        y = inverse
        for shift in range(1, 5):
            y ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
        sbox.append(y ^ 0x63)
    return numpy.array(sbox, dtype=numpy.uint8)


SBOX = _make_sbox()
DOUBLE = numpy.array([(x << 1 ^ (0x1B if x & 0x80 else 0)) & 0xFF for x in range(256)], dtype=numpy.uint8)
SHIFT_ROWS = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11]


class Aes128:
    def __init__(self, key):
        words = [list(key[4 * i:4 * i + 4]) for i in range(4)]
        constant = 1
        for i in range(4, 44):
            word = list(words[i - 1])
            if i % 4 == 0:
                word = [int(SBOX[b]) for b in word[1:] + word[:1]]
                word[0] ^= constant
                constant = int(DOUBLE[constant])
            words.append([a ^ b for a, b in zip(words[i - 4], word)])
        self.round_keys = numpy.array(words, dtype=numpy.uint8).reshape(11, 16)

    def encrypt(self, blocks):
        """blocks: (n, 16) bytes."""
        state = blocks ^ self.round_keys[0]
        for round_number in range(1, 11):
            state = SBOX[state][:, SHIFT_ROWS]
            if round_number < 10:
                columns = state.reshape(-1, 4, 4)
                double = DOUBLE[columns]
                rotated = [numpy.roll(columns, -k, axis=2) for k in range(4)]
                state = (double ^ numpy.roll(double, -1, axis=2) ^ rotated[1] ^ rotated[2] ^ rotated[3]).reshape(-1, 16)
            state = state ^ self.round_keys[round_number]
        return state


# --- Crypto-PAn -----------------------------------------------------------------------------------------------------


class CryptoPan:
    def __init__(self, key):
        """key: 32 bytes."""
        self.aes = Aes128(key[:16])
        self.pad = self.aes.encrypt(numpy.frombuffer(key[16:], dtype=numpy.uint8).reshape(1, 16))[0]
        self.known = {}

    def anonymize(self, addresses):
        """A dict from each of the addresses (integers), and of those asked for before, to its image."""
        new = set(addresses) - self.known.keys()
        if new:
            self.known.update(self._images(numpy.array(sorted(new), dtype=numpy.uint32)))
        return self.known

    def _images(self, addresses):
        result = numpy.zeros(len(addresses), dtype=numpy.uint32)
        first_pad = int.from_bytes(self.pad[:4].tobytes(), 'big')
        for level in range(32):
            mask = (0xFFFFFFFF << (32 - level)) & 0xFFFFFFFF
            first = (addresses & numpy.uint32(mask)) | numpy.uint32(first_pad & ~mask & 0xFFFFFFFF)
            blocks = numpy.tile(self.pad, (len(addresses), 1))
            for byte in range(4):
                blocks[:, byte] = (first >> numpy.uint32(24 - 8 * byte)) & 0xFF
            bit = self.aes.encrypt(blocks)[:, 0] >> 7
            result |= bit.astype(numpy.uint32) << numpy.uint32(31 - level)
        return dict(zip(addresses.tolist(), (addresses ^ result).tolist()))


# --- captures -------------------------------------------------------------------------------------------------------

VERDICTS = 'counted excluded filtered ipv6 not_ip malformed cut unknown_link'.split()
VLAN_TAGS = {0x8100, 0x88A8, 0x9100, 0x9200}


def read_pcap(data):
    """(link type, captured bytes, time in ns) of every packet of a pcap in either byte order and unit."""
    order = '<' if data[:4] in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1') else '>'
    nano = b'\x4d\x3c' in data[:4] or b'\x3c\x4d' in data[:4]
    link_type = struct.unpack_from(order + 'I', data, 20)[0] & 0xFFFF
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, captured, _ = struct.unpack_from(order + 'IIII', data, at)
        at += 16
        if at + captured > len(data):
            return
        yield link_type, data[at:at + captured], seconds * 10**9 + fraction * (1 if nano else 1000)
        at += captured


def judge(link_type, packet):
    """(verdict, source, destination) of a packet on Ethernet or raw IP."""
    at = 0
    if link_type == 1:
        if len(packet) < 14:
            return 'cut', 0, 0
        at, ether_type = 14, struct.unpack_from('>H', packet, 12)[0]
        while ether_type in VLAN_TAGS:
            if len(packet) < at + 4:
                return 'cut', 0, 0
            ether_type = struct.unpack_from('>H', packet, at + 2)[0]
            at += 4
        if ether_type not in (0x0800, 0x86DD):
            return 'not_ip', 0, 0
        version = 4 if ether_type == 0x0800 else 6
    elif link_type in (12, 14, 101):
        if not packet:
            return 'cut', 0, 0
        version = packet[0] >> 4
        if version not in (4, 6):
            return 'malformed', 0, 0
    else:
        return 'unknown_link', 0, 0
    if len(packet) < at + (20 if version == 4 else 40):
        return 'cut', 0, 0
    if packet[at] >> 4 != version or (version == 4 and packet[at] & 15 < 5):
        return 'malformed', 0, 0
    if version == 6:
        return 'ipv6', 0, 0
    source, destination = struct.unpack_from('>II', packet, at + 12)
    return 'counted', source, destination


Window = collections.namedtuple('Window', 'cells verdicts times')


def windows_of(packets, window_packets, excluded=lambda source, destination: False):
    """The windows, the last one maybe partial, and the verdicts of what came after it."""
    windows, cells, verdicts, times = [], collections.Counter(), collections.Counter(), []
    for link_type, packet, time_ns in packets:
        verdict, source, destination = judge(link_type, packet)
        if verdict == 'counted' and excluded(source, destination):
            verdict = 'excluded'
        verdicts[verdict] += 1
        if verdict != 'counted':
            continue
        cells[source, destination] += 1
        times.append(time_ns)
        if verdicts['counted'] == window_packets:
            windows.append(Window(cells, verdicts, times))
            cells, verdicts, times = collections.Counter(), collections.Counter(), []
    if cells:
        windows.append(Window(cells, verdicts, times))
        verdicts = collections.Counter()
    return windows, verdicts


crypto_pan = functools.lru_cache(CryptoPan)


def relabel(cells, key, raw=False):
    """The cells of a matrix after anonymization under `key` (None: in clear)."""
    addresses = {address for pair in cells for address in pair}
    image = crypto_pan(key).anonymize(addresses) if key else {a: a for a in addresses}
    index = (lambda a: int.from_bytes(a.to_bytes(4, 'big'), 'little')) if raw else (lambda a: a)
    return {(index(image[s]), index(image[d])): count for (s, d), count in cells.items()}
