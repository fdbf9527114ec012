"""Interfaces of Trident states, for authors of states."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from heron_api.java_names import CalledByEngine

Key = Sequence[Any]
"""The values of the grouping fields."""
Update = Callable[[Any], Any]
"""Function from a key's value (None for a new key) to the next value."""


class State(CalledByEngine):
    """Something that is updated batch by batch, in the order of their transaction ids.

    Example:

        class Log(State):
            def commit(self, txid):
                print("batch", txid, "is stored")
    """

    def discard_attempt(self, txid: int) -> bool:
        """Undo the changes of a failed attempt of the batch, whose tuples may have differed; return
        whether changes were undone. An extension of Storm's interface."""
        return False

    def begin_commit(self, txid: int | None) -> None:
        """Called before the batch's updates; None for a stream without transactions."""

    def commit(self, txid: int | None) -> None:
        """All updates of the batch are made: what counts has to be durable on return."""


class ReadOnlyMapState(State):
    """A state read by key."""

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """The value of each key; None for an unknown key."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_get(self, keys)")


class MapState(ReadOnlyMapState):
    """A state of values by key.

    Example:

        class Cache(MapState):
            def __init__(self):
                self.values = {}

            def multi_get(self, keys):
                return [self.values.get(tuple(key)) for key in keys]

            def multi_put(self, keys, values):
                self.values |= zip(map(tuple, keys), values)

            def multi_update(self, keys, updates):
                found = zip(updates, self.multi_get(keys))
                self.multi_put(keys, [update(value) for update, value in found])
                return self.multi_get(keys)
    """

    def multi_update(self, keys: Sequence[Key], updates: Sequence[Update]) -> list[Any]:
        """Update and return the value of each key."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_update(...)")

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """Set the value of each key."""
        raise NotImplementedError(f"{type(self).__name__} must define multi_put(...)")


class ReadOnlySnapshottable(State):
    """A state of one value.

    Example:

        class Constant(ReadOnlySnapshottable):
            def get(self):
                return 42
    """

    def get(self) -> Any:
        """The value, or None."""
        raise NotImplementedError(f"{type(self).__name__} must define get(self)")


class Snapshottable(ReadOnlySnapshottable):
    """An updatable state of one value.

    Example:

        class Total(Snapshottable):
            value = None

            def get(self):
                return self.value

            def set(self, value):
                self.value = value

            def update(self, update):
                self.set(update(self.value))
                return self.value
    """

    def update(self, update: Update) -> Any:
        """Update and return the value."""
        raise NotImplementedError(f"{type(self).__name__} must define update(self, update)")

    def set(self, value: Any) -> None:
        """Set the value."""
        raise NotImplementedError(f"{type(self).__name__} must define set(self, value)")


class ITupleCollection(State):
    """A state whose rows can be listed.

    Example:

        class Rows(ITupleCollection):
            def __init__(self, values):
                self.values = values

            def get_tuples(self):
                return [[key, value] for key, value in self.values.items()]
    """

    def get_tuples(self) -> list[list[Any]]:
        """All rows: the key's values and the value."""
        raise NotImplementedError(f"{type(self).__name__} must define get_tuples(self)")


class IBackingMap(Protocol):
    """Storage of a map state, e.g. a database. Values are of the map's kind: plain,
    TransactionalValue or OpaqueValue.

    Example:

        class Table:
            def __init__(self):
                self.rows = {}

            def multi_get(self, keys):
                return [self.rows.get(tuple(key)) for key in keys]

            def multi_put(self, keys, values):
                self.rows |= zip(map(tuple, keys), values)
    """

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """The stored value of each key; None for an unknown key."""

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """Store the value of each key; durable on return."""


class KeysOfBatch(Protocol):
    """The keys written by a batch, including writes of a previous process."""

    def keys_of(self, txid: int) -> list[Key]:
        """The keys that the newest attempt of a batch has written, or was about to write."""

    def will_write(self, txid: int, keys: Sequence[Key]) -> None:
        """A batch writes keys next."""


class StateFactory(CalledByEngine):
    """Creates the state of one partition."""

    def make_state(
        self, conf: dict[str, Any], context: Any, partition_index: int, num_partitions: int
    ) -> State:
        """Called once in each process; `context` is the TopologyContext."""
        raise NotImplementedError(f"{type(self).__name__} must define make_state(...)")
