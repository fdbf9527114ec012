"""In-memory map that records changes per batch and so survives its process.

    state/BOLT/NUMBER/INDEX-of-TOTAL/TXID    (is_whole, [[key, stored value], …])

A record has the changes of one batch, or the whole map. A whole map replaces all earlier records,
and is written when the changes since the last whole map are as many as the map's keys.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.state.interfaces import Key, State, StateFactory
from heronpy_compat.trident.state.map_states import (
    NonTransactionalMap,
    OpaqueMap,
    OpaqueValue,
    SnapshottableMap,
    TransactionalMap,
    TransactionalValue,
)

_Row = list[Any]
_KINDS = {
    "opaque": OpaqueMap,
    "transactional": TransactionalMap,
    "non-transactional": NonTransactionalMap,
}


class RecordedMap:
    """An IBackingMap in memory."""

    def __init__(self, records: NumberedRecords) -> None:
        self._records = records
        self._values: dict[tuple[Any, ...], Any] = {}
        self._changed: dict[tuple[Any, ...], None] = {}
        self._rows_since_whole = 0
        self._newest = 0
        """The newest transaction that wrote an opaque value."""
        for number in records.numbers:
            is_whole, rows = records.get(number)
            if is_whole:
                self._values.clear()
                self._rows_since_whole = 0
            self._rows_since_whole += len(rows)
            self._values.update((tuple(key), _stored(form)) for key, form in rows)
            self._newest = number

    def multi_get(self, keys: Sequence[Key]) -> list[Any]:
        """See IBackingMap."""
        return [self._values.get(tuple(key)) for key in keys]

    def multi_put(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        """See IBackingMap; durable with the next `record`."""
        for key, value in zip(keys, values, strict=True):
            self._values[tuple(key)] = value
            if isinstance(value, OpaqueValue):
                self._newest = max(self._newest, value.curr_txid or 0)
            self._changed[tuple(key)] = None

    def keys_of(self, txid: int) -> list[Key]:
        """See KeysOfBatch: each value carries its writer."""
        if txid > self._newest:
            return []
        return [
            key
            for key, value in self._values.items()
            if isinstance(value, OpaqueValue) and value.curr_txid == txid
        ]

    def will_write(self, txid: int, keys: Sequence[Key]) -> None:
        """See KeysOfBatch."""

    def all_keys(self) -> list[tuple[Any, ...]]:
        """All keys, for a listed state."""
        return list(self._values)

    def record(self, txid: int) -> None:
        """Record the changes since the last call."""
        if not self._changed:
            return
        before = self._records.numbers
        if before and before[-1] > txid:
            raise TridentError(f"transaction {txid} is behind the recorded {before[-1]}")
        is_repeated = bool(before) and before[-1] == txid
        is_whole = is_repeated or self._rows_since_whole + len(self._changed) >= len(self._values)
        rows = self._rows(self._values if is_whole else self._changed)
        self._records.put(txid, [is_whole, rows])
        self._changed.clear()
        self._rows_since_whole = len(rows) + (0 if is_whole else self._rows_since_whole)
        if is_whole:
            self._records.remove_below(txid)

    def _rows(self, keys: Iterable[tuple[Any, ...]]) -> list[_Row]:
        return [[list(key), _form(self._values[key])] for key in keys]


def _form(stored: Any) -> _Row:
    if isinstance(stored, TransactionalValue):
        return [stored.txid, stored.val]
    if isinstance(stored, OpaqueValue):
        return [stored.curr_txid, stored.curr, stored.prev]
    return [stored]


def _stored(form: _Row) -> Any:
    if len(form) == 1:
        return form[0]
    return TransactionalValue(*form) if len(form) == 2 else OpaqueValue(*form)


class MemoryMapState(SnapshottableMap):
    """An in-memory state, opaque as in Storm unless the factory sets another kind.

    The state survives its process: `commit` records the batch's changes. Storm's state is lost with
    the worker.
    """

    Factory: ClassVar[Callable[..., StateFactory]]
    """Of a kind, opaque by default: `MemoryMapState.Factory()`."""

    def __init__(self, recorded: RecordedMap, kind: str) -> None:
        states = _KINDS[kind](recorded)
        states.journal = recorded
        super().__init__(states)
        self._recorded = recorded

    def commit(self, txid: int | None) -> None:
        """See State."""
        super().commit(txid)
        if txid is not None:
            self._recorded.record(txid)

    @staticmethod
    def opaque() -> StateFactory:
        """A factory of states of the kind OpaqueMap."""
        return MemoryMapStateFactory("opaque")

    @staticmethod
    def transactional() -> StateFactory:
        """A factory of states of the kind TransactionalMap."""
        return MemoryMapStateFactory("transactional")

    @staticmethod
    def non_transactional() -> StateFactory:
        """A factory of states of the kind NonTransactionalMap."""
        return MemoryMapStateFactory("non-transactional")

    nonTransactional = non_transactional


@dataclass(frozen=True)
class MemoryMapStateFactory(StateFactory):
    """Creates MemoryMapStates; Storm's name is `MemoryMapState.Factory`."""

    kind: str = "opaque"

    def make_state(
        self, conf: dict[str, Any], context: Any, partition_index: int, num_partitions: int
    ) -> State:
        """See StateFactory; TridentError if the number of partitions has changed, as values of
        other partitions would be missing."""
        store, born_ms = context.get_run_store(), context.get_incarnation().born_ms
        folder = f"state/{conf[STATE_NAME]}"
        total = NumberedRecords(store, f"{folder}/partitions", born_ms)
        if not total.has(0):
            total.put(0, num_partitions)
        if total.get(0) != num_partitions:
            raise TridentError(
                f"{context.get_component_id()}: its MemoryMapState has {total.get(0)} "
                f"partitions, which cannot be divided into {num_partitions}"
            )
        records = NumberedRecords(store, f"{folder}/{partition_index}", born_ms)
        return MemoryMapState(RecordedMap(records), self.kind)


MemoryMapState.Factory = MemoryMapStateFactory
STATE_NAME = "trident.state.name"
"""Number of the factory's state within the topology, equal in each run."""
