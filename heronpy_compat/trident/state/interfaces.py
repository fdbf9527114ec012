"""What a state of Trident is, for those who write one."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Key = Sequence[Any]
"""The values of the grouping fields."""
Update = Callable[[Any], Any]
"""From the value of a key, None if there is none, to the next one."""


class State:
    """Something that is updated batch by batch, in the order of their transaction ids."""

    def discard_attempt(self, txid: int) -> bool:
        """Undo what an attempt of this batch has changed that failed behind its updates, and may
        have had other tuples: whether something is undone. Storm's states have no such call."""
        return False

    def begin_commit(self, txid: int | None) -> None:
        """The updates of this batch come next; None: of a stream without transactions."""

    def commit(self, txid: int | None) -> None:
        """All updates of the batch are made: what counts has to be durable on return."""


class ReadOnlyMapState(State):
    """A state that is looked up by key."""

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """The value of each key, None where there is none."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_get(self, keys)")


class MapState(ReadOnlyMapState):
    """A state of values by key."""

    def multi_update(self, keys: Sequence[Key], updates: Sequence[Update]) -> list[Any]:
        """The new value of each key, which has become its value."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_update(...)")

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """Set the value of each key."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_put(...)")


class ReadOnlySnapshottable(State):
    """A state of one value."""

    def get(self) -> Any:
        """The value, None if there is none."""
        raise NotImplementedError(f"{type(self).__name__} must define get(self)")


class Snapshottable(ReadOnlySnapshottable):
    """A state of one value that is updated."""

    def update(self, update: Update) -> Any:
        """The new value, which has become the value."""
        raise NotImplementedError(f"{type(self).__name__} must define update(self, update)")

    def set(self, value: Any) -> None:
        """Set the value."""
        raise NotImplementedError(f"{type(self).__name__} must define set(self, value)")


class ITupleCollection(State):
    """A state whose rows can be listed."""

    def get_tuples(self) -> list[list[Any]]:
        """All rows: the key's values and the value."""
        raise NotImplementedError(f"{type(self).__name__} must define get_tuples(self)")


class IBackingMap(Protocol):
    """Where a map state has its values: a database, say. Values are those of its kind of map:
    plain, TransactionalValue or OpaqueValue."""

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """The stored value of each key, None where there is none."""

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """Store the value of each key; durable on return."""


class KeysOfBatch(Protocol):
    """Which keys a batch has written, also in a process before this one."""

    def keys_of(self, txid: int) -> list[Key]:
        """The keys that the newest attempt of a batch has written, or was about to write."""

    def will_write(self, txid: int, keys: Sequence[Key]) -> None:
        """A batch writes keys next."""


class StateFactory:
    """Makes the state of one partition."""

    def make_state(
        self, conf: dict[str, Any], context: Any, partition_index: int, num_partitions: int
    ) -> State:
        """Called once in each process; `context` is its TopologyContext."""
        raise NotImplementedError(f"{type(self).__name__} must define make_state(...)")
