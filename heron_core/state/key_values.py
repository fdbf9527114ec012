"""The key of a tuple: values of the grouped fields, and the positions of the values in a tuple."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

LAYOUT = {"component": 1, "stream": 2, "values": 4}
"""Attributes that decide a tuple's key, and their positions in heron_api.tuple and in
heron_frontends.adapters.tuple_layout."""
_ITEMS = 7
_FIELD_KIND: Any = type(vars(namedtuple("Probe", "only"))["only"])
_FROZEN: dict[type, Callable[[Any], Any]] = {list: tuple, bytearray: bytes, set: frozenset}


def key_of(values: Sequence[Any]) -> Any:
    """The key of the values of the grouped fields."""
    if len(values) == 1:
        value = _frozen(values[0])
        return (value,) if isinstance(value, tuple) else value
    return tuple(map(_frozen, values))


def shown_key(key: Any) -> Any:
    """The key for users: the value of one field, or a tuple of several values."""
    return key[0] if type(key) is tuple and len(key) == 1 else key


def _frozen(value: Any) -> Any:
    """The value with lists as tuples: for a grouping, a list equals the tuple of the same items."""
    kind = _FROZEN.get(type(value))
    if kind is None:
        return value
    return tuple(map(_frozen, value)) if kind is tuple else kind(value)


def is_laid_out(kind: type) -> bool:
    """Whether all objects of a class have the attributes of LAYOUT as its items."""
    if not issubclass(kind, tuple) or kind.__getattribute__ is not tuple.__getattribute__:
        return False
    items = tuple(range(_ITEMS))
    return all(
        isinstance(field := getattr(kind, name, None), _FIELD_KIND) and field.__get__(items) == at
        for name, at in LAYOUT.items()
    )
