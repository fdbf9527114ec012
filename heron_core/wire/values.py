"""Tuple values <-> bytes: plain values as plain msgpack, every other Python type kept as it is.

Plain values (None, bool, int, float, str, bytes, list, dict of those) pay nothing for the others:
only what msgpack does not know exactly reaches `_extension`. A tuple, set or frozenset becomes an
extension of its items, anything else its pickle. bytearray and memoryview arrive as bytes.
"""

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgpack

from heron_core.errors import ValueNotSerialisable

TUPLE, SET, FROZENSET, PICKLED = 1, 2, 3, 4
EXTENSIONS_DEEP_MAX = 32
"""Tuples and sets within each other. Each level of unpacking takes 45 KB of the thread's stack of
8 MB, so some 170 would end the process; what is deeper travels as a pickle."""

_CONTAINERS: dict[type, int] = {tuple: TUPLE, set: SET, frozenset: FROZENSET}
_BUILDERS: dict[int, Callable[[Any], Any]] = {TUPLE: tuple, SET: set, FROZENSET: frozenset}

Pack = Callable[[Any], bytes]


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle  # only for functions and classes that pickle cannot name

        data: bytes = cloudpickle.dumps(value)
        return data


def _extension(depth: int, value: object) -> msgpack.ExtType:
    code = _CONTAINERS.get(type(value))
    if code is None:
        return msgpack.ExtType(PICKLED, _pickled(value))
    if depth == EXTENSIONS_DEEP_MAX:
        raise ValueError(f"more than {EXTENSIONS_DEEP_MAX} tuples or sets within each other")
    # A packer of its own: the outer one is in the middle of its buffer.
    data = _packer(depth + 1)(list(value))  # type: ignore[call-overload]
    return msgpack.ExtType(code, data)


def _from_extension(depth: int, code: int, data: bytes) -> Any:
    if code == PICKLED:
        return pickle.loads(data)
    builder = _BUILDERS.get(code)
    if builder is None:
        return msgpack.ExtType(code, data)
    if depth == EXTENSIONS_DEEP_MAX:
        raise ValueError(f"more than {EXTENSIONS_DEEP_MAX} tuples or sets within each other")
    return builder(_UNPACK[depth + 1](data))


def _packer(depth: int) -> Pack:
    default = _PACK_EXTENSION[depth]
    pack: Pack = msgpack.Packer(autoreset=True, strict_types=True, default=default).pack
    return pack


_PACK_EXTENSION = [partial(_extension, depth) for depth in range(EXTENSIONS_DEEP_MAX + 1)]


def packer() -> Pack:
    """A function value -> bytes that reuses one buffer; raises what `pack_fields` can explain."""
    return _packer(0)


_UNPACK: list[Callable[[bytes], Any]] = [
    partial(msgpack.unpackb, ext_hook=partial(_from_extension, depth), strict_map_key=False)
    for depth in range(EXTENSIONS_DEEP_MAX + 1)
]

unpack = _UNPACK[0]
"""bytes -> value, the inverse of what `packer` makes; of other bytes any exception."""


def pack_fields(
    pack: Pack, values: Sequence[Any], component: str, stream: str, fields: Sequence[str]
) -> bytes:
    """The general way for values that `pack` refused whole: field by field, pickled where needed.

    It carries what msgpack cannot (ints beyond 64 bit, lone surrogates, very deep nesting).
    Raises ValueNotSerialisable naming component, stream and field.
    """
    safe: list[Any] = []
    for name, value in zip(fields, values, strict=True):
        try:
            pack(value)
            safe.append(value)
        except Exception:
            safe.append(_pickled_field(value, f"{component}.{stream}", name))
    return pack(safe)


def _pickled_field(value: object, where: str, name: str) -> msgpack.ExtType:
    try:
        return msgpack.ExtType(PICKLED, _pickled(value))
    except Exception as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise ValueNotSerialisable(
            f"{where}: the value of field {name!r} (a {kind}) cannot be serialised: {error}"
        ) from error


def array_of(parts: Sequence[bytes]) -> bytes:
    """Already packed values -> the msgpack array of them (array 32)."""
    return b"\xdd" + len(parts).to_bytes(4, "big") + b"".join(parts)
