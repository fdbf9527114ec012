"""The values of a tuple that are its key, and where these are in a tuple."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

LAYOUT = {"component": 1, "stream": 2, "values": 4}
"""Items of a tuple of heronpy's that decide the tuple's key: those of heron_api.tuple, and of
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
    """The key as a user knows it: the value of one field, a tuple for several."""
    return key[0] if type(key) is tuple and len(key) == 1 else key


def _frozen(value: Any) -> Any:
    """The value with lists as tuples: the grouping takes a list and the tuple of its items for
    equal."""
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
