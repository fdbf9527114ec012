"""Execution of each kind of spout, in the coordinator's task and in the spout's tasks.

Metadata of a batch is stored before or after its tuples are emitted, depending on the kind:

    transactional   with the first attempt; each later attempt uses the stored metadata
    opaque          when the batch is committed; until then each attempt has its own
"""

from collections.abc import Sequence
from typing import Any, Protocol

from heronpy_compat.trident.errors import FailedException, TridentError
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.numbered_records import NumberedRecords
from heronpy_compat.trident.operations import TridentCollector
from heronpy_compat.trident.spouts import (
    BatchCoordinator,
    IBatchSpout,
    ICommitterTridentSpout,
    IOpaquePartitionedTridentSpout,
    IPartitionedTridentSpout,
    ITridentSpout,
)


class SpoutExecutor(Protocol):
    """Execution of a spout in one of its tasks."""

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        """Emit the task's part of an attempt."""

    def commit(self, attempt: TransactionAttempt) -> None:
        """Commit the batch; FailedException if the task has not emitted the attempt."""

    def success(self, attempt: TransactionAttempt) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class _OfPartitions(BatchCoordinator):
    """Partitions of a batch; a replay of a transactional batch has equal partitions."""

    def __init__(self, coordinator: Any, is_opaque: bool) -> None:
        self._inner = coordinator
        self._is_opaque = is_opaque

    def is_ready(self, txid: int) -> bool:
        return bool(self._inner.is_ready(txid))

    def is_finished(self, txid: int) -> bool:
        return bool(self._inner.is_finished(txid))

    def close(self) -> None:
        self._inner.close()

    def initialize_transaction(self, txid: int, previous: Any, current: Any) -> Any:
        if current is not None and not self._is_opaque:
            return current
        return self._inner.get_partitions_for_batch()


class _OfBatches(BatchCoordinator):
    def __init__(self, spout: IBatchSpout) -> None:
        self._spout = spout

    def is_finished(self, txid: int) -> bool:
        return self._spout.is_finished(txid)

    def initialize_transaction(self, txid: int, previous: Any, current: Any) -> Any:
        return None


def coordinator_of(name: str, spout: Any, conf: dict[str, Any], context: Any) -> Any:
    """The BatchCoordinator of a spout of any kind."""
    if isinstance(spout, ITridentSpout):
        return spout.get_coordinator(name, conf, context)
    if isinstance(spout, IBatchSpout):
        return _OfBatches(spout)
    is_opaque = isinstance(spout, IOpaquePartitionedTridentSpout)
    return _OfPartitions(spout.get_coordinator(conf, context), is_opaque)


def commits(spout: Any) -> bool:
    """Whether a spout takes part in commits."""
    return isinstance(spout, (IOpaquePartitionedTridentSpout, ICommitterTridentSpout))


def executor_of(name: str, spout: Any, conf: dict[str, Any], context: Any) -> SpoutExecutor:
    """The executor of a spout of any kind."""
    if isinstance(spout, IBatchSpout):
        return _BatchExecutor(spout, conf, context)
    if isinstance(spout, ITridentSpout):
        return _GeneralExecutor(spout.get_emitter(name, conf, context), commits(spout))
    if isinstance(spout, IPartitionedTridentSpout):
        return _TransactionalExecutor(name, spout.get_emitter(conf, context), context)
    if isinstance(spout, IOpaquePartitionedTridentSpout):
        return _OpaqueExecutor(name, spout.get_emitter(conf, context), context)
    raise TridentError(f"{name}: {spout!r} is not a spout of Trident")


class _BatchExecutor:
    def __init__(self, spout: IBatchSpout, conf: dict[str, Any], context: Any) -> None:
        self._spout = spout
        spout.open(conf, context)
        self.close = spout.close

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        self._spout.emit_batch(attempt.txid, collector)

    def commit(self, attempt: TransactionAttempt) -> None:
        raise AssertionError("a batch spout does not commit")

    def success(self, attempt: TransactionAttempt) -> None:
        self._spout.ack(attempt.txid)


class _GeneralExecutor:
    def __init__(self, emitter: Any, is_committer: bool) -> None:
        self._emitter = emitter
        self._is_committer = is_committer
        self._emitted: dict[int, TransactionAttempt] = {}
        self.close = emitter.close

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        self._emitter.emit_batch(attempt, metadata, collector)
        if self._is_committer:
            self._emitted[attempt.txid] = attempt

    def commit(self, attempt: TransactionAttempt) -> None:
        if self._emitted.pop(attempt.txid, None) != attempt:
            raise FailedException(f"{attempt} was emitted by a previous process")
        self._emitter.commit(attempt)

    def success(self, attempt: TransactionAttempt) -> None:
        self._emitter.success(attempt)


