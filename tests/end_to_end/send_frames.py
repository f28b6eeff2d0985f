#!/usr/bin/python3
"""Sends the frames of a pcap file (little-endian, Ethernet) from an interface, in order; prints how many.

    send_frames.py INTERFACE FILE [TIMES]

Frames that the interface refuses for want of room count as well: its counters then say that they were dropped.
"""
import errno
import signal
import socket
import struct
import sys


def frames_of(data):
    at = 24
    while at < len(data):
        captured, = struct.unpack_from('<I', data, at + 8)
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def main():
    interface, path = sys.argv[1:3]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with open(path, 'rb') as file:
        frames = list(frames_of(file.read()))
    sent = 0
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
        line.bind((interface, 0))
        for _ in range(times):
            for frame in frames:
                if stopped:
                    break
                try:
                    line.send(frame)
                except OSError as error:
                    if error.errno != errno.ENOBUFS:
                        raise
                sent += 1
    print(sent)


main()
