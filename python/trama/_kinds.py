"""Of what kind options are. The extension would say it, too, and show all that it was given: no message may do that."""
import numbers
import operator
import os

from ._trama import NatsFiles, Url


def _wrong(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f'`{name}` is {wanted}, not {type(value).__name__}')


def to_url(url: str) -> Url:
    if not isinstance(url, str):
        raise _wrong('url', 'a str', url)
    if any('\ud800' <= letter <= '\udfff' for letter in url):  # to be said here: the codec's error holds the URL
        raise ValueError('`url` is no text: it has surrogates')
    return Url(url)


def to_bool(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, 'True or False', value)
    return value


def to_seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _wrong(name, 'a number of seconds', value)
    return float(value)


def to_whole(name: str, value: int) -> int:
    if not hasattr(value, '__index__'):
        raise _wrong(name, 'a whole number', value)
    whole = operator.index(value)
    if not 0 <= whole < 1 << 63:
        raise ValueError(f'`{name}` is below 0, or beyond 63 bits')
    return whole


def _to_name(name: str, file: 'os.PathLike[str] | None') -> bytes:
    if file is None:
        return b''
    if not isinstance(file, os.PathLike):  # a str may be the secret itself, and names of files are shown
        raise _wrong(name, 'the pathlib.Path of a file', file)
    path = os.fsencode(file)
    if b'\0' in path:
        raise ValueError(f'`{name}` is the name of no file')
    return path


def to_nats_files(url: str, **files: 'os.PathLike[str] | None') -> NatsFiles:
    """Of `ca`, `certificate`, `certificate_key`, `credentials` and `login`."""
    names = {name: _to_name(name, file) for name, file in files.items()}
    given = [f'`{name}`' for name, file in names.items() if file]
    if given and not url.startswith(('nats://', 'nats+tls://')):
        raise ValueError(f'{given[0]} is for streams of NATS: nats://, nats+tls://')
    return NatsFiles(*names.values())
