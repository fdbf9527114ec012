"""A hash of values, equal in every process, on every machine, in every Python version.

Equal values have equal hashes for any types (1 == 1.0 == True == Decimal(1)), because a fields
grouping sends equal values to one task. So neither `hash()` (salted for str) nor the bytes of a
pickle (which differ for equal values) suffice: values are first written in one canonical form.
The hash covers 0..2**32-1 and a task is a range of hashes, so a later split of a task moves one
range only (SEEP's key ranges).
"""

import dataclasses
import datetime
import enum
import math
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zlib import crc32

HASH_BITS = 32
_HASH_MASK = (1 << HASH_BITS) - 1
# Knuth's multiplicative constant: crc32 alone is linear, so keys that differ in few bits would
# crowd in few ranges.
_SPREAD = 2654435761
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class NotHashable(TypeError):
    """The value has no canonical form; the caller knows component, stream and field."""


def stable_hash(values: Sequence[Any]) -> int:
    """A number in 0..2**32-1 for the grouped values; raises NotHashable naming the type, or that
    the values go too deep."""
    if len(values) == 1 and type(values[0]) is str:
        data = b"s" + values[0].encode("utf-8", "surrogatepass")
    elif len(values) == 1 and type(values[0]) is int:
        data = b"n%d" % values[0]
    else:
        data = _canonical_of_all(values)
    return spread(crc32(data))


def spread(crc: int) -> int:
    """The hash of a key by the checksum of its canonical form."""
    return (crc * _SPREAD) & _HASH_MASK


def slot(hashed: int, slots: int) -> int:
    """Which of `slots` equal ranges of the hash space `hashed` falls into: 0..slots-1."""
    return (hashed * slots) >> HASH_BITS


def _canonical_of_all(values: Sequence[Any]) -> bytes:
    try:
        if len(values) == 1:
            return canonical(values[0])
        return b"".join(_framed(each) for each in values)
    except RecursionError:
        raise NotHashable(
            "deeply nested lists, tuples or dicts cannot be grouped by: group by a part of the "
            "value"
        ) from None


def canonical(value: Any) -> bytes:
    """Bytes that are equal exactly for equal values."""
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value)
    return _canonical_by_kind(value)


def _canonical_by_kind(value: Any) -> bytes:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [
            getattr(value, field.name) for field in dataclasses.fields(value) if field.compare
        ]
        return b"c" + _name(type(value)) + _sequence(fields)
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    if isinstance(value, enum.Enum):
        return b"e" + _name(type(value)) + _framed(value.name)
    if hasattr(value, "as_integer_ratio"):
        return _number(value)
    if hasattr(value, "__index__"):
        return _number(value.__index__())
    kind_name = f"{type(value).__module__}.{type(value).__qualname__}"
    raise NotHashable(
        f"a {kind_name} cannot be grouped by: use str, bytes, a number, a date, an enum, "
        "a tuple, list, set or dict of them, or a dataclass"
    )


def _framed(value: Any) -> bytes:
    data = canonical(value)
    return len(data).to_bytes(4, "big") + data


def _name(kind: type) -> bytes:
    return f"{kind.__module__}.{kind.__qualname__}:".encode()


def _number(value: Any) -> bytes:
    if isinstance(value, int):
        return b"n%d" % value
    try:
        numerator, denominator = value.as_integer_ratio()
    except (ValueError, OverflowError):  # not a number, or infinite
        return b"n?" if math.isnan(value) else (b"n+inf" if value > 0 else b"n-inf")
    return b"n%d" % numerator if denominator == 1 else b"n%d/%d" % (numerator, denominator)


def _complex(value: complex) -> bytes:
    if value.imag == 0:
        return _number(value.real)
    return b"j" + _framed(value.real) + _framed(value.imag)


def _sequence(values: Any) -> bytes:
    return b"l" + b"".join(_framed(each) for each in values)


def _set(values: Any) -> bytes:
    return b"z" + b"".join(sorted(_framed(each) for each in values))


def _dict(values: dict[Any, Any]) -> bytes:
    return b"d" + b"".join(sorted(_framed(key) + _framed(each) for key, each in values.items()))


def _datetime(value: datetime.datetime) -> bytes:
    offset = value.utcoffset()
    if offset is None:
        return b"t%d" % ((value - _EPOCH) // _MICROSECOND)
    utc = value.replace(tzinfo=None) - offset
    return b"T%d" % ((utc - _EPOCH) // _MICROSECOND)


def _time(value: datetime.time) -> bytes:
    offset = value.utcoffset()
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if offset is None:
        return b"h%d" % micros
    return b"H%d" % (micros - offset // _MICROSECOND)


_WRITERS: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: b"s" + value.encode("utf-8", "surrogatepass"),
    bool: lambda value: b"n%d" % value,
    int: _number,
    float: _number,
    bytes: lambda value: b"b" + value,
    bytearray: lambda value: b"b" + bytes(value),
    type(None): lambda value: b"0",
    complex: _complex,
    Decimal: _number,
    Fraction: _number,
    tuple: _sequence,
    list: _sequence,
    set: _set,
    frozenset: _set,
    dict: _dict,
    datetime.datetime: _datetime,
    datetime.date: lambda value: b"D%d" % value.toordinal(),
    datetime.time: _time,
    datetime.timedelta: lambda value: b"P%d" % (value // _MICROSECOND),
    uuid.UUID: lambda value: b"u" + value.bytes,
}
"""Exact types first; `_canonical_by_kind` checks subclasses in order."""
