#!/usr/bin/env python3
"""Follows a stream and prints a line a window: follow.py trama+tcp://127.0.0.1:7801/roof

Indices are anonymized addresses; with index_order "numeric", 10.1.2.3 is 0x0a010203.
"""
import os
import sys

import numpy as np
import trama


def main() -> None:
    with trama.subscribe(sys.argv[1], start=trama.ALL) as subscriber:
        for window in subscriber:
            fan_out = np.diff(window.starts)  # links of each source
            fan_in = np.unique(window.columns, return_counts=True)[1]  # of each destination
            print(f'{window.seq:8} {window.first_time:%Y-%m-%dT%H:%M:%S} {window.packets:9} packets {window.links:9} links'
                  f'  {len(fan_out)} sources to {fan_in.size} destinations, at most {fan_out.max()} and {fan_in.max()} links'
                  + (f'  {window.missed} missed' if window.missed else ''), flush=True)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('follow.py URL')
    try:
        main()
    except (trama.Error, KeyboardInterrupt) as error:
        sys.exit(str(error) or 130)
    except BrokenPipeError:  # whoever read it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
