"""A window as triples."""
from __future__ import annotations

import typing

import numpy as np

if typing.TYPE_CHECKING:
    import numpy.typing as npt

    from ._trama import Window


class Pairs(typing.NamedTuple):
    """Entry i says that sources[i] sent counts[i] packets to destinations[i]. Sorted by source, then destination."""
    sources: npt.NDArray[np.uint32]
    destinations: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]


def pairs_of(window: Window) -> Pairs:
    """Only the sources are new; destinations and counts are the window's own arrays."""
    return Pairs(np.repeat(window.rows, np.diff(window.starts)), window.columns, window.counts)
