"""Where in a stream a subscriber begins."""
import dataclasses
import datetime

from ._time import ns
from ._trama import StartKind


@dataclasses.dataclass(frozen=True)
class Start:
    """Made by the functions below."""
    kind: StartKind
    at: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, StartKind) or not isinstance(self.at, int):
            raise TypeError('a stream begins at a whole number, of windows or nanoseconds')
        if not 0 <= self.at < 1 << 63:
            raise ValueError('a stream begins at no number or time below 0 or beyond 63 bits')
        if self.kind is StartKind.last and self.at == 0:
            raise ValueError('the last 0 windows are none: LIVE begins with the next one')


LIVE = Start(StartKind.live)
"""With the next window."""

ALL = Start(StartKind.time)
"""With the first window there is: of a folder; of what a publisher still has."""


def number(seq: int) -> Start:
    """With this window of the present run (of a folder: of its last run). What is gone of it is missed."""
    return Start(StartKind.number, seq)


def last(windows: int) -> Start:
    """With so many windows before the next one, or as many as there are."""
    return Start(StartKind.last, windows)


def since(time: 'datetime.datetime | int') -> Start:
    """With the first window that has packets at this time or later: a datetime with a zone, or nanoseconds since the epoch."""
    return Start(StartKind.time, ns(time) if isinstance(time, datetime.datetime) else time)
