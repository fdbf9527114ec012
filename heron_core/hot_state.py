"""The hot path of keyed state: the key of a tuple, and what user code calls.

One source in two forms, as hot_path.py explains. hot_state.h has the C function that replaces the
Python function under `if not cython.compiled`. The tables are in hot_tables.py, and operations on
all keys of a state in state/states.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from heron_core.errors import StateError
from heron_core.state.key_values import LAYOUT, is_laid_out, key_of
from heron_core.state.protocol import ABSENT, StateTable

if TYPE_CHECKING:
    import cython
else:
    cython = SimpleNamespace(compiled=False)  # as in hot_path.py

if not cython.compiled:  # else hot_state.pxd has the compiled ones
    from heron_core.hot_tables import FlatTable, NestedTable
    from heron_core.state.plain_types import cannot_change

Process = Callable[[Any], Any]
PositionsOf = Callable[[Any], Sequence[int]]
"""A tuple -> positions of its key's values; StateError for a tuple without a key."""

_COMPONENT_AT, _STREAM_AT, _VALUES_AT = LAYOUT["component"], LAYOUT["stream"], LAYOUT["values"]
_NO_TUPLE = "no tuple is being processed, so no key is the current one"
_SEVERAL = -1
"""The key has the values of several fields: it is at no single position."""


# --- keys -----------------------------------------------------------------------------------------

if not cython.compiled:

    def item_at(tup: Any, at: int) -> Any:
        """An item of a tuple, whatever its class makes of brackets."""
        return tuple.__getitem__(tup, at)


class TupleKeys:
    """The keys of tuples: the values at the positions that are asked for at a stream's first."""

    __slots__ = (
        "_component", "_is_laid_out", "_kind", "_position", "_positions", "_positions_of",
        "_stream",
    )  # fmt: skip

    def __init__(self, positions_of: PositionsOf) -> None:
        self._positions_of = positions_of
        self._component: Any = None
        self._stream: Any = None
        self._positions: Sequence[int] = ()
        self._position: int = _SEVERAL
        self._kind: Any = None
        self._is_laid_out: bool = False

    def of(self, tup: Any) -> Any:
        """The key of a tuple; StateError without a key."""
        if cython.compiled:
            if type(tup) is not self._kind:
                self._is_laid_out = is_laid_out(type(tup))
                self._kind = type(tup)
            if self._is_laid_out:
                return self._in(
                    tup, item_at(tup, _COMPONENT_AT), item_at(tup, _STREAM_AT),
                    item_at(tup, _VALUES_AT),
                )  # fmt: skip
        return self._in(tup, tup.component, tup.stream, tup.values)

    def _in(self, tup: Any, component: Any, stream: Any, values: Any) -> Any:
        # By identity: a batch has one object of each name. Another object of an equal name repeats
        # the look-up.
        if component is not self._component or stream is not self._stream:
            self._positions = self._positions_of(tup)
            only = len(self._positions) == 1
            self._position = self._positions[0] if only else _SEVERAL
            self._component, self._stream = component, stream
        if self._position == _SEVERAL:
            return _joint([values[position] for position in self._positions])
        value = values[self._position]
        return value if cannot_change(value) else key_of([value])

    def __call__(self, tup: Any) -> Any:
        return self.of(tup)


def _joint(values: list[Any]) -> Any:
    """The key of several values, in the usual case that each value is a key itself."""
    for value in values:
        if not cannot_change(value):
            return key_of(values)
    return tuple(values)


class TupleKey:
    """The key of the tuple being processed, computed at a state's request."""

    __slots__ = ("_key", "_keys", "_seen", "component", "tuple")

    def __init__(self, component: str) -> None:
        self.component = component
        self.tuple: Any = None
        """The tuple being processed; None between two tuples."""
        self._keys: TupleKeys | None = None
        self._seen: Any = None
        """The tuple that `_key` is the key of."""
        self._key: Any = None

    def of_tuples(self, keys: TupleKeys) -> None:
        """How to get at a tuple's key."""
        self._keys = keys

    def at(self, key: Any) -> TupleKey:
        """Another one, whose key is given by user code and stays."""
        raise NotImplementedError

    def key(self) -> Any:
        """The key; StateError without a key."""
        tup = self.tuple
        if tup is None:
            raise StateError(f"{self.component}: {_NO_TUPLE}: use for_key(key), or all_items()")
        if tup is not self._seen:
            keys = self._keys
            if keys is None:
                raise StateError("the state's tuples have no key: use for_key(key)")
            self._key = keys.of(tup)
            self._seen = tup
        return self._key

    def __call__(self) -> Any:
        return self.key()


def keyed_process(current: TupleKey, process: Process) -> Process:
    """`process`, with the key of its tuple as the current key."""

    def process_keyed(tup: Any) -> Any:
        current.tuple = tup
        try:
            return process(tup)
        finally:
            current.tuple = None

    return process_keyed


