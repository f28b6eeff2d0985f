"""Nanoseconds since the epoch, and the datetimes of Python, which have microseconds."""
import datetime

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def utc(time_ns: int) -> datetime.datetime:
    """The microsecond that the time is in."""
    return _EPOCH + time_ns // 1000 * _MICROSECOND


def ns(time: datetime.datetime) -> int:
    """Exact: a datetime is a whole number of microseconds."""
    if time.utcoffset() is None:
        raise ValueError('a time without a zone could be anywhere: give it one, as tzinfo=datetime.timezone.utc')
    return (time - _EPOCH) // _MICROSECOND * 1000
