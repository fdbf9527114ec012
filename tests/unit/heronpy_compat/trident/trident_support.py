"""Spouts and operations of Trident for tests, whose every tuple is known."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from heronpy_compat.trident import (
    FailedException,
    Function,
    IBatchSpout,
    IOpaquePartitionedTridentSpout,
    IPartitionedTridentSpout,
    OpaqueEmitter,
    PartitionsCoordinator,
    TransactionalEmitter,
    TransactionAttempt,
    TridentCollector,
    TridentTuple,
)

INTERVAL = "topology.trident.batch.emit.interval.millis"
AT_ONCE = {INTERVAL: 0}
SEEN: list[list[Any]] = []
"""Tuples passed to `see`: in the tester all tasks run in one process."""


def see(tup: TridentTuple) -> None:
    """Remember a tuple."""
    SEEN.append(list(tup.values))


class Split(Function):
    """The words of a sentence."""

    def execute(self, tup: TridentTuple, collector: TridentCollector) -> None:
        """Emit each word."""
        for word in tup[0].split():
            collector.emit([word])


class FailBatches(Function):
    """Fails the first attempts of some batches, after `limit` tuples."""

    left: Counter[str] = Counter()
    """Name -> how often it fails yet."""

    def __init__(self, name: str = "failing") -> None:
        self._name = name

    def execute(self, tup: TridentTuple, collector: TridentCollector) -> None:
        """FailedException if that is still to be."""
        if self.left[self._name] > 0:
            self.left[self._name] -= 1
            raise FailedException("as the test says")
        collector.emit([])


class _Partitions(PartitionsCoordinator):
    def __init__(self, partitions: Sequence[Sequence[Any]], batches: int) -> None:
        self._partitions = partitions
        self._batches = batches

    def get_partitions_for_batch(self) -> Any:
        return list(range(len(self._partitions)))

    def is_finished(self, txid: int) -> bool:
        return txid > self._batches


class _Emitter(TransactionalEmitter):
    def __init__(self, partitions: Sequence[Sequence[Any]], size: int, shrinks: bool) -> None:
        self._partitions = partitions
        self._size = size
        self._shrinks = shrinks

    def emit_partition_batch_new(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        begin = 0 if last is None else last[1]
        missing = attempt.attempt_id % self._size if self._shrinks else 0
        metadata = [begin, begin + self._size - missing]
        self.emit_partition_batch(attempt, collector, partition, metadata)
        return metadata

    def emit_partition_batch(
        self,
        attempt: TransactionAttempt,
        collector: TridentCollector,
        partition: Any,
        metadata: Any,
    ) -> None:
        begin, end = metadata
        for value in self._partitions[partition][begin:end]:
            collector.emit([value])


class _OpaqueEmitter(OpaqueEmitter):
    def __init__(self, partitions: Sequence[Sequence[Any]], size: int) -> None:
        self._partitions = partitions
        self._size = size

    def emit_partition_batch(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        begin = 0 if last is None else last
        end = begin + self._size - (attempt.attempt_id % self._size)
        for value in self._partitions[partition][begin:end]:
            collector.emit([value])
        return end


class Transactional(IPartitionedTridentSpout):
    """Partitions of values, so many of each in a batch."""

    output_fields = ("value",)

    def __init__(self, *partitions: Sequence[Any], size: int = 3, shrinks: bool = False) -> None:
        """`shrinks`: a further attempt that is emitted as a new batch has fewer tuples."""
        self._partitions = partitions
        self._size = size
        self._shrinks = shrinks
        self._batches = -(-max(map(len, partitions)) // size)

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """See IPartitionedTridentSpout."""
        return _Partitions(self._partitions, self._batches)

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """See IPartitionedTridentSpout."""
        return _Emitter(self._partitions, self._size, self._shrinks)


class Opaque(IOpaquePartitionedTridentSpout):
    """Like the class above; each further attempt of a batch lacks a tuple, so the contents
    differ."""

    output_fields = ("value",)

    def __init__(self, *partitions: Sequence[Any], size: int = 3) -> None:
        self._partitions = partitions
        self._size = size
        self._batches = max(map(len, partitions))

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """See IOpaquePartitionedTridentSpout."""
        return _Partitions(self._partitions, self._batches)

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """See IOpaquePartitionedTridentSpout."""
        return _OpaqueEmitter(self._partitions, self._size)


class Queue(IBatchSpout):
    """Not transactional: a batch has the next items of a queue, for any id."""

    output_fields = ("value",)
    max_task_parallelism = 1

    def __init__(self, *values: Any, size: int = 3, replays: bool = False) -> None:
        """`replays`: what a failed attempt had comes again at the end of the queue."""
        self._values = values
        self._size = size
        self._replays = replays
        self._batches = -(-len(values) // size)

    def open(self, conf: dict[str, Any], context: Any) -> None:
        """See IBatchSpout."""
        self._queue = list(self._values)
        self._emitted: dict[int, list[Any]] = {}

    def emit_batch(self, batch_id: int, collector: TridentCollector) -> None:
        """See IBatchSpout."""
        if self._replays:
            self._queue += self._emitted.pop(batch_id, [])
        batch, self._queue = self._queue[: self._size], self._queue[self._size :]
        self._emitted[batch_id] = batch
        for value in batch:
            collector.emit([value])

    def ack(self, batch_id: int) -> None:
        """See IBatchSpout."""
        self._emitted.pop(batch_id, None)

    def is_finished(self, txid: int) -> bool:
        """See BatchEnd."""
        return txid > self._batches
