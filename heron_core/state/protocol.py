"""What a state backend is: tables of entries by key, and snapshots of all of them.

A value or reducing state has one entry for a key, whose `sub` is None; a list state one for each
element by its index; a map state one for each key of the map. Tables know nothing of current keys,
time to live, or what a state does with its values (heron_core.state.states).
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from heron_core.state.file_snapshot import StateBytes


class Absent:
    """There is no such entry; None is a value as any other."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class StateKind(StrEnum):
    """What kind of state a name stands for; saved with it, and checked when it is restored."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    MERGEABLE = "mergeable"
    """Values of a monoid, packed."""
    PARTIAL = "partial"
    """The same of each task: what belongs to no key is merged where tasks end."""
    PLAIN = "plain"
    """Heron's own: keys and values of one task, which are divided by no key."""
    DEADLINES = "deadlines"
    """When the entries of another state expire."""
    TIMERS = "timers"
    """When a key is to be called; each time is a `sub` of it."""
    WINDOWS = "windows"
    """What a window bolt keeps of a key."""
    WATERMARK = "watermark"
    """How far a task is in event time: of several tasks', the least is safe for all their keys."""

    @property
    def is_nested(self) -> bool:
        """Whether a key has many entries."""
        return self in (StateKind.LIST, StateKind.MAP, StateKind.TIMERS, StateKind.PARTIAL)


@dataclass(frozen=True, slots=True)
class TableId:
    """A table: the name of its state, and its kind."""

    name: str
    kind: StateKind
    nested: bool
    """Whether a key has many entries, each with a `sub`."""
    indexed: bool = False
    """Whether each `sub` is an index of a list."""


class StateTable(Protocol):
    """The entries of one state of one task."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """The value, or ABSENT."""

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """Set a value. StateError at the first value of a type that cannot be saved."""

    def remove(self, key: Any, sub: Any = None) -> None:
        """Remove an entry, if it is there."""

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """(sub, value) of all entries of a key; in the order of a list's indices."""

    def last(self, key: Any) -> Any:
        """The last index of a key's list, or None."""

    def all_keys(self) -> Iterator[Any]:
        """All keys, each once, as they were at the call: the table may change meanwhile."""

    def clear(self) -> None:
        """Remove all entries of all keys."""


class StateBackend(Protocol):
    """All tables of one task."""

    def table(self, wanted: TableId) -> StateTable:
        """The table, with what was restored of it. StateError if it was saved as another kind."""

    def names(self) -> list[TableId]:
        """The tables that there are."""

    def snapshot(self) -> bytes:
        """All of the state, as it is now; cheap where little has changed since the last one. One
        in memory is complete in its bytes."""

    def deferred_snapshot(self) -> StateBytes:
        """The same for a checkpoint store, which takes files of it; what takes long is left to
        whoever needs the bytes."""

    def restore(self, snapshot: bytes) -> None:
        """All of the state is what it was at that snapshot; the same tables stay in use.

        StateError if this is no snapshot, or one of another backend.
        """

    def take_groups(
        self, previous: Any, table: TableId, whole: Set[int], others: Set[int]
    ) -> Iterator[Any]:
        """Take all entries of the `whole` key groups from another backend of this kind, where that
        is cheaper than key by key; the keys of its table that are still to be looked at, those of
        `others` among them."""

    def another(self) -> "StateBackend":
        """An empty one of the same kind, which is to be closed."""

    def close(self) -> None:
        """The task ends."""
