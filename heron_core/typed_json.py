"""Structs to JSON values and back, checked field by field.

A field's key is the name of the field, or the name in `msgspec.field(name=…)`. A field with a
default may be absent. The writer leaves a field out at None, and at the default if the class names
the field in `omitted`. The field named in `rest` receives the unknown keys; a class without `rest`
ignores unknown keys, so an older reader understands a newer writer. Bytes are base64.

A class may write other JSON values than the values of some fields: the method `json_values` returns
the JSON values, and the static method `field_values` is the inverse. With `inherits_last` a class
is written with own fields before inherited fields.
"""

import base64
import reprlib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from heron_core.errors import ProtocolError

REST = "rest"
"""Class variable: name of the field for unknown keys."""
INHERITS_LAST = "inherits_last"
"""Class variable: whether inherited fields are written last."""
OMITTED = "omitted"
"""Class variable: names of the fields to leave out at their default."""
WRITE = "json_values"
"""Method: key -> JSON value, for fields with another value in JSON."""
READ = "field_values"
"""Static method: from the whole JSON to key -> value of the field, for the keys of
`json_values`."""

_PLAIN = (str, int, float, bool, NoneType)
"""Types whose objects are JSON values already."""
_ALWAYS = object()
"""In place of a field's default: the field is never left out."""
_NOTHING: Mapping[str, Any] = {}

T = TypeVar("T")
Reader = Callable[[Any, str], Any]
"""(value, place of the value) -> the Python object; ProtocolError for a value of another type."""


def to_json(value: Any) -> Any:
    """Structs, mappings, tuples, bytes, members of enums and scalars as JSON values."""
    if isinstance(value, Struct):
        return _struct_to_json(value)
    if isinstance(value, list | tuple):
        return [part if type(part) in _PLAIN else to_json(part) for part in value]
    if isinstance(value, Mapping):
        return {key: part if type(part) in _PLAIN else to_json(part) for key, part in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.value if isinstance(value, Enum) else value


@cache
def _fields(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    infos = fields(kind)
    if getattr(kind, INHERITS_LAST, False):
        own = kind.__annotations__
        return tuple(sorted(infos, key=lambda each: each.name not in own))
    return infos


def _rest(kind: type[Struct]) -> str | None:
    return getattr(kind, REST, None)


def _default(info: FieldInfo) -> Any:
    return info.default if info.default_factory is NODEFAULT else info.default_factory()


@cache
def _written(kind: type[Struct]) -> tuple[str | None, bool, tuple[tuple[str, str, Any], ...]]:
    """The field for unknown keys, whether the class has `json_values`, and for each other field:
    name, key, and the value at which the writer leaves the field out."""
    rest, omitted = _rest(kind), getattr(kind, OMITTED, ())
    keys = tuple(
        (
            info.name,
            info.encode_name,
            _ALWAYS if info.required else _default(info) if info.name in omitted else None,
        )
        for info in _fields(kind)
        if info.name != rest
    )
    return rest, hasattr(kind, WRITE), keys


def _struct_to_json(value: Struct) -> dict[str, Any]:
    rest, has_own, keys = _written(type(value))
    given = getattr(value, WRITE)() if has_own else _NOTHING
    data: dict[str, Any] = {}
    for name, key, left_out_at in keys:
        if key in given:
            data[key] = given[key]
            continue
        part = getattr(value, name)
        if left_out_at is _ALWAYS or part != left_out_at:
            data[key] = part if type(part) in _PLAIN else to_json(part)
    if rest is not None:
        data.update(getattr(value, rest))
    return data


def from_json(kind: type[T], data: Any, where: str) -> T:
    """The struct `kind` of JSON values; ProtocolError with the invalid field and the place of the
    field within `where`."""
    hint: Any = kind
    value: T = _reader(hint)(data, where)
    return value


@cache
def _reader(hint: Any) -> Reader:
    """Reader for values of a type."""
    if hint is Any:
        return lambda value, where: value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reader(arguments[0])
    if origin in (Union, UnionType):
        (only,) = [argument for argument in arguments if argument is not NoneType]
        return partial(_read_optional, _reader(only))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return partial(_read_fixed, tuple(map(_reader, arguments)))
    if origin is tuple:
        return partial(_read_sequence, _reader(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return partial(_read_mapping, arguments[0] is int, _reader(arguments[1]))
    if issubclass(hint, Struct):
        return _struct_reader(hint)
    if issubclass(hint, Enum):
        return partial(_read_converted, hint)
    if hint is bytes:
        return partial(_read_converted, base64.b64decode)
    return partial(_read_scalar, (int, float) if hint is float else (hint,))


def _with_kinds(read: Reader) -> tuple[Reader, tuple[type, ...]]:
    """The reader, and the types of values returned unchanged."""
    if isinstance(read, partial) and read.func is _read_scalar:
        return read, read.args[0]
    return read, ()


def _wrong(value: Any, where: str) -> ProtocolError:
    return ProtocolError(f"{where} is {reprlib.repr(value):.100}")


def _read_scalar(kinds: tuple[type, ...], value: Any, where: str) -> Any:
    if type(value) not in kinds:
        raise _wrong(value, where)
    return value


def _read_converted(convert: Callable[[str], Any], value: Any, where: str) -> Any:
    """Result of `convert` for a text; `convert` raises ValueError for an invalid text."""
    try:
        return convert(_read_scalar((str,), value, where))
    except ValueError:
        raise _wrong(value, where) from None


def _read_optional(read: Reader, value: Any, where: str) -> Any:
    return None if value is None else read(value, where)


def _read_sequence(read: Reader, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(value, where)
    return tuple(read(each, f"{where}[{at}]") for at, each in enumerate(value))


def _read_fixed(readers: tuple[Reader, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(readers):
        raise _wrong(value, where)
    return tuple(read(part, where) for read, part in zip(readers, value, strict=True))


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


def _adapted(adapt: Callable[[Any], Any], value: Mapping[Any, Any], where: str) -> Any:
    try:
        return {**value, **adapt(value)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"{where} is not valid: {error!r:.100}") from error


def _struct_reader(kind: type[Struct]) -> Reader:
    rest = _rest(kind)
    known = tuple(
        (info.name, info.encode_name, info.required, *_with_kinds(_reader(info.type)))
        for info in _fields(kind)
        if info.name != rest
    )
    keys = {key for _, key, *_ in known}
    adapt = getattr(kind, READ, None)

    def read(value: Any, where: str) -> Any:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise _wrong(value, where)
        if adapt is not None:
            value = _adapted(adapt, value, where)
        arguments = {}
        for name, key, is_required, read_field, kinds in known:
            if key in value:
                part = value[key]
                # Most fields are plain: a plain field needs neither a call nor the name of a place.
                arguments[name] = (
                    part if type(part) in kinds else read_field(part, f"{where}.{key}")
                )
            elif is_required:
                raise ProtocolError(f"{where} has no {key}")
        if rest is not None:
            arguments[rest] = {key: value[key] for key in value if key not in keys}
        return kind(**arguments)

    return read
