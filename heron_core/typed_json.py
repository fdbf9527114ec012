"""Frozen dataclasses to JSON values and back, checked field by field.

A field's key is its name, or the one in its metadata under KEY. A field that has a default may be
absent, and is left out when it is None. A field with REST in its metadata gets the keys that no
other field has; where there is none such keys are ignored, so that an older reader understands a
newer writer.
"""

import dataclasses
import reprlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from heron_core.errors import ProtocolError

KEY = "json key"
REST = "the rest"

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""(value, where it stands) -> what it is as a Python object; ProtocolError if it is not that."""


def to_json(value: Any) -> Any:
    """Dataclasses, mappings, tuples and scalars as JSON values."""
    if dataclasses.is_dataclass(value):
        return _fields_to_json(value)
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


def _fields_to_json(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for each in dataclasses.fields(value):
        found = getattr(value, each.name)
        if REST in each.metadata:
            data.update(found)
        elif found is not None or not _may_be_absent(each):
            data[_key(each)] = to_json(found)
    return data


def from_json(kind: type[T], data: Any, where: str) -> T:
    """The dataclass `kind` out of JSON values; ProtocolError naming the field that is wrong, which
    stands in what `where` calls it."""
    hint: Any = kind
    found: T = _reader(hint)(data, where)
    return found


def _key(each: "dataclasses.Field[Any]") -> str:
    return str(each.metadata.get(KEY, each.name))


def _may_be_absent(each: "dataclasses.Field[Any]") -> bool:
    no_default = each.default is dataclasses.MISSING
    return not (no_default and each.default_factory is dataclasses.MISSING)


@cache
def _reader(hint: Any) -> Reader:
    """How a value of this type is read."""
    if hint is Any:
        return lambda value, where: value
    if dataclasses.is_dataclass(hint):
        return _dataclass_reader(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (only,) = [each for each in arguments if each is not NoneType]
        return partial(_read_optional, _reader(only))
    if origin is tuple:
        return partial(_read_sequence, _reader(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return partial(_read_mapping, arguments[0] is int, _reader(arguments[1]))
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


def _dataclass_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    fields = dataclasses.fields(kind)
    readers = {
        _key(each): (each.name, *_with_kinds(_reader(hints[each.name])))
        for each in fields
        if REST not in each.metadata
    }
    required = {_key(each) for each in fields if not _may_be_absent(each)}
    rest = next((each.name for each in fields if REST in each.metadata), None)

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
