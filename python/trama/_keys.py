"""Keys of encrypted streams, as `trama key curve FILE` makes them: 40 characters of Z85. No message shows one."""
import os
import stat

from ._error import Error
from ._trama import Keys

_HINT = '`trama key curve FILE` makes one; a file is given as pathlib.Path(FILE), a str is the key itself'
_MOST_BYTES = 4096
_DIGITS = {digit: value for value, digit in enumerate(
    '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#')}


def _is_key(text: str) -> bool:
    """Z85 (RFC 32 of ZeroMQ) of 32 bytes: five digits of base 85 for every four."""
    if len(text) != 40 or not all(digit in _DIGITS for digit in text):
        return False
    for begin in range(0, 40, 5):
        value = 0
        for digit in text[begin:begin + 5]:
            value = 85 * value + _DIGITS[digit]
        if value >= 1 << 32:
            return False
    return True


def _refuse_the_other_kind(name: str, secret: bool) -> None:
    """The two look alike: `trama key curve` makes the secret one FILE, and the public one FILE.pub."""
    public = name.endswith('.pub')
    if secret and public:
        raise Error(f'{name}: this is a public key', f'give the secret one, {name[:-4]}')
    if secret or public:
        return
    if os.path.lexists(f'{name}.pub'):
        raise Error(f'{name}: this is the secret key', f'give the public one, {name}.pub')
    if os.path.isfile(name) and not os.stat(name).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Error(f'{name}: this may be a secret key: only its owner can read it',
                    f'give FILE.pub of `trama key curve FILE`; or, if it is public: chmod a+r {name}')


def _read(path: 'os.PathLike[str]', secret: bool) -> str:
    name = os.fspath(path)
    _refuse_the_other_kind(name, secret)
    try:
        with open(name, 'rb') as file:
            if secret and os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise Error(f'{name}: others can use this key', f'chmod 600 {name}')
            return file.read(_MOST_BYTES).decode('ascii', 'replace').strip()
    except OSError as error:
        raise Error(f'{name}: {error.strerror}') from None


def _load(name: str, key: 'str | os.PathLike[str]', secret: bool) -> str:
    if not isinstance(key, (str, os.PathLike)):  # the name of a file is shown: bytes could be the key
        raise TypeError(f'`{name}` is a str or a pathlib.Path, not {type(key).__name__}')
    text = key if isinstance(key, str) else _read(key, secret)
    if not _is_key(text):
        raise Error(f'{name if isinstance(key, str) else os.fspath(key)}: not a key of a stream', _HINT)
    return text


def load_keys(publisher: 'str | os.PathLike[str] | None', own: 'str | os.PathLike[str] | None') -> Keys:
    """The publisher's public key and this subscriber's secret one; both empty when nothing is encrypted."""
    if publisher is None and own is None:
        return Keys('', '')
    if publisher is None or own is None:
        raise Error('`publisher_key` and `secret_key` go together',
                    'the one is the public key of the publisher, the other the secret one of this subscriber')
    return Keys(_load('publisher_key', publisher, secret=False), _load('secret_key', own, secret=True))
