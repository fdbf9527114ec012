"""Structs to JSON values and back, checked field by field.

A field's key is its name, or the one that `msgspec.field(name=…)` gives it. A field with a
default may be absent, and is left out when it is None. The field that a class names in `rest` gets
the keys of no other field; where a class has none, such keys are ignored, so that an older reader
understands a newer writer. A class with `inherits_last` is written with its own fields first.
"""

import reprlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from heron_core.errors import ProtocolError

REST = "rest"
"""The class variable that names the field for all other keys."""

INHERITS_LAST = "inherits_last"
"""The class variable that says so."""

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""(value, where it stands) -> what it is as a Python object; ProtocolError if it is not that."""


def to_json(value: Any) -> Any:
    """Structs, mappings, tuples, members of enums and scalars as JSON values."""
    if isinstance(value, Struct):
        return _fields_to_json(value)
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value.value if isinstance(value, Enum) else value


@cache
def _fields(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    found = fields(kind)
    if getattr(kind, INHERITS_LAST, False):
        own = kind.__annotations__
        return tuple(sorted(found, key=lambda each: each.name not in own))
    return found


def _rest(kind: type[Struct]) -> str | None:
    return getattr(kind, REST, None)


def _fields_to_json(value: Struct) -> dict[str, Any]:
    data: dict[str, Any] = {}
    rest = _rest(type(value))
    for each in _fields(type(value)):
        found = getattr(value, each.name)
        if each.name == rest:
            data.update(found)
        elif found is not None or each.required:
            data[each.encode_name] = to_json(found)
    return data


def from_json(kind: type[T], data: Any, where: str) -> T:
    """The struct `kind` out of JSON values; ProtocolError naming the field that is wrong, which
    stands in what `where` calls it."""
    hint: Any = kind
    found: T = _reader(hint)(data, where)
    return found


@cache
def _reader(hint: Any) -> Reader:
    """How a value of this type is read."""
    if hint is Any:
        return lambda value, where: value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reader(arguments[0])
    if origin in (Union, UnionType):
        (only,) = [each for each in arguments if each is not NoneType]
        return partial(_read_optional, _reader(only))
    if origin is tuple:
        return partial(_read_sequence, _reader(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return partial(_read_mapping, arguments[0] is int, _reader(arguments[1]))
    if issubclass(hint, Struct):
        return _struct_reader(hint)
    return partial(_read_scalar, (int, float) if hint is float else (hint,))


def _with_kinds(read: Reader) -> tuple[Reader, tuple[type, ...]]:
    """The reader, and the types of values that it takes as they are."""
    if isinstance(read, partial) and read.func is _read_scalar:
        return read, read.args[0]
    return read, ()


def _wrong(value: Any, where: str) -> ProtocolError:
    return ProtocolError(f"{where} is {reprlib.repr(value):.100}")


def _read_scalar(kinds: tuple[type, ...], value: Any, where: str) -> Any:
    if type(value) not in kinds:
        raise _wrong(value, where)
    return value


def _read_optional(read: Reader, value: Any, where: str) -> Any:
    return None if value is None else read(value, where)


def _read_sequence(read: Reader, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(value, where)
    return tuple(read(each, f"{where}[{at}]") for at, each in enumerate(value))


def _read_mapping(with_numbers: bool, read: Reader, value: Any, where: str) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, where)
    key_of = _number if with_numbers else _text
    _, kinds = _with_kinds(read)
    return {
        key_of(key, where): each if type(each) in kinds else read(each, f"{where}.{key}")
        for key, each in value.items()
    }


def _number(key: Any, where: str) -> int:
    """JSON has no numbers as keys, msgpack has."""
    if type(key) is int:
        return key
    if type(key) is str and key.isdecimal():
        return int(key)
    raise _wrong(key, f"a key of {where}")


def _text(key: Any, where: str) -> str:
    if type(key) is not str:
        raise _wrong(key, f"a key of {where}")
    return key


def _struct_reader(kind: type[Struct]) -> Reader:
    rest = _rest(kind)
    known = [each for each in _fields(kind) if each.name != rest]
    readers = {each.encode_name: (each.name, *_with_kinds(_reader(each.type))) for each in known}
    required = {each.encode_name for each in known if each.required}

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise _wrong(value, where)
        missing = required - value.keys()
        if missing:
            raise ProtocolError(f"{where} has no {min(missing)}")
        # Most fields are plain values: those need neither a call nor the name of their place.
        arguments = {
            name: part if type(part := value[key]) in kinds else read_field(part, f"{where}.{key}")
            for key, (name, read_field, kinds) in readers.items()
            if key in value
        }
        if rest is not None:
            arguments[rest] = {key: value[key] for key in value if key not in readers}
        return kind(**arguments)

    return read
