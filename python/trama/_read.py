"""Archives that are finished."""
from __future__ import annotations

import os
import pathlib
import typing

from ._error import Error
from ._start import ALL, Start
from ._subscriber import Subscriber
from ._trama import Window


def read(path: str | os.PathLike[str], *, start: Start = ALL) -> typing.Iterator[Window]:
    """The windows of an archive, or of the archives in a folder in the order of time.

    What can be read comes first; then trama.Error is raised if anything could not be.
    """
    whole = pathlib.Path(path).absolute()
    return _windows(str(whole), Subscriber(whole.as_uri(), start=start, follow=False))


def _windows(name: str, subscriber: Subscriber) -> typing.Iterator[Window]:
    with subscriber:
        yield from subscriber
        damaged = subscriber.counts.damaged
    if damaged:
        raise Error(f'{name}: {damaged} of its archives or windows could not be read, or have no manifest',
                    f'`trama verify {name}` says which, and why')
