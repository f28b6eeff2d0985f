#!/usr/bin/python3
"""Engines that are broken on purpose, one rule each: does a test notice?

    tests/engine/mutants.py [--short] [--only WORDS]

Copies the engine and the driver (pipeline_driver.cpp) to a temporary folder, changes one place, compiles, and runs
simulated schedules, then threads; a run that stalls ends itself. A mutant that is never noticed fails this test, as
does one whose place has changed, and as does an unchanged engine that is said to be broken.

--short: the unchanged engine and three mutants. CXX names the compiler, g++ unless said.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [f"engine/{part}.cpp" for part in ("runtime", "simulator", "doze", "parameters", "suggest")]
# Modes and runs, in this order until one notices. What breaks sleeping shows in a mode of its own, and seldom.
SCHEDULES = [("simulate", 1500), ("threads", 200), ("stop", 150), ("sleep", 30)]
SLEEP_SCHEDULES = [("sleep", 3000)]
TOO_LONG_S = 400

# Name, then the changes: file, what stands there exactly once, what stands there instead. Where a rule is about two
# steps that lie close together, the mutant also waits between them, so that threads get there in the time a test has.
MUTANTS = [
    ("credit before buffer",
     ("engine/output.hpp",
      """    give_back(message);  // buffer first, credit second: whoever has a credit finds a buffer
    if (from_->numbers.leave(seq)) doze_->notify();""",
     """    if (from_->numbers.leave(seq)) doze_->notify();
    std::this_thread::yield();
    give_back(message);""")),
    ("token for each thread instead of each replica",
     ("engine/ring.hpp", "for (size_t i = 0; i < producers; ++i) tokens_", "for (size_t i = 0; i < 16; ++i) tokens_"),
     ("engine/ring.hpp", "queue_(2 * credits, producers, 0)", "queue_(2 * credits, 16 + producers, 0)"),
     ("engine/ring.hpp", "return queue_.try_enqueue(*tokens_[producer], item);",
      """static std::atomic<size_t> threads{0};
    thread_local const size_t mine = threads++;
    (void)producer;
    return queue_.try_enqueue(*tokens_[mine % 16], item);""")),
    ("reorder left out",
     ("engine/reorder.hpp",
      """    waiting_[message->seq % waiting_.size()] = message;
    while (Message* ready = std::exchange(waiting_[next_ % waiting_.size()], nullptr)) {
      ++next_;
      forward(ready);
    }""",
     "    forward(message);")),
    ("depth falls when a message is taken out",
     ("engine/edge.hpp",
      "    return shard_of(replica).ring.pop(message) ? message : nullptr;\n  }\n"
     "  void processed(size_t replica) { shard_of(replica).depth.fetch_sub(1, std::memory_order_seq_cst); }",
     "    if (!shard_of(replica).ring.pop(message)) return nullptr;\n"
     "    shard_of(replica).depth.fetch_sub(1, std::memory_order_seq_cst);\n    return message;\n  }\n"
     "  void processed(size_t) {}")),
    ("readers drain before the last replica",
     ("engine/runtime.cpp",
      "if (node.drained.fetch_add(1, std::memory_order_acq_rel) + 1 < node.replicas.size()) return true;",
     "if (node.drained.fetch_add(1, std::memory_order_acq_rel) > 0) return true;")),
    ("stamp forgets its place when blocked",
     ("tests/engine/pipeline_stages.hpp",
      "      if (!heap_) return Step::blocked;",
     "      if (!heap_) return used_ = 0, Step::blocked;")),
    ("credits counted, not numbered",
     ("engine/credits.hpp",
      "      if (slots_[number % size()].free_for.load(std::memory_order_seq_cst) != number) {",
      "      if (reserved_.load() - next_.load() + alive() >= size()) {")),
    ("half the credits of a fan-out",
     ("engine/output.hpp",
      "if (keepers_ > 1) to_->numbers.share(seq, keepers_ - 1);",
     "")),
    ("a number that all readers share ends with the first",
     ("engine/credits.hpp",
      "if (slot.leaving.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;",
     "if (slot.leaving.exchange(0, std::memory_order_seq_cst) <= 0) return false;")),
    ("readers that may lose come last",
     ("engine/runtime.cpp", "const bool may_lose : {true, false}", "const bool may_lose : {false, true}"),
     ("engine/output.hpp", "      if (!way.edge->push(way.producer, message))",
      "      if (std::this_thread::sleep_for(std::chrono::microseconds(50)); !way.edge->push(way.producer, message))")),
    ("a sleeper does not look once more",
     ("engine/runtime.cpp",
      "    if (try_all(worker, core, look) || look == Look::none) continue;\n", "")),
    ("two last looks at once",
     ("engine/doze.hpp",
      "    if (last_look_.exchange(true, std::memory_order_seq_cst)) return false;\n", "")),
]
SLEEP = {"a sleeper does not look once more", "two last looks at once"}
SHORT = {"reorder left out", "depth falls when a message is taken out", "stamp forgets its place when blocked"}


def build(folder, compiler):
    """One file of all: the headers are read once."""
    every = folder / "all.cpp"
    every.write_text("".join(f'#include "{s}"\n' for s in SOURCES + ["tests/engine/pipeline_driver.cpp"]))
    command = [compiler, "-std=c++20", "-O1", "-w", "-pthread", f"-I{folder}", str(every), "-o", str(folder / "driver")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"does not compile: {done.stderr[:2000]}")
    return folder / "driver"


def copy_engine(folder):
    shutil.copytree(ROOT / "engine", folder / "engine")
    for part in (*sorted((ROOT / "tests/engine").glob("*.hpp")), ROOT / "tests/engine/pipeline_driver.cpp",
                 ROOT / "tests/support/graph_fixture.hpp", ROOT / "tests/support/watchdog.hpp"):
        copy = folder / part.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(part, copy)


def change(folder, name, changes):
    for file, before, after in changes:
        text = (folder / file).read_text()
        if text.count(before) != 1:
            sys.exit(f"{name}: its place in {file} has changed; mend mutants.py")
        (folder / file).write_text(text.replace(before, after))


def symptom(driver, schedules):
    """How the engine in this folder is noticed to be broken; None when it isn't."""
    for mode, count in schedules:
        try:
            done = subprocess.run([driver, mode, str(count)], capture_output=True, text=True, timeout=TOO_LONG_S)
        except subprocess.TimeoutExpired:
            sys.exit(f"{mode}: {count} runs are not over after {TOO_LONG_S} s: this machine is too busy for this test")
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"signal {-done.returncode}"]
            return f"{mode}: {lines[-1][-150:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    compiler = os.environ.get("CXX", "g++")
    survivors = 0
    chosen = [m for m in MUTANTS if options.only in m[0] and (not options.short or m[0] in SHORT)]
    for name, *changes in [("unchanged",)] + chosen:
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            copy_engine(folder)
            change(folder, name, changes)
            noticed = symptom(build(folder, compiler), SLEEP_SCHEDULES if name in SLEEP else SCHEDULES)
        good = (noticed is None) == (not changes)
        survivors += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {noticed or 'nothing noticed'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
