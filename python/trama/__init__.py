"""Streams of traffic matrices: a publisher's, or the archives in a folder.

    import trama
    for window in trama.subscribe('trama+tcp://127.0.0.1:7801/roof'):
        print(window.first_time, window.packets, window.links, window.missed)

A window is a hypersparse matrix: row = source, column = destination, value = packets. Its arrays are NumPy's, read-only and
not copied: row rows[i] holds the entries starts[i]:starts[i + 1] of columns and counts. window.pairs() has it as triples,
window.graphblas() as a matrix of GraphBLAS.
"""
from ._error import Error
from ._pairs import Pairs
from ._read import read
from ._start import ALL, LIVE, Start, last, number, since
from ._subscriber import AsyncSubscriber, Counts, Subscriber
from ._trama import Window, __version__

subscribe = Subscriber
subscribe_async = AsyncSubscriber

__all__ = ['ALL', 'LIVE', 'AsyncSubscriber', 'Counts', 'Error', 'Pairs', 'Start', 'Subscriber', 'Window', '__version__', 'last',
           'number', 'read', 'since', 'subscribe', 'subscribe_async']
