"""The values of a tuple that are its key, and how a tuple has them."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

LAYOUT = {"component": 1, "stream": 2, "values": 4}
"""Which items of a tuple of heronpy's decide its key: those of heron_api.tuple, and of
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
    """What a user knows as the key: the value of one field, a tuple for several."""
    return key[0] if type(key) is tuple and len(key) == 1 else key


def _frozen(value: Any) -> Any:
    """A list is as good a key as the tuple of its items: the grouping takes them for equal."""
    kind = _FROZEN.get(type(value))
    if kind is None:
        return value
    return tuple(map(_frozen, value)) if kind is tuple else kind(value)


def is_laid_out(kind: type) -> bool:
    """Whether all objects of a class have these attributes, as the items of LAYOUT."""
    if not issubclass(kind, tuple) or kind.__getattribute__ is not tuple.__getattribute__:
        return False
    items = tuple(range(_ITEMS))
    return all(
        isinstance(field := getattr(kind, name, None), _FIELD_KIND) and field.__get__(items) == at
        for name, at in LAYOUT.items()
    )
