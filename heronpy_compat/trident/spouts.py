"""What a spout of Trident is: where batches come from, and what a replay of one has in it.

    ITridentSpout                    as its coordinator and emitter decide
    IBatchSpout                      not transactional: a replay has what `emit_batch` gives then
    IPartitionedTridentSpout         transactional: a replay has the same tuples
    IOpaquePartitionedTridentSpout   opaque: each tuple is in one committed batch, not always the
                                     same one

Metadata is what locates a batch in its source: offsets, say. It is stored under the transaction id,
and consists of values that tuples can carry.
"""

from collections.abc import Sequence
from typing import Any

from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.operations import TridentCollector
from heronpy_compat.trident.tuples import Names


def _undefined(thing: object, method: str) -> NotImplementedError:
    return NotImplementedError(f"{type(thing).__name__} must define {method}")


class BatchEnd:
    """How a source ends; Storm's never do."""

    def is_finished(self, txid: int) -> bool:
        """Whether the source has nothing for this batch and for all after it. When all sources of a
        batch group say so, and all batches are committed, its coordinator has finished."""
        return False


class TridentSpout:
    """Base of the four kinds."""

    max_task_parallelism: int | None = None
    """The most tasks that it may have."""

    def get_output_fields(self) -> Sequence[str]:
        """The fields of its tuples."""
        fields: Names | None = getattr(self, "output_fields", None)
        if fields is None:
            raise _undefined(self, "get_output_fields(self) or output_fields")
        return fields


class BatchCoordinator(BatchEnd):
    """Of an ITridentSpout: runs in one task."""

    def initialize_transaction(self, txid: int, previous: Any, current: Any) -> Any:
        """The metadata of a batch; `previous` is that of the batch before, and `current` its own if
        it is a replay."""
        raise _undefined(self, "initialize_transaction(self, txid, previous, current)")

    def is_ready(self, txid: int) -> bool:
        """Whether the batch may begin now."""
        return True

    def success(self, txid: int) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class Emitter:
    """Of an ITridentSpout: runs in each of its tasks."""

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        """Emit this task's part of a batch."""
        raise _undefined(self, "emit_batch(self, attempt, metadata, collector)")

    def success(self, attempt: TransactionAttempt) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class ITridentSpout(TridentSpout):
    """The general kind."""

    def get_coordinator(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """A BatchCoordinator."""
        raise _undefined(self, "get_coordinator(self, stream_id, conf, context)")

    def get_emitter(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """An Emitter; with a method `commit(attempt)` it takes part in commits."""
        raise _undefined(self, "get_emitter(self, stream_id, conf, context)")


class ICommitterTridentSpout(ITridentSpout):
    """One whose emitters have `commit(attempt)`."""


class IBatchSpout(TridentSpout, BatchEnd):
    """The simplest kind: each task emits what it has for a batch."""

    def open(self, conf: dict[str, Any], context: Any) -> None:
        """Called once in each task."""

    def emit_batch(self, batch_id: int, collector: TridentCollector) -> None:
        """Emit a batch; a replay comes with the same id."""
        raise _undefined(self, "emit_batch(self, batch_id, collector)")

    def ack(self, batch_id: int) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class PartitionsCoordinator(BatchEnd):
    """Of a partitioned spout."""

    def is_ready(self, txid: int) -> bool:
        """Whether the batch may begin now."""
        return True

    def get_partitions_for_batch(self) -> Any:
        """What says which partitions there are: values that tuples can carry."""
        raise _undefined(self, "get_partitions_for_batch(self)")

    def close(self) -> None:
        """The process ends gracefully."""


class PartitionedEmitter:
    """What the emitters of both partitioned kinds have in common."""

    def get_ordered_partitions(self, partitions: Any) -> Sequence[Any]:
        """The partitions, in the same order in each task; each is named by its `get_id()`, else by
        its text."""
        ordered: Sequence[Any] = partitions
        return ordered

    def refresh_partitions(self, partitions: Sequence[Any]) -> None:
        """The partitions of this task have changed."""

    def close(self) -> None:
        """The process ends gracefully."""


class TransactionalEmitter(PartitionedEmitter):
    """Of an IPartitionedTridentSpout."""

    def emit_partition_batch_new(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        """Emit a new batch of a partition behind the one with the metadata `last`, and return its
        metadata."""
        raise _undefined(self, "emit_partition_batch_new(...)")

    def emit_partition_batch(
        self,
        attempt: TransactionAttempt,
        collector: TridentCollector,
        partition: Any,
        metadata: Any,
    ) -> None:
        """Emit the batch with that metadata once more: the same tuples."""
        raise _undefined(self, "emit_partition_batch(...)")


class OpaqueEmitter(PartitionedEmitter):
    """Of an IOpaquePartitionedTridentSpout."""

    def emit_partition_batch(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        """Emit a batch of a partition behind the one with the metadata `last`, and return its
        metadata."""
        raise _undefined(self, "emit_partition_batch(...)")


class IPartitionedTridentSpout(TridentSpout):
    """Transactional, of partitions that can be read again."""

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """A PartitionsCoordinator."""
        raise _undefined(self, "get_coordinator(self, conf, context)")

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """A TransactionalEmitter."""
        raise _undefined(self, "get_emitter(self, conf, context)")


class IOpaquePartitionedTridentSpout(TridentSpout):
    """Opaque, of partitions that may be away when a batch is replayed."""

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """A PartitionsCoordinator."""
        raise _undefined(self, "get_coordinator(self, conf, context)")

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """An OpaqueEmitter."""
        raise _undefined(self, "get_emitter(self, conf, context)")


class FixedBatchSpout(IBatchSpout):
    """Batches of fixed tuples, for tests and examples; a replay has the same ones.

    Storm's goes on with empty batches; this one finishes, and with `cycle` begins again.
    """

    max_task_parallelism = 1

    def __init__(
        self,
        fields: str | Sequence[str],
        max_batch_size: int,
        *outputs: Sequence[Any],
        cycle: bool = False,
    ) -> None:
        """`outputs`: the values of each tuple."""
        self.output_fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self._size = max_batch_size
        self._outputs = [list(values) for values in outputs]
        self._cycle = cycle

    def set_cycle(self, cycle: bool) -> None:
        """Whether the tuples come again and again."""
        self._cycle = cycle

    def emit_batch(self, batch_id: int, collector: TridentCollector) -> None:
        """See IBatchSpout: which tuples a batch has follows from its id."""
        batches = self._batches
        number = (batch_id - 1) % batches if self._cycle and batches else batch_id - 1
        for values in self._outputs[number * self._size : (number + 1) * self._size]:
            collector.emit(values)

    @property
    def _batches(self) -> int:
        return -(-len(self._outputs) // self._size)

    def is_finished(self, txid: int) -> bool:
        """See BatchEnd."""
        return not self._cycle and txid > self._batches

    setCycle = set_cycle
