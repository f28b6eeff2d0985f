#!/usr/bin/python3
"""Reads compact matrices as docs/formats.md describes them, sharing nothing with the reader under test.

    compact_judge.py FOLDER N     every FOLDER/*.compact must say what the .csv beside it does; there must be N of them
"""
import pathlib
import struct
import sys

HEADER = struct.Struct('<4sHHQQ6I')
RAW_ORDER, ALL_ONES = 1, 2


def refuse_unless(right, what):
    if not right:
        raise ValueError(what)


class Parts:
    """Takes parts off the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        part = self.data[self.at:self.at + size]
        refuse_unless(len(part) == size, 'cut')
        self.at += size
        return part


def values(number, codes, data, sizes):
    """Variable bytes: `number` values."""
    result, at = [], 0
    for i in range(number):
        size = sizes[codes[i // 4] >> 2 * (i % 4) & 3]
        refuse_unless(at + size <= len(data), 'data end before codes')
        result.append(int.from_bytes(data[at:at + size], 'little'))
        at += size
    refuse_unless(at == len(data), 'data behind the last code')
    for i in range(number, 4 * len(codes)):
        refuse_unless(codes[i // 4] >> 2 * (i % 4) & 3 == 0, 'a code without a value')
    return result


def read(data):
    """[(row, column, count)] in order, and the flags."""
    parts = Parts(data)
    magic, version, flags, size, packets, rows, links, base, row_bytes, column_bytes, count_bytes = HEADER.unpack(
        parts.take(HEADER.size))
    refuse_unless(magic == b'\xd4TCM' and version == 1 and flags < 4 and size == len(data), 'header')
    refuse_unless(rows <= links < 1 << 30 and (rows > 0) == (links > 0), 'rows and links')
    starts = parts.take((links + 7) // 8)
    row_codes = parts.take((rows + 3) // 4)
    column_codes = parts.take((links + 3) // 4)
    count_codes = parts.take(0 if flags & ALL_ONES else (links + 3) // 4)
    row_gaps = iter(values(rows, row_codes, parts.take(row_bytes), (1, 2, 3, 4)))
    columns = values(links, column_codes, parts.take(column_bytes), (1, 2, 3, 4))
    counts = parts.take(count_bytes)
    counts = [0] * links if flags & ALL_ONES else values(links, count_codes, counts, (0, 1, 2, 4))
    refuse_unless(parts.at == len(data), 'bytes behind the last part')

    cells, row = [], -1
    for i in range(links):
        if starts[i // 8] >> i % 8 & 1:
            row += next(row_gaps) + 1
            column = base + columns[i]
        else:
            refuse_unless(row >= 0, 'the first link begins no row')
            column += columns[i] + 1
        refuse_unless(row < 1 << 32 and column < 1 << 32 and counts[i] + 1 < 1 << 32, 'beyond 32 bits')
        cells.append((row, column, counts[i] + 1))
    refuse_unless(next(row_gaps, None) is None, 'more rows than starts')
    refuse_unless(int.from_bytes(starts, 'little') >> links == 0, 'a start without a link')
    refuse_unless(sum(count for _, _, count in cells) == packets, 'packets')
    refuse_unless(base == min((column for _, column, _ in cells), default=0), 'not the least column')
    return cells, flags


def main(folder, number):
    encodings = sorted(pathlib.Path(folder).glob('*.compact'))
    if len(encodings) != int(number):
        sys.exit(f'{len(encodings)} encodings, {number} expected')
    for path in encodings:
        right = [tuple(map(int, line.split(','))) for line in path.with_suffix('.csv').read_text().split()]
        cells, flags = read(path.read_bytes())
        if cells != right or flags & RAW_ORDER != int(path.stem) % 2:
            sys.exit(f'{path.name} says something else than its list')


if __name__ == '__main__':
    main(*sys.argv[1:])
