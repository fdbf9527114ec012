"""Protocol of state backends: tables of entries by key, and snapshots of all tables.

A value or reducing state has one entry for a key, with `sub` None; a list state has one entry for
each element, by index; a map state has one for each key of the map. Tables know nothing of current
keys, of times to live or of a state's use of its values (heron_core.state.states).
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from heron_core.state.file_snapshot import StateBytes


class Absent:
    """Stands for a missing entry; None is a normal value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class StateKind(StrEnum):
    """Kind of the state behind a name; saved with the state and checked by a restore."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    MERGEABLE = "mergeable"
    """Values of a monoid, packed."""
    PARTIAL = "partial"
    """The same of each task: what belongs to no key is merged where tasks end."""
    PLAIN = "plain"
    """Heron's own state: keys and values of one task, which no key divides."""
    DEADLINES = "deadlines"
    """When the entries of another state expire."""
    TIMERS = "timers"
    """Times at which a key is to be called; each time is a `sub` of the key."""
    WINDOWS = "windows"
    """The entries of a window bolt for a key."""
    WATERMARK = "watermark"
    """How far a task is in event time: of several tasks', the least is safe for all their keys."""

    @property
    def is_nested(self) -> bool:
        """Whether a key has many entries."""
        return self in (StateKind.LIST, StateKind.MAP, StateKind.TIMERS, StateKind.PARTIAL)


@dataclass(frozen=True, slots=True)
class TableId:
    """A table: name and kind of its state."""

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
        """Remove an entry, if present."""

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """(sub, value) of all entries of a key; in the order of a list's indices."""

    def last(self, key: Any) -> Any:
        """Last index of a key's list; None for a key without a list."""

    def all_keys(self) -> Iterator[Any]:
        """All keys at the time of the call, each once: the table may change meanwhile."""

    def clear(self) -> None:
        """Remove all entries of all keys."""


class StateBackend(Protocol):
    """All tables of one task."""

    def table(self, wanted: TableId) -> StateTable:
        """The table with its restored entries. StateError if the table was saved as another
        kind."""

    def names(self) -> list[TableId]:
        """Ids of the existing tables."""

    def snapshot(self) -> bytes:
        """All of the state as it is now; cheap if little has changed since the last snapshot. The
        bytes of a backend in memory are the complete snapshot."""

    def deferred_snapshot(self) -> StateBytes:
        """The same for a checkpoint store, which takes files of the state; slow work is left to the
        first reader of the bytes."""

    def restore(self, snapshot: bytes) -> None:
        """Set all of the state to its content at the snapshot; the tables in use stay valid.

        StateError for invalid bytes and for a snapshot of another backend.
        """

    def take_groups(
        self, previous: Any, table: TableId, whole: Set[int], others: Set[int]
    ) -> Iterator[Any]:
        """Take all entries of the `whole` key groups from another backend of this kind, where that
        is cheaper than key by key; the keys of its table that are still to be looked at, those of
        `others` among them."""

    def another(self) -> "StateBackend":
        """An empty backend of the same kind, to be closed by the caller."""

    def close(self) -> None:
        """The task ends."""