# --- what user code calls (heron_core.state.states) -----------------------------------------------


class KeyedState:
    """What all kinds have in common: a table, and whose entries are meant."""

    __slots__ = ("_check", "_current", "_default", "_flat", "_nested", "_reduce", "_table")

    def __init__(
        self, table: StateTable, current: TupleKey, default: Any = None, reduce: Any = None,
        check: Any = None,
    ) -> None:  # fmt: skip
        self._table = table
        self._current = current
        self._default = default
        self._reduce = reduce
        self._check = check
        # The table by its concrete class, if in memory and without a time to live.
        self._flat: FlatTable | None = table if isinstance(table, FlatTable) else None
        self._nested: NestedTable | None = table if isinstance(table, NestedTable) else None

    def for_key(self, key: Any) -> Self:
        """The state of a given key: the field's value, a tuple of values for several fields.

        The current key is unchanged.
        """
        kind = type(self)
        fixed = kind.__new__(kind)
        KeyedState.__init__(
            fixed, self._table, self._current.at(key), self._default, self._reduce, self._check
        )
        return fixed

    def clear(self) -> None:
        """Remove all entries of the key."""
        key, nested = self._current.key(), self._nested
        if nested is not None:
            nested.remove_all(key)
        else:
            for sub, _ in self._table.items(key):
                self._table.remove(key, sub)


class ValueOfKey(KeyedState):
    """One value."""

    __slots__ = ()

    def _value(self, key: Any) -> Any:
        flat = self._flat
        return self._table.get(key) if flat is None else flat.get(key)

    def _set(self, key: Any, value: Any) -> None:
        flat = self._flat
        if flat is None:
            self._table.put(key, value)
        else:
            flat.put(key, value)

    def get(self) -> Any:
        """The value, or the state's default. Put a value back after a change in place."""
        value = self._value(self._current.key())
        if value is not ABSENT:
            return value
        return self._default() if callable(self._default) else self._default

    def put(self, value: Any) -> None:
        """Set the value."""
        self._set(self._current.key(), value)

    def exists(self) -> bool:
        """Whether a value exists; a default does not count."""
        return self._value(self._current.key()) is not ABSENT

    def clear(self) -> None:
        """Forget the value: there is the default again."""
        self._table.remove(self._current.key())


class ReducedOfKey(ValueOfKey):
    """One value, with additions by a function of two arguments: (value so far, new value)."""

    __slots__ = ()

    def __init__(
        self, table: StateTable, current: TupleKey, reduce: Any, default: Any = None,
        check: Callable[[Any], object] | None = None,
    ) -> None:  # fmt: skip
        """`check` raises for what the function must not return; plain values need no check."""
        KeyedState.__init__(self, table, current, default, reduce, check)

    def get(self) -> Any:
        """The reduced value of all additions; the default (None) before the first."""
        value = self._value(self._current.key())
        return self._default if value is ABSENT else value

    def add(self, value: Any) -> Any:
        """Add a value; returns what all comes to now."""
        key = self._current.key()
        before = self._value(key)
        after = value if before is ABSENT else self._reduce(before, value)
        if self._check is not None and not cannot_change(after):
            self._check(after)
        self._set(key, after)
        return after


class ListOfKey(KeyedState):
    """A list that grows at the end."""

    __slots__ = ()

    def get(self) -> list[Any]:
        """The elements in order of addition; the list is the caller's own."""
        key, nested = self._current.key(), self._nested
        if nested is not None:
            return nested.values(key)
        return [value for _, value in self._table.items(key)]

    def add(self, value: Any) -> None:
        """Add an element at the end."""
        key, nested = self._current.key(), self._nested
        if nested is not None:
            nested.append(key, value)
        else:
            last = self._table.last(key)
            self._table.put(key, value, 0 if last is None else last + 1)


class MapOfKey(KeyedState):
    """A dict, saved entry by entry."""

    __slots__ = ()

    def _value(self, key: Any) -> Any:
        current, nested = self._current.key(), self._nested
        return self._table.get(current, key) if nested is None else nested.get(current, key)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of `key` in the map."""
        value = self._value(key)
        return default if value is ABSENT else value

    def put(self, key: Any, value: Any) -> None:
        """Set the value of `key`."""
        current, nested = self._current.key(), self._nested
        if nested is None:
            self._table.put(current, value, key)
        else:
            nested.put(current, value, key)

    def remove(self, key: Any) -> None:
        """Remove `key`, if present."""
        self._table.remove(self._current.key(), key)

    def contains(self, key: Any) -> bool:
        """Whether the map has `key`."""
        return self._value(key) is not ABSENT

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __getitem__(self, key: Any) -> Any:
        value = self._value(key)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)
