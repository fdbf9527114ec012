"""The order of keys of any types, as bytes: entries of several tasks are merged by this order.

Numbers come by size, then texts, then tuples by their parts, then all other keys by their canonical
form. Equal keys have equal bytes, and different keys different ones.
"""

import math
import struct
from typing import Any

from heron_core.algorithms.hashing import NotHashable, canonical

_NUMBER = struct.Struct(">Q")
_DOUBLE = struct.Struct(">d")
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def order_of(key: Any) -> bytes:
    """Bytes that sort as the key does."""
    if type(key) is str:
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, tuple):
        return b"t" + b"".join(_ended(order_of(part)) for part in key)
    form = _canonical(key)
    if form[:1] == b"n" and (number := _as_double(key)) is not None:
        return b"n" + _sortable(number) + form
    return b"x" + form


def _canonical(key: Any) -> bytes:
    try:
        return canonical(key)
    except NotHashable:  # a key of put(), which no grouping has hashed
        return repr(key).encode("utf-8", "surrogatepass")


def _as_double(key: Any) -> float | None:
    try:
        number = float(key)
    except OverflowError:
        return math.inf if key > 0 else -math.inf
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _sortable(number: float) -> bytes:
    """Sortable bytes of a double: the sign bit is turned, and for a negative number all bits
    are."""
    bits = int.from_bytes(_DOUBLE.pack(number + 0.0), "big")
    return _NUMBER.pack(bits ^ (_ALL if bits & _SIGN else _SIGN))


def _ended(part: bytes) -> bytes:
    """The part with an end that sorts before all following bytes."""
    return part.replace(b"\0", b"\0\xff") + b"\0\0"
