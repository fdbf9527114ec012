"""Tuple values <-> bytes: plain values as plain msgpack, every other Python type unchanged.

Plain values (None, bool, int, float, str, bytes, lists and dicts of plain values) have no overhead:
msgpack calls `_Extensions` for a value of any other type. A tuple, set or frozenset is packed as an
extension of its items, any other value as a pickle. bytearray and memoryview arrive as bytes.

Opening a pickle executes code of the sender's choice. Connections authenticate the sender before
this module reads a byte (heron_io.security). With `topology.values.pickle: false` values are not
pickled, and received pickles are refused.
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
    """A value or a body that needs pickle, in a topology that forbids pickles."""


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle  # only for functions and classes that pickle cannot name

        data: bytes = cloudpickle.dumps(value)
        return data


class _Extensions:
    """Makes extensions of values without a form in msgpack, for one packer."""

    __slots__ = ("_depth", "_pack", "_pickles")

    def __init__(self, depth: int, pickles: bool) -> None:
        self._depth = depth
        self._pickles = pickles
        self._pack: Pack | None = None
        """Packer for the items of tuples and sets: the outer packer is in the middle of its buffer.
        Created once, as the creation costs more than packing a tuple of some numbers."""

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
    """A function value -> bytes that reuses one buffer; `pack_fields` explains the errors."""
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
"""Ids of the standard functions, whose life is the life of this module. A set of ids, as a user's
callable may not be hashable."""


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
    """A tuple's values after `pack` has refused the whole list: field by field, pickled where
    needed and allowed.

    Carries values without a form in msgpack (ints beyond 64 bits, lone surrogates, very deep
    nesting). Raises ValueNotSerialisable naming component, stream and field.
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
    """The result of `pack` for one value, or a pickle of the value if `pack` fails and pickles are
    allowed.

    The error explains why the value cannot be serialised.
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
