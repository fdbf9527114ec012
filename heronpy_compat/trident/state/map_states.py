"""The three kinds of map states: effects of a replayed batch.

    TransactionalMap      value and txid: an applied batch is skipped, so each attempt must have
                          equal tuples
    OpaqueMap             value, previous value and txid: an applied batch is applied again, to
                          the previous value, so tuples of attempts may differ
    NonTransactionalMap   the value: an applied batch is applied once more

The attempts of an opaque batch may also differ in their keys. Keys written by a failed attempt are
reset before the next attempt; a journal lists the keys, as most databases cannot.

Batches are committed in order of their txids. A key's second update within a batch builds on the
first update.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.state.interfaces import (
    IBackingMap,
    ITupleCollection,
    Key,
    KeysOfBatch,
    MapState,
    Snapshottable,
    Update,
)

GLOBAL_KEY = ("$GLOBAL$",)


@dataclass(frozen=True, slots=True)
class TransactionalValue:
    """A value and its writing transaction.

    Example:

        stored = TransactionalValue(7, 42)
        assert (stored.txid, stored.val) == (7, 42)
    """

    txid: int | None
    val: Any


@dataclass(frozen=True, slots=True)
class OpaqueValue:
    """A value, its writing transaction and the previous value.

    Example:

        stored = OpaqueValue(7, 42, 40)
        assert (stored.curr_txid, stored.curr, stored.prev) == (7, 42, 40)
    """

    curr_txid: int | None
    curr: Any
    prev: Any = None

    def base_of(self, txid: int | None) -> Any:
        """Base value of a transaction's update; TridentError for an outdated transaction."""
        if txid is None or self.curr_txid is None or self.curr_txid < txid:
            return self.curr
        if self.curr_txid == txid:
            return self.prev
        raise TridentError(f"transaction {txid} is behind the state's {self}")

    def updated(self, txid: int | None, value: Any) -> "OpaqueValue":
        """The record with a new value of the transaction."""
        return OpaqueValue(txid, value, self.base_of(txid))


class _BatchMap(MapState):
    """Reads each key once per batch: a second update starts from the first update's value."""

    def __init__(self, backing: IBackingMap) -> None:
        self.backing = backing
        self._txid: int | None = None
        self._written: dict[tuple[Any, ...], Any] = {}
        """Stored values by key, of the batch that is being committed."""
        self.journal: KeysOfBatch | None = None
        """None: keys of failed attempts remain."""

    @classmethod
    def build(cls, backing: IBackingMap) -> "_BatchMap":
        """The state of a backing map."""
        return cls(backing)

    def begin_commit(self, txid: int | None) -> None:
        """See State."""
        self._txid = txid
        self._written.clear()

    def commit(self, txid: int | None) -> None:
        """See State."""
        self._txid = None
        self._written.clear()

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """See ReadOnlyMapState."""
        return [None if stored is None else self._value_of(stored) for stored in self._read(keys)]

    def multi_update(self, keys: Sequence[Key], updates: Sequence[Update]) -> list[Any]:
        """See MapState."""
        changed: dict[tuple[Any, ...], Any] = {}
        values = []
        for key, stored, update in zip(keys, self._read(keys), updates, strict=True):
            name = tuple(key)
            is_written = name in self._written or name in changed
            before = changed.get(name, stored)
            after = self._updated(before, update, is_written)
            if after is not before:
                changed[name] = after
            values.append(self._value_of(after))
        self._write(changed)
        return values

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """See MapState."""
        stored = self._read(keys)
        self._write(
            {
                tuple(key): self._put(before, value)
                for key, before, value in zip(keys, stored, values, strict=True)
            }
        )

    def _read(self, keys: Sequence[Key]) -> list[Any]:
        missing = [key for key in keys if tuple(key) not in self._written]
        read = dict(
            zip(
                map(tuple, missing), self.backing.multi_get(missing) if missing else (), strict=True
            )
        )
        return [self._written.get(tuple(key), read.get(tuple(key))) for key in keys]

    def _write(self, changed: dict[tuple[Any, ...], Any]) -> None:
        if changed:
            self._note_keys(list(changed))
            self._written.update(changed)
            self.backing.multi_put(list(changed), list(changed.values()))

    def _note_keys(self, keys: list[tuple[Any, ...]]) -> None:
        """Record the keys before the write."""

    def _value_of(self, stored: Any) -> Any:
        raise NotImplementedError

    def _updated(self, stored: Any, update: Update, is_written: bool) -> Any:
        """The record after an update; `is_written`: whether the batch has already written the
        key."""
        raise NotImplementedError

    def _put(self, stored: Any, value: Any) -> Any:
        raise NotImplementedError


