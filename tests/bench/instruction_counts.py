#!/usr/bin/env python3
"""Counts the instructions that the kernels take for a packet, and holds them against instruction_counts.tsv.

    instruction_counts.py build/release/tests/bench/kernel_counts             fails where one is off by more than 5 %
    instruction_counts.py build/release/tests/bench/kernel_counts --write     writes the table

Times depend on the machine and who else uses it; what valgrind counts depends on the compiler alone, which the table
names. It knows no AVX-512. Ends with 77, and says why, where it can't tell.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).with_suffix('.tsv')
ALLOWED = 0.05
SKIPPED = 77
COLUMNS = 'target', 'kernel', 'traffic', 'instructions a packet'


def skip(why):
    print(f'SKIPPED: {why}')
    sys.exit(SKIPPED)


def measure(program):
    """{(target, kernel, traffic): instructions a packet}"""
    with tempfile.TemporaryDirectory(prefix='trama-counts-') as folder:
        out = pathlib.Path(folder) / 'counts'
        done = subprocess.run(['valgrind', '--tool=callgrind', '--toggle-collect=trama_counted',
                               '--dump-after=trama_counted', f'--callgrind-out-file={out}', program],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'{program} ended with {done.returncode} in valgrind:\n{done.stderr[-2000:]}')
        counts = {}
        for number, line in enumerate(done.stdout.splitlines()[1:], 1):
            *name, packets = line.split(' ')
            total = re.search(r'^totals: (\d+)$', pathlib.Path(f'{out}.{number}').read_text(), re.M)
            counts[tuple(name)] = int(total.group(1)) / int(packets)
        return counts


def read_table():
    """(what the program was made by, its counts)"""
    made_by, _, *rows = TABLE.read_text().splitlines()
    rows = [row.split('\t') for row in rows]
    return made_by.removeprefix('# '), {tuple(name): float(count) for *name, count in rows}


def write_table(made_by, counts):
    rows = [f'# {made_by}', '\t'.join(COLUMNS), *('\t'.join([*name, f'{count:.1f}']) for name, count in counts.items())]
    TABLE.write_text('\n'.join(rows) + '\n')


def compare(counts, expected):
    """Prints a line a kernel; whether all are as expected."""
    right = True
    for name in sorted(counts.keys() | expected.keys()):
        if name not in counts or name not in expected:
            print(f'{" ".join(name)}: {"not counted" if name in expected else f"not in {TABLE.name}"}')
            right = False
            continue
        off = counts[name] / expected[name] - 1
        right = right and abs(off) <= ALLOWED
        print(f'{" ".join(name)}: {counts[name]:.1f}, expected {expected[name]:.1f} ({off:+.1%})')
    return right


def main():
    program, *option = sys.argv[1:]
    if not shutil.which('valgrind'):
        skip('there is no valgrind')
    made_by = subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout.strip()
    if option == ['--write']:
        write_table(made_by, measure(program))
        return
    expected_of, expected = read_table()
    if made_by != expected_of:
        skip(f'the table is for {expected_of}, the program was made by {made_by}')
    counts = measure(program)
    if not any(target == 'avx2' for target, *_ in counts):
        skip('this processor has no AVX2')
    if not compare(counts, expected):
        sys.exit(f'more than {ALLOWED:.0%} off. If that is meant, write the table anew (--write) and say why')


if __name__ == '__main__':
    main()
