#!/usr/bin/python3
"""Live sources beside receivers that only count, in turn.

    tests/bench/live_rates.py [--build build/release] [--packets 4000000] [--rounds 5] [--json FILE]

Over a pair of virtual interfaces in a network namespace (needs root, and ends with it): one thread sends frames of 64
bytes as fast as it can (frame_sender.cpp). af_packet and af_xdp make anonymized matrices of them, one worker; beside
them stand libpcap, which counts (count_packets.cpp), and the same source with the stage `null` behind it. From DPDK's
net_null, which has a frame for everybody who asks, each takes as many as it can.

Printed are millions of packets a second, sent and received, medians and ranges; what was lost; and the quotient of
what the matrices hold and what the counting receiver of that source got.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))
RING_BYTES = 64 << 20
LIMIT_S = 120
TO_MATRICES = ["{source} -> parse -> in_order -> stamp",
               "stamp -> anonymize -> build -> serialize -> by_number -> archive"]
GRAPH = """
[graph]
links = {links}
[stages.{source}]
{parameters}
"""
REORDER = """
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.archive]
directory = "{out}"
"""
WIRE = {"af_packet": f'interfaces = ["v1"]\nring_bytes = {RING_BYTES}\ndirection = "in"',
        "af_xdp": 'interfaces = ["v1"]\nrole = "tap"'}
NULL_DEVICE = 'devices = ["net_null0,size=60"]\neal = ["--no-pci"]\nhuge_pages = "no"'


class Bench:
    def __init__(self, arguments, net, folder):
        self.build, self.packets, self.net, self.folder = arguments.build.resolve(), arguments.packets, net, folder
        self.runs = 0

    def graph(self, source, parameters, matrices):
        self.runs += 1
        links = TO_MATRICES if matrices else ["{source} -> null"]
        text = GRAPH.format(links=json.dumps([link.format(source=source) for link in links]), source=source,
                            parameters=parameters)
        if matrices:
            text += REORDER.format(out=self.folder / f"out{self.runs}")
        path = self.folder / f"{self.runs}.toml"
        path.write_text(text)
        return [self.build / "trama", "run", path, "--workers", "1", "--summary", "-",
                *(["--key", self.folder / "bench.key"] if matrices else [])]

    def send(self):
        words = self.net.run(self.build / "tests/bench/frame_sender", "v0", self.packets).split()
        return int(words[0]), int(words[0]) / float(words[2])

    def receive(self, command, ready, count):
        """Sends while `command` receives: packets a second sent, the share of them that was received."""
        process = self.net.start(*map(str, command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        try:
            said = ""
            while ready not in said:
                line = process.stdout.readline()
                said += line
                if not line:
                    raise SystemExit(said)
            sent, rate = self.send()
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
        return rate, count(output) / sent

    def libpcap(self):
        return self.receive([self.build / "tests/bench/count_packets", "v1", RING_BYTES], "listening",
                            lambda output: int(output.split()[-2]))

    def wire(self, source, matrices):
        return self.receive(self.graph(source, WIRE[source], matrices), "listening on",
                            lambda output: summary(output)["inputs"][0]["packets"] if not matrices
                            else summary(output)["packets"]["counted"])

    def net_null(self, matrices):
        """As many as can be taken: packets a second, and all of them."""
        command = [*self.graph("dpdk", NULL_DEVICE, matrices), "--packets", str(8 * self.packets)]
        done = self.net.run(*map(str, command))
        result = summary(done)
        return result["inputs"][0]["packets"] / result["seconds"], 1.0


def summary(output):
    """Of what a run said, the JSON; notes stand around it."""
    return json.JSONDecoder().raw_decode(output, output.index("{"))[0]


def text(values, scale=1e-6):
    values = [value * scale for value in values]
    return f"{statistics.median(values):6.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--packets", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ["TRAMA"] = str(arguments.build.resolve() / "trama")
    from network import Network
    net = Network()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        net.add_pair("v0", "v1")
        bench = Bench(arguments, net, pathlib.Path(folder))
        subprocess.run([bench.build / "trama", "key", "new", bench.folder / "bench.key"], check=True, capture_output=True)
        ways = {"libpcap counts": bench.libpcap}
        for source in WIRE:
            ways[f"{source} counts"] = lambda source=source: bench.wire(source, False)
            ways[f"{source} to matrices"] = lambda source=source: bench.wire(source, True)
        ways["net_null counts"] = lambda: bench.net_null(False)
        ways["net_null to matrices"] = lambda: bench.net_null(True)
        figures = {name: [] for name in ways}
        for _ in range(arguments.rounds):
            for name, way in ways.items():
                figures[name].append(way())
    net.close()
    received = {name: [rate * share for rate, share in rows] for name, rows in figures.items()}
    for name, rows in figures.items():
        print(f"{name:22} sent {text([row[0] for row in rows])}  received {text(received[name])}"
              f"  lost {100 * (1 - statistics.median(row[1] for row in rows)):.2f} %")
    for source in ("af_packet", "af_xdp", "net_null"):
        pairs = zip(received[f"{source} to matrices"], received[f"{source} counts"])
        print(f"{source}: matrices / counts {text([ours / other for ours, other in pairs], 1)}")
    pairs = zip(received["af_packet to matrices"], received["libpcap counts"])
    print(f"af_packet to matrices / libpcap counts {text([ours / other for ours, other in pairs], 1)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


main()