class NonTransactionalMap(_BatchMap):
    """Plain values: each attempt of a batch counts.

    Example:

        class Factory(StateFactory):
            def make_state(self, conf, context, partition_index, num_partitions):
                return NonTransactionalMap(Table(conf["table.url"]))
    """

    def _value_of(self, stored: Any) -> Any:
        return stored

    def _updated(self, stored: Any, update: Update, is_written: bool) -> Any:
        return update(stored)

    def _put(self, stored: Any, value: Any) -> Any:
        return value


class TransactionalMap(_BatchMap):
    """Values with their transaction: exactly-once if the attempts of a batch have equal tuples.

    Example:

        class Factory(StateFactory):
            def make_state(self, conf, context, partition_index, num_partitions):
                return TransactionalMap(Table(conf["table.url"]))
    """

    def _value_of(self, stored: Any) -> Any:
        return stored.val

    def _updated(self, stored: Any, update: Update, is_written: bool) -> Any:
        if stored is None:
            return TransactionalValue(self._txid, update(None))
        if self._txid is not None and stored.txid == self._txid and not is_written:
            return stored
        return TransactionalValue(self._txid, update(stored.val))

    def _put(self, stored: Any, value: Any) -> Any:
        return TransactionalValue(self._txid, value)


class OpaqueMap(_BatchMap):
    """Values with the previous value: exactly-once for any tuples of the attempts."""

    def discard_attempt(self, txid: int) -> bool:
        """See State."""
        keys = [] if self.journal is None else self.journal.keys_of(txid)
        stored = self.backing.multi_get(keys) if keys else []
        outdated = {
            tuple(key): OpaqueValue(txid, value.prev, value.prev)
            for key, value in zip(keys, stored, strict=True)
            if value is not None and value.curr_txid == txid
        }
        if outdated:
            self.backing.multi_put(list(outdated), list(outdated.values()))
        return bool(outdated)

    def _note_keys(self, keys: list[tuple[Any, ...]]) -> None:
        if self.journal is not None and self._txid is not None:
            self.journal.will_write(self._txid, [*self._written, *keys])

    def _value_of(self, stored: Any) -> Any:
        return stored.curr

    def _updated(self, stored: Any, update: Update, is_written: bool) -> Any:
        if stored is None:
            return OpaqueValue(self._txid, update(None))
        base = stored.curr if is_written else stored.base_of(self._txid)
        return stored.updated(self._txid, update(base))

    def _put(self, stored: Any, value: Any) -> Any:
        return (
            OpaqueValue(self._txid, value) if stored is None else stored.updated(self._txid, value)
        )


class SnapshottableMap(MapState, Snapshottable, ITupleCollection):
    """A map state that is also a single value: the value of a reserved key.

    Example:

        class Factory(StateFactory):
            def make_state(self, conf, context, partition_index, num_partitions):
                return SnapshottableMap(TransactionalMap(Table(conf["table.url"])))
    """

    def __init__(self, states: MapState, global_key: Key = GLOBAL_KEY) -> None:
        self.states = states
        self._key = [tuple(global_key)]

    def discard_attempt(self, txid: int) -> bool:
        """See State."""
        return self.states.discard_attempt(txid)

    def begin_commit(self, txid: int | None) -> None:
        """See State."""
        self.states.begin_commit(txid)

    def commit(self, txid: int | None) -> None:
        """See State."""
        self.states.commit(txid)

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """See ReadOnlyMapState."""
        return self.states.multi_get(keys)

    def multi_update(self, keys: Sequence[Key], updates: Sequence[Update]) -> list[Any]:
        """See MapState."""
        return self.states.multi_update(keys, updates)

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """See MapState."""
        self.states.multi_put(keys, values)

    def get(self) -> Any:
        """See ReadOnlySnapshottable."""
        return self.multi_get(self._key)[0]

    def update(self, update: Update) -> Any:
        """See Snapshottable."""
        return self.multi_update(self._key, [update])[0]

    def set(self, value: Any) -> None:
        """See Snapshottable."""
        self.multi_put(self._key, [value])

    def get_tuples(self) -> list[list[Any]]:
        """See ITupleCollection; TridentError for a backing map that cannot list its keys."""
        backing = getattr(self.states, "backing", None)
        listed = getattr(backing, "all_keys", None)
        if listed is None:
            raise TridentError(f"{type(backing).__name__} has no all_keys(): it cannot be listed")
        keys = list(listed())
        values = self.multi_get(keys)
        return [[*key, value] for key, value in zip(keys, values, strict=True)]
