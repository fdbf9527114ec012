"""Tuple values <-> bytes: plain values as plain msgpack, every other Python type kept as it is.

Plain values (None, bool, int, float, str, bytes, list, dict of those) pay nothing for the others:
only values that msgpack does not know exactly reach `_Extensions`. A tuple, set or frozenset is
packed as an extension of its items, any other value as its pickle. bytearray and memoryview arrive
as bytes.

A pickle runs code of its sender's choice when it is opened. Senders are known before this module
sees a byte of theirs (heron_io.security), and `topology.values.pickle: false` does without: then
nothing is pickled, and no pickle is opened.
"""

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgpack

from heron_core.config import VALUES_PICKLE
from heron_core.errors import ValueNotSerialisable

TUPLE, SET, FROZENSET, PICKLED = 1, 2, 3, 4
EXTENSIONS_DEEP_MAX = 32
"""Most levels of tuples and sets within each other. Each level of unpacking takes 45 KB of the
thread's stack of 8 MB, so some 170 would end the process; a deeper value travels as a pickle."""

_CONTAINERS: dict[type, int] = {tuple: TUPLE, set: SET, frozenset: FROZENSET}
_BUILDERS: dict[int, Callable[[Any], Any]] = {TUPLE: tuple, SET: set, FROZENSET: frozenset}

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes], Any]

NO_PICKLES = f"the value needs pickle, which {VALUES_PICKLE} forbids: send plain values instead"


class PickleRefused(ValueError):
    """A value or a body that only pickle can carry, in a topology that does without pickles."""


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle  # only for functions and classes that pickle cannot name

        data: bytes = cloudpickle.dumps(value)
        return data


class _Extensions:
    """Makes extensions of the values that one packer does not know."""

    __slots__ = ("_depth", "_pack", "_pickles")

    def __init__(self, depth: int, pickles: bool) -> None:
        self._depth = depth
        self._pickles = pickles
        self._pack: Pack | None = None
        """Packs the items of tuples and sets: the packer itself is in the middle of its buffer.
        Made once, as that costs more than packing a tuple of some numbers."""

    def __call__(self, value: object) -> msgpack.ExtType:
        code = _CONTAINERS.get(type(value))
        if code is None:
            if not self._pickles:
                raise PickleRefused(NO_PICKLES)
            return msgpack.ExtType(PICKLED, _pickled(value))
        if self._pack is None:
            if self._depth == EXTENSIONS_DEEP_MAX:
                raise ValueError(
                    f"more than {EXTENSIONS_DEEP_MAX} tuples or sets within each other"
                )
            self._pack = _packer(self._depth + 1, self._pickles)
        return msgpack.ExtType(code, self._pack(list(value)))  # type: ignore[call-overload]


def _from_extension(depth: int, pickles: bool, code: int, data: bytes) -> Any:
    if code == PICKLED:
        if not pickles:
            raise PickleRefused(f"a pickle, which {VALUES_PICKLE} forbids")
        return pickle.loads(data)
    builder = _BUILDERS.get(code)
    if builder is None:
        return msgpack.ExtType(code, data)
    if depth == EXTENSIONS_DEEP_MAX:
        raise ValueError(f"more than {EXTENSIONS_DEEP_MAX} tuples or sets within each other")
    return builder(_UNPACK[pickles][depth + 1](data))


def _packer(depth: int, pickles: bool) -> Pack:
    default = _Extensions(depth, pickles)
    pack: Pack = msgpack.Packer(autoreset=True, strict_types=True, default=default).pack
    return pack


_DEPTHS = range(EXTENSIONS_DEEP_MAX + 1)


def packer(*, pickles: bool = True) -> Pack:
    """A function value -> bytes that reuses one buffer; its errors are explained by
    `pack_fields`."""
    return _packer(0, pickles)


_UNPACK: dict[bool, list[Unpack]] = {
    pickles: [
        partial(
            msgpack.unpackb, ext_hook=partial(_from_extension, depth, pickles), strict_map_key=False
        )
        for depth in _DEPTHS
    ]
    for pickles in (False, True)
}

unpack = _UNPACK[True][0]
"""bytes -> value, the inverse of a `packer`; any exception for other bytes."""


def unpacker(*, pickles: bool) -> Unpack:
    """`unpack`, or the function that refuses pickles."""
    return _UNPACK[pickles][0]


_STANDARD = frozenset(id(known[0]) for known in _UNPACK.values())
"""Ids of the standard functions, which live as long as this module. Any callable has an id, and not
each is hashable."""


def is_standard(unpack_values: Unpack) -> bool:
    """Whether the function is one of `unpacker`, and not the topology's own serialiser."""
    return id(unpack_values) in _STANDARD


def pack_fields(
    pack: Pack,
    values: Sequence[Any],
    component: str,
    stream: str,
    fields: Sequence[str],
    *,
    pickles: bool = True,
) -> bytes:
    """The general way for values of which `pack` refused the whole: field by field, pickled where
    needed and allowed.

    It carries values that msgpack cannot (ints beyond 64 bit, lone surrogates, very deep nesting).
    Raises ValueNotSerialisable naming component, stream and field.
    """
    safe: list[Any] = []
    for name, value in zip(fields, values, strict=True):
        try:
            pack(value)
            safe.append(value)
        except Exception:
            safe.append(_pickled_field(value, f"{component}.{stream}", name, pickles))
    return pack(safe)


def pack_any(pack: Pack, value: object, *, pickles: bool = True) -> bytes:
    """One value: as `pack` packs it, or pickled whole if `pack` cannot and pickles are allowed.

    Raises an error that explains why the value cannot be serialised.
    """
    try:
        return pack(value)
    except PickleRefused:
        raise
    except Exception:
        if not pickles:
            raise PickleRefused(NO_PICKLES) from None
        return pack(msgpack.ExtType(PICKLED, _pickled(value)))


def _pickled_field(value: object, where: str, name: str, pickles: bool) -> msgpack.ExtType:
    try:
        if not pickles:
            raise PickleRefused(NO_PICKLES)
        return msgpack.ExtType(PICKLED, _pickled(value))
    except Exception as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise ValueNotSerialisable(
            f"{where}: the value of field {name!r} (a {kind}) cannot be serialised: {error}"
        ) from error


def array_of(parts: Sequence[bytes]) -> bytes:
    """The msgpack array (array 32) of packed values."""
    return b"\xdd" + len(parts).to_bytes(4, "big") + b"".join(parts)
