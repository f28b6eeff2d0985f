#!/usr/bin/python3
"""From a capture file to archives, both on tmpfs: the command beside a straightforward program, in turn.

    tests/bench/file_to_archive.py [--build build/release] [--packets 8388608] [--rounds 7] [--folder /dev/shm]

Ours anonymizes, with one worker and with two; the other (plain_pcap2grb.cpp) does not. Each round runs all of them on
the same capture. Prints nanoseconds a packet, processor and elapsed time, medians and ranges, and their quotients.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time


def run(command):
    """Elapsed and processor seconds of a command that must succeed."""
    before = os.times()
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elapsed = time.monotonic() - started
    after = os.times()
    return elapsed, (after.children_user - before.children_user) + (after.children_system - before.children_system)


def text(values):
    return f"{statistics.median(values):7.1f} ({min(values):.1f} to {max(values):.1f})"


def measure(arguments, model, folder):
    trama = arguments.build / "trama"
    plain = arguments.build / "tests/bench/plain_pcap2grb"
    capture = folder / f"{model}.pcap"
    graph = pathlib.Path(__file__).resolve().parents[2] / "control/graphs/capture.toml"
    run([trama, "run", graph, "-q", "--set", f"stages.synthetic.packets={arguments.packets}",
         "--set", f'stages.synthetic.model="{model}"', "--set", f'stages.save.file="{capture}"'])
    key = folder / "bench.key"
    if not key.exists():
        run([trama, "key", "new", key])

    def ours(workers):
        out = folder / "out"
        times = run([trama, "run", "-q", "-r", capture, "-w", out, "--key", key, "--workers", str(workers)])
        shutil.rmtree(out)
        return times

    def other():
        archive = folder / "plain.tar"
        times = run([plain, capture, archive])
        archive.unlink()
        return times

    ways = {"one worker": lambda: ours(1), "two workers": lambda: ours(2), "straightforward": other}
    figures = {way: [] for way in ways}
    for way in ways.values():  # what is read and written for the first time costs more
        way()
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            figures[name].append([1e9 * seconds / arguments.packets for seconds in way()])
    capture.unlink()

    print(f"{model}: {arguments.packets} packets, {arguments.rounds} rounds, ns a packet")
    for name, rows in figures.items():
        print(f"  {name:16} elapsed {text([row[0] for row in rows])}   processor {text([row[1] for row in rows])}")
    median = {name: [statistics.median(row[i] for row in rows) for i in (0, 1)] for name, rows in figures.items()}
    straightforward, one, two = (median[name] for name in ("straightforward", "one worker", "two workers"))
    print(f"  straightforward / one worker: elapsed {straightforward[0] / one[0]:.2f}, "
          f"processor {straightforward[1] / one[1]:.2f}; one worker / two: elapsed {one[0] / two[0]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--packets", type=int, default=64 << 17)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", default="/dev/shm")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for model in ("uniform", "zipf"):
            measure(arguments, model, pathlib.Path(folder))


main()
