"""The extension module: python/*.cpp."""
import datetime
import enum
import typing

import numpy as np
import numpy.typing as npt

from ._pairs import Pairs

__version__: str

class StartKind(enum.Enum):
    live = 0
    number = 1
    last = 2
    time = 3

class Overflow(enum.Enum):
    wait = 0
    drop = 1

class Outcome(enum.Enum):
    timeout = 1
    ended = 2

class Window:
    """A window and its matrix. Can be kept; its arrays keep it."""

    @property
    def run(self) -> int:
        """Tells the runs of a publisher apart; 0 of archives."""
    @property
    def seq(self) -> int:
        """Number in its run."""
    @property
    def missed(self) -> int:
        """Windows that were lost right before this one."""
    @property
    def restarted(self) -> bool:
        """The first of another run than the window before it: numbers began anew."""
    @property
    def window_packets(self) -> int:
        """Packets that a full window has."""
    @property
    def packets(self) -> int: ...
    @property
    def links(self) -> int: ...
    @property
    def first_ns(self) -> int:
        """Of the first counted packet: nanoseconds since the epoch, UTC."""
    @property
    def last_ns(self) -> int: ...
    @property
    def first_time(self) -> datetime.datetime:
        """The same in UTC, down to the microsecond."""
    @property
    def last_time(self) -> datetime.datetime: ...
    @property
    def closed_by(self) -> typing.Literal['full', 'end', 'time', 'key', 'exclusions', 'flush']: ...
    @property
    def encoding(self) -> typing.Literal['blob', 'compact']: ...
    @property
    def index_order(self) -> typing.Literal['numeric', 'raw']: ...
    @property
    def verdicts(self) -> dict[str, int]:
        """Of everything that arrived while the window was being filled."""
    @property
    def dropped(self) -> dict[str, int]:
        """What was lost before anybody saw it."""
    @property
    def removed_in_kernel(self) -> int: ...
    @property
    def sensor(self) -> str: ...
    @property
    def stream(self) -> str: ...
    @property
    def graph(self) -> str: ...
    @property
    def anonymization(self) -> str: ...
    @property
    def key(self) -> str:
        """Fingerprint of the key that addresses are anonymized under."""
    @property
    def exclusions(self) -> str: ...
    @property
    def rows(self) -> npt.NDArray[np.uint32]:
        """Sources, ascending."""
    @property
    def starts(self) -> npt.NDArray[np.uint32]:
        """Where the entries of each row begin, and where the last ends."""
    @property
    def columns(self) -> npt.NDArray[np.uint32]:
        """Destinations, ascending in a row."""
    @property
    def counts(self) -> npt.NDArray[np.uint32]:
        """Packets of each entry."""
    @property
    def serialized(self) -> npt.NDArray[np.uint8]:
        """The matrix as it came, in `encoding`."""
    def pairs(self) -> Pairs:
        """The matrix as triples."""
    def graphblas(self) -> typing.Any:
        """A cffi `GrB_Matrix*` of the package suitesparse_graphblas, freed when Python lets it go."""

class Url:
    def __init__(self, text: str | bytes, /) -> None: ...

class NatsFiles:
    def __init__(self, ca: bytes, certificate: bytes, key: bytes, credentials: bytes, login: bytes, /) -> None: ...

class Keys:
    def __init__(self, publisher: str, secret: str, /) -> None: ...

class Stream:
    def __init__(self, url: Url, *, start: StartKind, start_at: int, overflow: Overflow, ahead: int, reconnect: bool,
                 past_end: bool, follow: bool, silence: float, max_bytes: int, max_links: int, keys: Keys,
                 nats: NatsFiles) -> None: ...
    def next(self, timeout: float | None) -> Window | Outcome: ...
    def close(self) -> None: ...
    def fileno(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def connected(self) -> bool: ...
    @property
    def missed_at_end(self) -> int: ...
    @property
    def tail(self) -> dict[str, int]: ...
    @property
    def counts(self) -> tuple[int, int, int, int]: ...
