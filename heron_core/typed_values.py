"""Values of state as JSON with their types, for people and programs of other languages.

Plain values (None, bool, numbers, text, lists, dicts by text) stay as they are. Every other value
is an object of one entry, whose name is the type:

    {"$tuple": […]}  {"$set": […]}  {"$frozenset": […]}  {"$bytes": "base64"}  {"$float": "nan"}
    {"$text": "base64 of UTF-8"}  a text with lone surrogates, which are not JSON
    {"$datetime": "ISO 8601"}  {"$date": …}  {"$time": …}  {"$decimal": "1.50"}  {"$uuid": …}
    {"$map": [[key, value], …]}   a dict whose keys are not all text, or begin with $
    {"$object": "module.Class", "repr": "…"}   shown; a ShownObject when it is read back, as the
                                               object itself takes user code
"""

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from msgspec import Struct

from heron_core.errors import UsageError, shown

OBJECT = "$object"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""An encoder for all calls: `json.dumps` makes another for each."""
REPR_CHARACTERS_MAX = 200
"""Longest repr of an object without another form: a person reads the repr."""


class ShownObject(Struct, frozen=True):
    """A value that only its own class can recreate."""

    kind: str
    """module.Class"""
    text: str


def typed(value: Any) -> Any:
    """A value with its type in a form for json.dumps."""
    write = _WRITERS.get(type(value))
    return _object(value) if write is None else write(value)


def typed_text(value: Any) -> str:
    """The same as text."""
    return _encode(typed(value))


def untyped(data: Any) -> Any:
    """The inverse of `typed`; ValueError for data of no such form."""
    if isinstance(data, list):
        return [untyped(each) for each in data]
    if not isinstance(data, dict):
        return data
    name = next(iter(data), "")
    if not name.startswith("$"):
        return {key: untyped(each) for key, each in data.items()}
    if name == OBJECT:
        return ShownObject(str(data[name]), str(data.get("repr", "")))
    read = _READERS.get(name)
    if read is None or len(data) != 1:
        raise ValueError(f"{shown(data, 60)} is not the form of a value ({', '.join(_READERS)})")
    try:
        return read(data[name])
    except (TypeError, InvalidOperation) as error:
        raise ValueError(f"{shown(data, 60)} is not a value: {error}") from None


def value_in(text: str) -> Any:
    """The inverse of `typed_text`; ValueError for another text."""
    return untyped(json.loads(text))


def given_value(text: str) -> Any:
    """The value of a command-line text or a request: typed JSON, or the text itself. UsageError for
    JSON outside of the format.
    """
    try:
        data = json.loads(text)
    except ValueError:
        return text
    try:
        return untyped(data)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _plain(value: Any) -> Any:
    return value


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:  # lone surrogates, which JSON's readers refuse
        return {"$text": _base64(value.encode("utf-8", "surrogatepass"))}
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _items(value: Any) -> list[Any]:
    return [typed(each) for each in value]


def _sorted_items(value: Any) -> list[Any]:
    """A set has no order, and equal sets are to look equal."""
    return sorted(_items(value), key=lambda item: json.dumps(item, sort_keys=True))


def _dict(value: Mapping[Any, Any]) -> Any:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: typed(each) for key, each in value.items()}
    return {"$map": [[typed(key), typed(each)] for key, each in value.items()]}


def _object(value: Any) -> Any:
    if isinstance(value, ShownObject):
        return {OBJECT: value.kind, "repr": value.text}
    kind = type(value)
    try:
        text = repr(value)
    except Exception as error:  # user code
        text = f"its repr raised {type(error).__name__}"
    return {OBJECT: f"{kind.__module__}.{kind.__qualname__}", "repr": text[:REPR_CHARACTERS_MAX]}


def _pairs(data: Any) -> dict[Any, Any]:
    return {untyped(key): untyped(each) for key, each in data}


_WRITERS: dict[type, Callable[[Any], Any]] = {
    type(None): _plain,
    bool: _plain,
    int: _plain,
    float: _float,
    str: _text,
    list: _items,
    dict: _dict,
    tuple: lambda value: {"$tuple": _items(value)},
    set: lambda value: {"$set": _sorted_items(value)},
    frozenset: lambda value: {"$frozenset": _sorted_items(value)},
    bytes: lambda value: {"$bytes": _base64(value)},
    bytearray: lambda value: {"$bytes": _base64(value)},
    datetime: lambda value: {"$datetime": value.isoformat()},
    date: lambda value: {"$date": value.isoformat()},
    time: lambda value: {"$time": value.isoformat()},
    Decimal: lambda value: {"$decimal": str(value)},
    UUID: lambda value: {"$uuid": str(value)},
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "$tuple": lambda data: tuple(untyped(each) for each in data),
    "$set": lambda data: {untyped(each) for each in data},
    "$frozenset": lambda data: frozenset(untyped(each) for each in data),
    "$bytes": lambda data: base64.b64decode(data, validate=True),
    "$text": lambda data: base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass"),
    "$float": float,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$decimal": Decimal,
    "$uuid": UUID,
    "$map": _pairs,
}
