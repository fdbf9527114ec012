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


def _extension(value: object) -> msgpack.ExtType:
    code = _CONTAINERS.get(type(value))
    if code is None:
        return msgpack.ExtType(PICKLED, _pickled(value))
    # A packer of its own: the outer one is in the middle of its buffer.
    return msgpack.ExtType(code, packer()(list(value)))  # type: ignore[call-overload]


def _from_extension(code: int, data: bytes) -> Any:
    if code == PICKLED:
        return pickle.loads(data)
    builder = _BUILDERS.get(code)
    return msgpack.ExtType(code, data) if builder is None else builder(unpack(data))


def packer() -> Pack:
    """A function value -> bytes that reuses one buffer; raises what `pack_fields` can explain."""
    pack: Pack = msgpack.Packer(autoreset=True, strict_types=True, default=_extension).pack
    return pack


unpack: Callable[[bytes], Any] = partial(
    msgpack.unpackb, ext_hook=_from_extension, strict_map_key=False
)
"""bytes -> value, the inverse of what `packer` makes."""


def pack_fields(
    pack: Pack, values: Sequence[Any], component: str, stream: str, fields: Sequence[str]
) -> bytes:
    """The careful way for values that `pack` refused whole: field by field, pickled where needed.

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
