#!/usr/bin/env python3
"""Judges what a shared library exports: exported_symbols.py LIBRARY MAP HEADER...

Exactly the symbols that MAP lists by name, in the versions that it lists them under, and every function that the headers
declare. A symbol that is gone or has another signature breaks programs that are out there.
"""
import re
import subprocess
import sys


def exported(library):
    lines = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return {tuple(name.replace('@@', '@').split('@')) for _, kind, name in symbols if kind != 'A'}


def listed(path):
    text = re.sub(r'#.*', '', open(path).read())
    symbols = set()
    for version, body in re.findall(r'(\w[\w.]*)\s*\{(.*?)\}', text, re.S):
        for name in re.findall(r'([\w*]+);', body.split('local:')[0]):
            if '*' in name:
                sys.exit(f'{path}: {name} is no symbol: list each by its name')
            symbols.add((name, version))
    return symbols


def declared(path):
    code = re.sub(r'/\*.*?\*/', '', open(path).read(), flags=re.S)
    return set(re.findall(r'\b(trama_\w+)\(', code))


def main():
    library, map_file, *headers = sys.argv[1:]
    has, wanted = exported(library), listed(map_file)
    wrong = [f'not exported, but in {map_file}: {symbol}' for symbol in sorted(wanted - has)]
    wrong += [f'exported, but not in {map_file}: {symbol}' for symbol in sorted(has - wanted)]
    names = {name for name, _ in has}
    wrong += [f'declared in {header}, but not exported: {name}' for header in headers for name in sorted(declared(header) - names)]
    print('\n'.join(wrong) or f'{len(has)} symbols, all of them listed')
    sys.exit(bool(wrong) or not has or not all(declared(header) for header in headers))


if __name__ == '__main__':
    main()
