"""What a component works with: value, list, map and reducing states, each of the current key.

Names are those of Flink's and Spark's states: where the two differ, both are there. The current
key is that of the tuple being processed; `for_key` gives the same state of another key.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from heron_core.state.current_key import CurrentKey
from heron_core.state.keys import shown_key
from heron_core.state.protocol import ABSENT, StateTable

T = TypeVar("T")
K = TypeVar("K")

Key = Callable[[], Any]


class KeyedState:
    """What all kinds have in common."""

    _default: Any = None

    def __init__(self, table: StateTable, current: CurrentKey) -> None:
        self._table = table
        self._current = current
        self._key: Key = current

    def for_key(self, key: Any) -> Self:
        """This state of a key that is given: the field's value, a tuple of them for several.

        It does not change what the current key is.
        """
        fixed = self._current.given(key)
        found = type(self).__new__(type(self))
        vars(found).update(vars(self), _key=lambda: fixed)
        return found

    def exists(self) -> bool:
        """Whether there is anything."""
        return bool(self._table.items(self._key()))

    def clear(self) -> None:
        """Forget what there is of this key."""
        key = self._key()
        for sub, _ in self._table.items(key):
            self._table.remove(key, sub)

    def clear_all(self) -> None:
        """Forget what there is of all keys of this instance."""
        self._table.clear()

    def all_keys(self) -> Iterator[Any]:
        """All keys of this instance, in no order; the state may be changed meanwhile."""
        return map(shown_key, self._table.all_keys())


class ValueState(KeyedState, Generic[T]):
    """One value."""

    def __init__(self, table: StateTable, current: CurrentKey, default: Any = None) -> None:
        super().__init__(table, current)
        self._default = default

    def get(self) -> T:
        """The value; the state's default if there is none. Put it back after a change of it."""
        value = self._table.get(self._key())
        return self._default_value() if value is ABSENT else value  # type: ignore[no-any-return]

    def put(self, value: T) -> None:
        """Set the value."""
        self._table.put(self._key(), value)

    update = put

    def exists(self) -> bool:
        """Whether there is a value; a default is none."""
        return self._table.get(self._key()) is not ABSENT

    def clear(self) -> None:
        """Forget the value: there is the default again."""
        self._table.remove(self._key())

    def all_items(self) -> Iterator[tuple[Any, T]]:
        """(key, value) of all keys of this instance, in no order."""
        for key in self._table.all_keys():
            value = self._table.get(key)
            if value is not ABSENT:
                yield shown_key(key), value

    def _default_value(self) -> Any:
        return self._default() if callable(self._default) else self._default


class ReducingState(KeyedState, Generic[T]):
    """One value, to which others are added by a function of two: (value so far, new one)."""

    def __init__(
        self,
        table: StateTable,
        current: CurrentKey,
        reduce: Callable[[T, T], T],
        default: Any = None,
    ) -> None:
        super().__init__(table, current)
        self._reduce = reduce
        self._default = default

    def get(self) -> T:
        """What all that was added comes to; the default (None) if nothing was."""
        value = self._table.get(self._key())
        return self._default if value is ABSENT else value  # type: ignore[no-any-return]

    def add(self, value: T) -> T:
        """Add a value; returns what all comes to now."""
        key = self._key()
        before = self._table.get(key)
        after = value if before is ABSENT else self._reduce(before, value)
        self._table.put(key, after)
        return after

    def all_items(self) -> Iterator[tuple[Any, T]]:
        """(key, value) of all keys of this instance, in no order."""
        for key in self._table.all_keys():
            value = self._table.get(key)
            if value is not ABSENT:
                yield shown_key(key), value


class ListState(KeyedState, Generic[T]):
    """A list that grows at its end."""

    def get(self) -> list[T]:
        """The elements in the order in which they were added; a list of your own."""
        return [value for _, value in self._table.items(self._key())]

    def add(self, value: T) -> None:
        """Add an element at the end."""
        key = self._key()
        last = self._table.last(key)
        self._table.put(key, value, 0 if last is None else last + 1)

    append = add

    def add_all(self, values: Iterable[T]) -> None:
        """Add elements at the end."""
        key = self._key()
        last = self._table.last(key)
        for index, value in enumerate(values, 0 if last is None else last + 1):
            self._table.put(key, value, index)

    extend = add_all

    def update(self, values: Iterable[T]) -> None:
        """These are the elements from now on."""
        kept = list(values)
        self.clear()
        self.add_all(kept)

    put = update

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self._table.items(self._key()))

    def all_items(self) -> Iterator[tuple[Any, list[T]]]:
        """(key, elements) of all keys of this instance, in no order of the keys."""
        for key in self._table.all_keys():
            yield shown_key(key), [value for _, value in self._table.items(key)]


class MapState(KeyedState, Generic[K, T]):
    """A dict, saved entry by entry."""

    def get(self, key: K, default: Any = None) -> T:
        """The value of `key` in the map."""
        value = self._table.get(self._key(), key)
        return default if value is ABSENT else value  # type: ignore[no-any-return]

    def put(self, key: K, value: T) -> None:
        """Set the value of `key`."""
        self._table.put(self._key(), value, key)

    def put_all(self, items: "dict[K, T] | Iterable[tuple[K, T]]") -> None:
        """Set the values of several keys."""
        current = self._key()
        for key, value in dict(items).items():
            self._table.put(current, value, key)

    def remove(self, key: K) -> None:
        """Forget `key`, if it is there."""
        self._table.remove(self._key(), key)

    def contains(self, key: K) -> bool:
        """Whether the map has `key`."""
        return self._table.get(self._key(), key) is not ABSENT

    def items(self) -> list[tuple[K, T]]:
        """All (key, value) of the map, in no order."""
        return self._table.items(self._key())

    def keys(self) -> list[K]:
        """All keys of the map."""
        return [key for key, _ in self.items()]

    def values(self) -> list[T]:
        """All values of the map."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether the map has no entries."""
        return not self.items()

    def __getitem__(self, key: K) -> T:
        value = self._table.get(self._key(), key)
        if value is ABSENT:
            raise KeyError(key)
        return value  # type: ignore[no-any-return]

    __setitem__ = put

    def __delitem__(self, key: K) -> None:
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)

    __contains__ = contains

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.items())

    def all_items(self) -> Iterator[tuple[Any, dict[K, T]]]:
        """(key, the map as a dict) of all keys of this instance, in no order."""
        for key in self._table.all_keys():
            yield shown_key(key), dict(self._table.items(key))
