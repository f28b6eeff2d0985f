#!/usr/bin/python3
"""What a subscriber costs the engine: generated packets to published windows, with and without somebody who follows.

    tests/bench/stream_cost.py [--build build/release] [--packets 67108864] [--rounds 7] [--encoding compact]

One worker; `trama subscribe` runs beside it, decodes every window and must miss none. Prints packets a second, medians
and ranges of runs in turn, and their quotient.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

GRAPH = """
[graph]
links = ["synthetic -> parse -> in_order -> stamp",
         "stamp -> anonymize -> build -> serialize -> by_number -> publish"]
[stages.synthetic]
packets = {packets}
model = "{model}"
[stages.in_order]
kind = "reorder"
[stages.by_number]
kind = "reorder"
[stages.serialize]
encoding = "{encoding}"
[stages.publish]
url = "trama+ipc://{socket}"
linger = 10
"""


def run(arguments, folder, model, subscribed):
    socket, graph = folder / "bench.sock", folder / "bench.toml"
    graph.write_text(GRAPH.format(packets=arguments.packets, model=model, encoding=arguments.encoding, socket=socket))
    trama = arguments.build / "trama"
    reader = None
    if subscribed:  # waits for the publisher, so that it is there before the first window
        reader = subprocess.Popen([trama, "subscribe", "--json", "--number", "0", f"trama+ipc://{socket}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        done = subprocess.run([trama, "run", graph, "-q", "--workers", "1", "--key", folder / "bench.key", "--summary", "-"],
                              check=True, capture_output=True, text=True)
        if reader and (reader.wait(60) != 0 or "missed" in reader.stderr.read()):
            raise SystemExit("the subscriber has missed windows")
    finally:
        if reader:
            reader.kill()
    return arguments.packets / json.loads(done.stdout)["seconds"]


def text(values):
    return f"{statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--packets", type=int, default=512 << 17)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--encoding", choices=("blob", "compact"), default="compact")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.build / "trama", "key", "new", folder / "bench.key"], check=True, capture_output=True)
        for model in ("uniform", "zipf"):
            alone, followed = [], []
            for _ in range(arguments.rounds):
                alone.append(run(arguments, folder, model, False))
                followed.append(run(arguments, folder, model, True))
            print(f"{model}: alone {text([rate / 1e6 for rate in alone])} M packets/s, "
                  f"followed {text([rate / 1e6 for rate in followed])}; "
                  f"quotient {text([with_one / without for with_one, without in zip(followed, alone)])}")


main()
