"""The states that a component uses: value, list, map and reducing states, each of the current key.

Names are those of Flink's and Spark's states: where the two differ, both exist. The current key is
the key of the tuple being processed; `for_key` gives the same state of another key. The code
that runs for each tuple is in heron_core/hot_state.py.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from heron_core.native import ListOfKey, MapOfKey, ReducedOfKey, TupleKey, ValueOfKey
from heron_core.state.keys import shown_key
from heron_core.state.protocol import ABSENT, StateTable

T = TypeVar("T")
K = TypeVar("K")


class WholeState:
    """The methods of states that do not run for each tuple."""

    __slots__ = ()

    _table: StateTable
    _current: TupleKey

    def exists(self) -> bool:
        """Whether the current key has an entry."""
        return bool(self._table.items(self._current()))

    def clear_all(self) -> None:
        """Remove the entries of all keys of this instance."""
        self._table.clear()

    def all_keys(self) -> Iterator[Any]:
        """All keys of this instance, in no order; the state may be changed meanwhile."""
        return map(shown_key, self._table.all_keys())

    def _values(self) -> Iterator[tuple[Any, Any]]:
        """(key, value) of all keys that still have a value at their turn."""
        for key in self._table.all_keys():
            value = self._table.get(key)
            if value is not ABSENT:
                yield shown_key(key), value


class ValueState(ValueOfKey, WholeState, Generic[T]):
    """One value for each key.

    Example:

        class Count(Bolt):
            total = value_state(default=0)

            def process(self, tup):
                self.total.put(self.total.get() + 1)
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def get(self) -> T: ...
        def put(self, value: T) -> None: ...

    update = ValueOfKey.put

    def all_items(self) -> Iterator[tuple[Any, T]]:
        """(key, value) of all keys of this instance, in no order."""
        return self._values()


class ReducingState(ReducedOfKey, WholeState, Generic[T]):
    """One value for each key, to which values are added by a function of two: (value so far, new
    value).

        class Total(Bolt):
            amount = reducing_state(operator.add, default=0)

            def process(self, tup):
                self.amount.add(tup["amount"])
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def get(self) -> T: ...
        def add(self, value: T) -> T: ...

    def all_items(self) -> Iterator[tuple[Any, T]]:
        """(key, value) of all keys of this instance, in no order."""
        return self._values()


class ListState(ListOfKey, WholeState, Generic[T]):
    """A list that grows at the end."""

    __slots__ = ()

    if TYPE_CHECKING:

        def get(self) -> list[T]: ...
        def add(self, value: T) -> None: ...

    append = ListOfKey.add

    def add_all(self, values: Iterable[T]) -> None:
        """Add elements at the end."""
        for value in values:
            self.add(value)

    extend = add_all

    def update(self, values: Iterable[T]) -> None:
        """Replace the elements by these values."""
        kept = list(values)
        self.clear()
        self.add_all(kept)

    put = update

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self._table.items(self._current()))

    def all_items(self) -> Iterator[tuple[Any, list[T]]]:
        """(key, elements) of all keys of this instance, in no order of the keys."""
        for key in self._table.all_keys():
            yield shown_key(key), [value for _, value in self._table.items(key)]


class MapState(MapOfKey, WholeState, Generic[K, T]):
    """A dict, saved entry by entry.

    Example:

        class Seen(Bolt):
            urls = map_state()

            def process(self, tup):
                self.urls.put(tup["url"], tup["time_ms"])
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def get(self, key: K, default: Any = None) -> T: ...
        def put(self, key: K, value: T) -> None: ...

    def put_all(self, items: "dict[K, T] | Iterable[tuple[K, T]]") -> None:
        """Set the values of several keys."""
        for key, value in dict(items).items():
            self.put(key, value)

    def items(self) -> list[tuple[K, T]]:
        """All (key, value) of the map, in no order."""
        return self._table.items(self._current())

    def keys(self) -> list[K]:
        """All keys of the map."""
        return [key for key, _ in self.items()]

    def values(self) -> list[T]:
        """All values of the map."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether the map has no entries."""
        return not self.items()

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.items())

    def all_items(self) -> Iterator[tuple[Any, dict[K, T]]]:
        """(key, the map as a dict) of all keys of this instance, in no order."""
        for key in self._table.all_keys():
            yield shown_key(key), dict(self._table.items(key))