class _Partitions:
    """The partitions of the task, with the records of each."""

    def __init__(self, name: str, emitter: Any, context: Any) -> None:
        self._name = name
        self._emitter = emitter
        self._context = context
        self._seen: Any = None
        self.mine: list[Any] = []
        self._records: dict[str, NumberedRecords] = {}

    def refresh(self, metadata: Any) -> None:
        """The partitions of a batch."""
        tasks = self._context.get_component_tasks(self._context.get_component_id())
        index, seen = self._context.get_this_task_index(), (metadata, tasks)
        if seen == self._seen:
            return
        self._seen = seen
        ordered: Sequence[Any] = self._emitter.get_ordered_partitions(metadata)
        self.mine = list(ordered[index :: len(tasks)])
        # A partition may have moved from a different task: read the stored records again.
        self._records.clear()
        self._emitter.refresh_partitions(self.mine)

    def records(self, partition: Any) -> NumberedRecords:
        """Read the records of a partition."""
        return self.records_named(partition_name(partition))

    def records_named(self, name: str) -> NumberedRecords:
        """The records of the partition with the name."""
        if name not in self._records:
            self._records[name] = NumberedRecords(
                self._context.get_run_store(),
                f"spout/{self._name}/partition-{name}",
                self._context.get_incarnation().born_ms,
            )
        return self._records[name]


def partition_name(partition: Any) -> str:
    """A partition as part of the name of a record."""
    named = partition.get_id() if hasattr(partition, "get_id") else partition
    text = str(named)
    plain = all(each.isalnum() or each in "-_." for each in text)
    return text if plain and text else text.encode().hex()


class _TransactionalExecutor:
    def __init__(self, name: str, emitter: Any, context: Any) -> None:
        self._emitter = emitter
        self._partitions = _Partitions(name, emitter, context)
        self.close = emitter.close

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        self._partitions.refresh(metadata)
        for partition in self._partitions.mine:
            self._emit_partition(attempt, partition, collector)

    def _emit_partition(
        self, attempt: TransactionAttempt, partition: Any, collector: TridentCollector
    ) -> None:
        records, txid = self._partitions.records(partition), attempt.txid
        if records.has(txid):
            if (stored := records.get(txid)) is not None:
                self._emitter.emit_partition_batch(attempt, collector, partition, stored[0])
        elif records.numbers and records.numbers[-1] > txid:
            # A later batch was emitted after the previous batch, in place of the current batch.
            records.put(txid, None)
        else:
            last = self._last(records, txid)
            stored = self._emitter.emit_partition_batch_new(attempt, collector, partition, last)
            records.put(txid, [stored])

    def _last(self, records: NumberedRecords, txid: int) -> Any:
        lower = [number for number in records.numbers if number < txid and records.get(number)]
        return records.get(lower[-1])[0] if lower else None

    def commit(self, attempt: TransactionAttempt) -> None:
        raise AssertionError("a transactional spout does not commit")

    def success(self, attempt: TransactionAttempt) -> None:
        for partition in self._partitions.mine:
            records = self._partitions.records(partition)
            # An empty record has no metadata for the batch behind it.
            if records.get(attempt.txid):
                records.remove_below(attempt.txid)


class _OpaqueExecutor:
    def __init__(self, name: str, emitter: Any, context: Any) -> None:
        self._emitter = emitter
        self._partitions = _Partitions(name, emitter, context)
        self._emitted: dict[int, tuple[TransactionAttempt, dict[str, Any]]] = {}
        """Transaction id -> the newest attempt, and the metadata of its partitions."""
        self.close = emitter.close

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        self._partitions.refresh(metadata)
        self._emitted.pop(attempt.txid, None)
        before = [txid for txid in self._emitted if txid < attempt.txid]
        previous = self._emitted[max(before)][1] if before else {}
        emitted = {}
        for partition in self._partitions.mine:
            name, records = partition_name(partition), self._partitions.records(partition)
            records.remove(attempt.txid)  # of a commit that failed elsewhere
            last = previous[name] if name in previous else self._last(records, attempt.txid)
            emitted[name] = self._emitter.emit_partition_batch(attempt, collector, partition, last)
        self._emitted[attempt.txid] = attempt, emitted

    def _last(self, records: NumberedRecords, txid: int) -> Any:
        stored = records.before(txid)
        return None if stored is None else stored[0]

    def commit(self, attempt: TransactionAttempt) -> None:
        emitted = self._emitted.get(attempt.txid)
        if emitted is None or emitted[0] != attempt:
            raise FailedException(f"{attempt} was emitted by a previous process")
        for name, metadata in emitted[1].items():
            self._partitions.records_named(name).put(attempt.txid, [metadata])

    def success(self, attempt: TransactionAttempt) -> None:
        for txid in [each for each in self._emitted if each <= attempt.txid]:
            del self._emitted[txid]
        for partition in self._partitions.mine:
            records = self._partitions.records(partition)
            if records.has(attempt.txid):
                records.remove_below(attempt.txid)
