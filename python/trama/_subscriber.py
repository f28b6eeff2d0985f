"""Subscribers: the same stream for threads and for asyncio."""
from __future__ import annotations

import asyncio
import os
import types
import typing

from ._keys import load_keys
from ._kinds import to_bool, to_nats_files, to_seconds, to_url, to_whole
from ._start import LIVE, Start
from ._trama import Outcome, Overflow, Stream, Window

_MOST_BYTES = 64 << 20
_MOST_LINKS = 1 << 26


class Counts(typing.NamedTuple):
    """What came of a stream so far."""
    windows: int
    """Windows that were given."""
    missed: int
    """Windows that were lost, as they told it."""
    damaged: int
    """Of the missed, those that came and could not be read; and archives that couldn't."""
    sessions: int
    """Connections that were made."""


class _Subscription:
    """What both kinds of subscribers have; options are those of trama.SubscribeOptions in C++."""

    _stream: Stream | None = None  # until it is there

    def __init__(self, url: str, *, start: Start = LIVE, overflow: typing.Literal['wait', 'drop'] = 'wait', ahead: int = 8,
                 reconnect: bool = True, past_end: bool = False, follow: bool = True, silence: float = 5.0,
                 max_bytes: int = _MOST_BYTES, max_links: int = _MOST_LINKS,
                 publisher_key: str | os.PathLike[str] | None = None,
                 secret_key: str | os.PathLike[str] | None = None,
                 login: os.PathLike[str] | None = None, credentials: os.PathLike[str] | None = None,
                 ca: os.PathLike[str] | None = None, certificate: os.PathLike[str] | None = None,
                 certificate_key: os.PathLike[str] | None = None) -> None:
        """Returns at once; a publisher that isn't there yet is waited for.

        start          LIVE, ALL, number(N), last(N), since(TIME)
        overflow       'wait': none is taken until there is room here; 'drop': the oldest that waits is dropped
        ahead          windows that may wait here, 1 .. 256
        reconnect      False: a connection that fails is an error
        past_end       wait for a publisher's next run when one has ended
        follow         of a folder: wait for more archives behind the last
        silence        seconds without a sign of life from the publisher until it is connected to anew
        max_bytes      longer messages end the connection
        max_links      windows with more are refused
        publisher_key  its public key, when it wants keys: as a str, or the path of its file
        secret_key     of this subscriber, likewise

        Of NATS, files by their pathlib.Path:
        login            USER:PASSWORD, or a token
        credentials      as its tools make them
        ca               authorities that the server's certificate must be of; PEM
        certificate      of this subscriber, with certificate_key; PEM
        """
        if not isinstance(overflow, str) or overflow not in ('wait', 'drop'):
            raise ValueError("`overflow` is neither 'wait' nor 'drop'")
        if not isinstance(start, Start):
            raise TypeError('`start` is LIVE, ALL, number(N), last(N) or since(TIME)')
        place = to_url(url)
        nats = to_nats_files(url, ca=ca, certificate=certificate, certificate_key=certificate_key, credentials=credentials,
                             login=login)
        self._stream = Stream(place, start=start.kind, start_at=start.at, overflow=getattr(Overflow, overflow),
                              ahead=to_whole('ahead', ahead), reconnect=to_bool('reconnect', reconnect),
                              past_end=to_bool('past_end', past_end), follow=to_bool('follow', follow),
                              silence=to_seconds('silence', silence), max_bytes=to_whole('max_bytes', max_bytes),
                              max_links=to_whole('max_links', max_links), keys=load_keys(publisher_key, secret_key), nats=nats)

    def __del__(self) -> None:
        if self._stream is not None:
            self._stream.close()

    @property
    def _open(self) -> Stream:
        assert self._stream is not None
        return self._stream

    def fileno(self) -> int:
        """Readable when next() would not wait. Belongs to the subscriber: for selectors, not for reading."""
        return self._open.fileno()

    @property
    def closed(self) -> bool:
        return self._open.closed

    @property
    def connected(self) -> bool:
        """A publisher is there now; always true of a folder."""
        return self._open.connected

    @property
    def counts(self) -> Counts:
        return Counts(*self._open.counts)

    @property
    def tail(self) -> dict[str, int]:
        """Verdicts of what arrived after the last window of the runs that have ended."""
        return self._open.tail

    @property
    def missed_at_end(self) -> int:
        """Windows that were lost behind the last one that came, known when the stream has ended."""
        return self._open.missed_at_end

    def _take(self, timeout: float | None) -> Window | None:
        next = self._open.next(timeout)
        if isinstance(next, Window):
            return next
        if next == Outcome.ended:
            return None
        raise TimeoutError(f'no window came in {timeout} s')


class Subscriber(_Subscription):
    """Follows a stream: `for window in trama.subscribe(url)`. Threads may share one; each window goes to one of them.

    Iteration ends with the publisher's run, or with the folder when it isn't followed.
    """

    def next(self, timeout: float | None = None) -> Window | None:
        """The next window; None when the stream has ended. Waits for so many seconds at most: TimeoutError."""
        return self._take(timeout)

    def close(self) -> None:
        """Ends the subscription. A thread that waits for a window gets a ValueError."""
        self._open.close()

    def __iter__(self) -> Subscriber:
        return self

    def __next__(self) -> Window:
        window = self._take(None)
        if window is None:
            raise StopIteration
        return window

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self.close()


class AsyncSubscriber(_Subscription):
    """Follows a stream in an event loop: `async for window in trama.subscribe_async(url)`. One task waits at a time."""

    _closing = False
    _ready: asyncio.Future[None] | None = None  # while a task waits

    async def next(self, timeout: float | None = None) -> Window | None:
        """The next window; None when the stream has ended. Waits for so many seconds at most: TimeoutError."""
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        await asyncio.sleep(0)  # other tasks have their turn, too, however many windows wait here
        while True:
            if self._closing:
                raise ValueError('the subscriber is closed')
            try:
                return self._take(0)
            except TimeoutError:
                left = None if until is None else until - loop.time()
                if left is not None and left <= 0:
                    raise TimeoutError(f'no window came in {timeout} s') from None
            await self._wait(loop, left)

    async def _wait(self, loop: asyncio.AbstractEventLoop, timeout: float | None) -> None:
        if self._ready is not None:
            raise RuntimeError('another task waits for this subscriber already')
        descriptor, self._ready = self.fileno(), loop.create_future()
        loop.add_reader(descriptor, self._wake)
        try:
            await asyncio.wait([self._ready], timeout=timeout)
        finally:
            loop.remove_reader(descriptor)
            self._ready = None

    def _wake(self) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    async def aclose(self) -> None:
        """Ends the subscription. A task that waits for a window gets a ValueError."""
        self._closing = True
        self._wake()
        while self._ready is not None:  # the loop lets go of the descriptor before it is closed
            await asyncio.sleep(0)
        await asyncio.to_thread(self._open.close)

    def __aiter__(self) -> AsyncSubscriber:
        return self

    async def __anext__(self) -> Window:
        window = await self.next()
        if window is None:
            raise StopAsyncIteration
        return window

    async def __aenter__(self) -> AsyncSubscriber:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: types.TracebackType | None) -> None:
        await self.aclose()
