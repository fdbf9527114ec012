"""Unpacks values of any sender without running the sender's code, for tools that show states.

A pickle is opened if all its classes are in STANDARD: classes of the standard library without side
effects at construction. Any other pickle becomes a ShownObject with the name of the first foreign
class.
"""

import io
import pickle
from functools import partial
from typing import Any

import msgpack

from heron_core.typed_values import ShownObject
from heron_core.wire.values import EXTENSIONS_DEEP_MAX, FROZENSET, PICKLED, SET, TUPLE

STANDARD = {
    "datetime": {"datetime", "date", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID", "SafeUUID"},
    "collections": {"OrderedDict", "Counter", "deque"},
    "builtins": {"complex", "set", "frozenset"},
}
"""module -> classes to construct."""
_BUILDERS: dict[int, Any] = {TUPLE: tuple, SET: set, FROZENSET: frozenset}


class _ForeignClass(pickle.UnpicklingError):
    """A pickle names a class outside of STANDARD."""


class _StandardUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in STANDARD.get(module, ()):
            raise _ForeignClass(f"{module}.{name}")
        return super().find_class(module, name)


def _opened(data: bytes) -> Any:
    try:
        return _StandardUnpickler(io.BytesIO(data)).load()
    except _ForeignClass as error:
        return ShownObject(str(error), f"{len(data)} bytes of pickle")
    except Exception as error:  # damaged bytes
        return ShownObject("a pickle", f"{len(data)} bytes: {type(error).__name__}")


def _extension(depth: int, code: int, data: bytes) -> Any:
    if code == PICKLED:
        return _opened(data)
    builder = _BUILDERS.get(code)
    if builder is None:
        return msgpack.ExtType(code, data)
    if depth == EXTENSIONS_DEEP_MAX:
        raise ValueError(f"more than {EXTENSIONS_DEEP_MAX} tuples or sets within each other")
    return builder(_unpacked(depth + 1, data))


def _unpacked(depth: int, data: bytes) -> Any:
    return msgpack.unpackb(data, ext_hook=partial(_extension, depth), strict_map_key=False)


def unpack_standard(data: bytes) -> Any:
    """Bytes of heron_core.wire.values as a value, without running code of the sender."""
    return _unpacked(0, data)
