#!/usr/bin/env python3
"""Checks who includes whom, as the folders promise.

engine includes nothing of the others; libclient and ebpf stand alone; modules/support includes engine's and
libclient/formats (and its NATS publisher the connection to a server that libclient has, too); modules includes those and ebpf, and a stage never another stage; control includes engine, ebpf,
libclient and modules/support, never a stage; python includes libclient. Some libraries have one door: the only file, or
folder, that includes them.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ('engine', 'modules', 'ebpf', 'control', 'libclient', 'python')
# First match wins: (who includes, what may be included), as regular expressions on paths from the root.
RULES = [
    (r'engine/', r'engine/'),
    (r'libclient/', r'libclient/'),
    (r'ebpf/', r'ebpf/'),
    (r'python/', r'(python/|libclient/)'),
    (r'modules/support/nats_', r'(modules/support/|engine/|libclient/(formats/|transports/nats_(link|subjects)\.hpp$))'),
    (r'modules/support/', r'(modules/support/|engine/|libclient/formats/)'),
    (r'modules/', r'(modules/messages\.hpp$|modules/support/|engine/|ebpf/|libclient/formats/)'),
    (r'control/', r'(control/|engine/|ebpf/|libclient/|modules/support/)'),
]
DOORS = {
    'concurrentqueue/': r'engine/ring\.hpp$',
    'toml.hpp': r'engine/',
    'GraphBLAS.h': r'(libclient/formats/graphblas_matrix|libclient/c_api_graphblas|modules/support/graphblas_writer|control/doctor|control/bench/graphblas)\.cpp$|libclient/trama_graphblas\.h$',
    'pcap/': r'(modules/pcap_filter|control/doctor)\.cpp$',
    'pcap.h': r'nobody$',
    'CLI/': r'control/',
    'pybind11/': r'python/',
    'nats/': r'libclient/transports/nats_link(_core\.hpp|(_core|_open)?\.cpp)$',
    'archive.h': r'(libclient/formats/|control/doctor\.cpp$)',
}


def main():
    wrong = []
    sources = [path for folder in FOLDERS for pattern in ('*.cpp', '*.hpp', '*.h', '*.c')
               for path in sorted((ROOT / folder).rglob(pattern))]
    for path in sources:
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not include:
                continue
            target = include.group(2)
            if target.split('/')[0] in FOLDERS and include.group(1) == '"':
                allowed = next(rule for who, rule in RULES if re.match(who, name))
                if not re.match(allowed, target):
                    wrong.append(f'{name}:{number}: may not include {target}')
            for door, only in DOORS.items():
                if target.startswith(door) and not re.match(only, name):
                    wrong.append(f'{name}:{number}: only {only} may include {target}')
    print('\n'.join(wrong) or f'{len(sources)} files keep the rules')
    sys.exit(bool(wrong) or not sources)


if __name__ == '__main__':
    main()
