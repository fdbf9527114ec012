"""States of monoids: a value of each key (MergeableState), or each task's part of a common value
(PartialState)."""

from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

from heron_core.native import KeyedState, TupleKey
from heron_core.state.monoid import Monoid, Stored, added, merged, stored
from heron_core.state.protocol import ABSENT, StateTable
from heron_core.state.states import WholeState

M = TypeVar("M")


class MergeableState(KeyedState, WholeState, Generic[M]):
    """A monoid's value of each key."""

    __slots__ = ("_monoid",)

    def __init__(self, table: StateTable, current: TupleKey, monoid: Monoid[M]) -> None:
        KeyedState.__init__(self, table, current)
        self._monoid = monoid

    def for_key(self, key: Any) -> Self:
        """The state of a given key."""
        return type(self)(self._table, self._current.at(key), self._monoid)

    def get(self) -> M:
        """The monoid's value, or the zero. Change the value by `add` and `merge`."""
        value = self._table.get(self._current())
        return self._monoid.zero() if value is ABSENT else value

    def add(self, element: Any) -> None:
        """Add an element."""
        self._table.put(self._current(), added(self._monoid, self.get(), element))

    def merge(self, other: Any) -> None:
        """Merge another value of the monoid, or the result of `partial()` of another task."""
        self._table.put(self._current(), merged(self._monoid, self.get(), other))

    def estimate(self) -> Any:
        """The monoid's estimate, as plain data."""
        return self._monoid.estimate(self.get())

    def partial(self) -> Stored:
        """The value as plain data for a tuple, and for `merge` at another task."""
        return stored(self._monoid, self.get())

    def take(self) -> Stored:
        """As `partial`; then the state begins anew with the next element."""
        taken = self.partial()
        self.clear()
        return taken

    def all_items(self) -> Iterator[tuple[Any, M]]:
        """(key, value) of all keys of this instance, in no order."""
        return self._values()

    def all_estimates(self) -> Iterator[tuple[Any, Any]]:
        """(key, estimate) of all keys of this instance, in no order."""
        return ((key, self._monoid.estimate(value)) for key, value in self._values())


class PartialState(MergeableState[M]):
    """The task's part of a value of all tasks of the component.

    The key of the tuple has no influence: a task has a single part, and further parts by `for_key`.
    When the component gets fewer tasks, the parts of ended tasks are merged into the remaining
    tasks' parts.
    """

    __slots__ = ()
