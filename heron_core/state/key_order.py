"""The order of keys of any types, as bytes: what is merged of several tasks is merged by it.

Numbers come by their size, then texts, then tuples by their parts, then all others by their
canonical form. Equal keys have equal bytes, and different keys different ones.
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
    """Where a key stands among all others."""
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
    """Of the bits of a double: the sign turned, and of a negative one all bits."""
    bits = int.from_bytes(_DOUBLE.pack(number + 0.0), "big")
    return _NUMBER.pack(bits ^ (_ALL if bits & _SIGN else _SIGN))


def _ended(part: bytes) -> bytes:
    """With an end that sorts before whatever may follow."""
    return part.replace(b"\0", b"\0\xff") + b"\0\0"
