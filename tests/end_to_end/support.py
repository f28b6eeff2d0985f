"""What the end-to-end tests share: running the program, making captures, opening blobs with GraphBLAS."""
import fcntl
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tarfile
import tempfile
import termios
import time
import unittest

import numpy
import suitesparse_graphblas
from suitesparse_graphblas import ffi, lib

TRAMA = os.environ.get('TRAMA', str(pathlib.Path(__file__).parents[2] / 'build/release/trama'))
LONG = bool(os.environ.get('TRAMA_LONG'))
SANITIZED = bool(os.environ.get('TRAMA_SANITIZED'))
TIMEOUT_S = 300

# The sample key of the Crypto-PAn 1.0 distribution.
KEY = bytes([21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
             216, 152, 143, 131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2])
T0 = 1_700_000_000  # 2023-11-14 22:13:20 UTC

suitesparse_graphblas.initialize()


class TramaTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='trama-test-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        seed = os.environ.get('TRAMA_SEED') or str(random.randrange(1 << 30))
        self.random = random.Random(seed)
        self.seed = seed

    def id_with_seed(self):
        return f'TRAMA_SEED={self.seed}'

    def key_file(self):
        path = self.folder / 'test.key'
        if not path.exists():
            path.write_text(KEY.hex() + '\n')
            path.chmod(0o600)
        return path

    def trama(self, *arguments, code=0, **options):
        """Runs the program, and checks how it ended. Returns the finished process with text output."""
        done = subprocess.run([TRAMA, *map(str, arguments)], capture_output=True, text=True, errors='replace',
                              timeout=TIMEOUT_S, **{'stdin': subprocess.DEVNULL, 'cwd': self.folder, **options})
        self.assertNotIn('Sanitizer', done.stderr)
        self.assertNotIn('runtime error:', done.stderr)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr[-2000:])
        return done

    def run_job(self, capture, *arguments, code=0, out=None):
        """`trama run` on a capture into a folder of its own: (summary, folder)."""
        out = out or pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / 'out'
        done = self.trama('run', '-q', '-r', capture, '-w', out, '--summary', '-', *arguments, code=code)
        return json.loads(done.stdout), out

    def wait_until_read(self, pipe):
        """Until the program has taken everything out of a pipe that is written to it."""
        for _ in range(600):
            if fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4):
                return
            time.sleep(0.05)
        self.fail('the pipe is not read')

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


# --- captures -------------------------------------------------------------------------------------------------------


def ipv4(source, destination, payload=b'', version_and_length=0x45):
    return struct.pack('>BBHHHBBHII', version_and_length, 0, 20 + len(payload), 0, 0, 64, 17, 0, source,
                       destination) + payload


def ipv6(payload=b''):
    return struct.pack('>IHBB', 6 << 28, len(payload), 59, 64) + bytes(32) + payload


def ethernet(payload, ether_type=0x0800, tags=()):
    tag_bytes = b''.join(struct.pack('>HH', tag, 7) for tag in tags)
    return bytes(12) + tag_bytes + struct.pack('>H', ether_type) + payload


def pcap(packets, link_type=1, nano=False, order='<'):
    """A pcap of packets given as bytes, or as (bytes, time in ns)."""
    out = [struct.pack(order + 'IHHiIII', 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)]
    for number, packet in enumerate(packets):
        data, time_ns = packet if isinstance(packet, tuple) else (packet, T0 * 10**9 + number * 1000)
        seconds, fraction = divmod(time_ns, 10**9)
        out.append(struct.pack(order + 'IIII', seconds, fraction if nano else fraction // 1000, len(data), len(data)))
        out.append(data)
    return b''.join(out)


def mixed_packets(count, draw):
    """Ethernet packets of every verdict that a capture can hold: counted ones in a few pairs, and all kinds between."""
    packets = []
    for _ in range(count):
        kind = draw.randrange(20)
        pair = 0x0A000000 + draw.randrange(200), 0xC0A80000 + draw.randrange(50)
        if kind == 0:
            packet = ethernet(ipv6(), 0x86DD)
        elif kind == 1:
            packet = ethernet(bytes(28), 0x0806)
        elif kind == 2:
            packet = ethernet(ipv4(*pair, version_and_length=draw.choice([0x44, 0x55, 0x00])))
        elif kind == 3:
            packet = ethernet(ipv4(*pair))[:draw.randrange(34)]
        elif kind == 4:
            packet = ethernet(ipv4(*pair, b'x' * draw.randrange(100)), tags=[0x88A8, 0x8100])
        else:
            packet = ethernet(ipv4(*pair, b'y' * draw.randrange(200)))
        packets.append(packet)
    return packets


# --- archives -------------------------------------------------------------------------------------------------------


def open_blob(blob):
    """{(row, column): value} of a blob, by the GraphBLAS library; checks type and dimensions."""
    matrix = ffi.new('GrB_Matrix*')
    buffer = ffi.from_buffer(blob)
    info = lib.GxB_Matrix_deserialize(matrix, ffi.NULL, buffer, len(blob), ffi.NULL)
    assert info == lib.GrB_SUCCESS, f'GraphBLAS refuses the blob: {info}'
    number = ffi.new('GrB_Index*')
    for get, right in ((lib.GrB_Matrix_nrows, 1 << 32), (lib.GrB_Matrix_ncols, 1 << 32)):
        get(number, matrix[0])
        assert number[0] == right, f'dimension {number[0]}'
    name = ffi.new('char[128]')
    lib.GxB_Matrix_type_name(name, matrix[0])
    assert ffi.string(name) == b'uint32_t', ffi.string(name)
    lib.GrB_Matrix_nvals(number, matrix[0])
    count = number[0]
    rows, columns, values = (numpy.empty(max(count, 1), dtype=kind) for kind in ('uint64', 'uint64', 'uint32'))
    info = lib.GrB_Matrix_extractTuples_UINT32(ffi.from_buffer('GrB_Index*', rows), ffi.from_buffer('GrB_Index*', columns),
                                               ffi.from_buffer('uint32_t*', values), number, matrix[0])
    assert info == lib.GrB_SUCCESS, info
    lib.GrB_Matrix_free(matrix)
    return dict(zip(zip(rows[:count].tolist(), columns[:count].tolist()), values[:count].tolist()))


def archives_in(folder):
    return sorted(pathlib.Path(folder).glob('*.tar'))


def blobs_in(folder):
    """(archive name, member name, blob) of every window of a folder, in order."""
    for path in archives_in(folder):
        with tarfile.open(path) as archive:
            for member in archive:
                yield path.name, member.name, archive.extractfile(member).read()


def manifests_in(folder):
    return [json.loads(pathlib.Path(f'{path}.json').read_text()) for path in archives_in(folder)]


def everything_in(folder):
    """{name: bytes} of a folder's files."""
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
