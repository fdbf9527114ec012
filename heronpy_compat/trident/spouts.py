"""Spouts of Trident: sources of batches, and the contents of a replay.

    ITridentSpout                    defined by coordinator and emitter
    IBatchSpout                      not transactional: a replay calls `emit_batch` again
    IPartitionedTridentSpout         transactional: a replay has equal tuples
    IOpaquePartitionedTridentSpout   opaque: each tuple is in exactly one committed batch, and
                                     replays may differ

Metadata locates a batch in its source, e.g. offsets. Metadata is stored under the transaction id
and consists of values that tuples can carry.
"""

from collections.abc import Sequence
from typing import Any

from heron_api.java_names import CalledByEngine
from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.operations import TridentCollector
from heronpy_compat.trident.tuples import Names


def _undefined(thing: object, method: str) -> NotImplementedError:
    return NotImplementedError(f"{type(thing).__name__} must define {method}")


class BatchEnd(CalledByEngine):
    """End of a source; Storm's sources are endless."""

    def is_finished(self, txid: int) -> bool:
        """Whether the source has no tuples for the current and all later batches. When all sources
        of a batch group report the end, and all batches are committed, the coordinator finishes."""
        return False


class TridentSpout(CalledByEngine):
    """Base of the four kinds."""

    max_task_parallelism: int | None = None
    """The highest number of tasks."""

    def get_output_fields(self) -> Sequence[str]:
        """The fields of emitted tuples."""
        fields: Names | None = getattr(self, "output_fields", None)
        if fields is None:
            raise _undefined(self, "get_output_fields(self) or output_fields")
        return fields


class BatchCoordinator(BatchEnd):
    """Coordinator of an ITridentSpout: runs in one task.

    Example:

        class Offsets(BatchCoordinator):
            def initialize_transaction(self, txid, previous, current):
                return current or [previous[1], previous[1] + 100] if previous else [0, 100]
    """

    def initialize_transaction(self, txid: int, previous: Any, current: Any) -> Any:
        """The metadata of a batch; `previous` is the previous batch's metadata, `current` the
        stored metadata for a replay."""
        raise _undefined(self, "initialize_transaction(self, txid, previous, current)")

    def is_ready(self, txid: int) -> bool:
        """Whether the batch may start now."""
        return True

    def success(self, txid: int) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class Emitter(CalledByEngine):
    """Emitter of an ITridentSpout: runs in each of its tasks.

    Example:

        class Lines(Emitter):
            def emit_batch(self, attempt, metadata, collector):
                for number in range(*metadata):
                    collector.emit([f"line {number}"])
    """

    def emit_batch(
        self, attempt: TransactionAttempt, metadata: Any, collector: TridentCollector
    ) -> None:
        """Emit the task's part of a batch."""
        raise _undefined(self, "emit_batch(self, attempt, metadata, collector)")

    def success(self, attempt: TransactionAttempt) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class ITridentSpout(TridentSpout):
    """The general kind.

    Example:

        class Lines(ITridentSpout):
            output_fields = ["line"]

            def get_coordinator(self, stream_id, conf, context):
                return Offsets()

            def get_emitter(self, stream_id, conf, context):
                return LinesOfOffsets()
    """

    def get_coordinator(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """A BatchCoordinator."""
        raise _undefined(self, "get_coordinator(self, stream_id, conf, context)")

    def get_emitter(self, stream_id: str, conf: dict[str, Any], context: Any) -> Any:
        """An Emitter; with a method `commit(attempt)` it takes part in commits."""
        raise _undefined(self, "get_emitter(self, stream_id, conf, context)")


class ICommitterTridentSpout(ITridentSpout):
    """A spout whose emitters have `commit(attempt)`.

    Example:

        class Committing(Emitter):
            def emit_batch(self, attempt, metadata, collector):
                collector.emit([attempt.get_transaction_id()])

            def commit(self, attempt):
                print("committed", attempt.get_transaction_id())

        class Numbers(ICommitterTridentSpout):
            output_fields = ["number"]

            def get_emitter(self, stream_id, conf, context):
                return Committing()
    """


class IBatchSpout(TridentSpout, BatchEnd):
    """The simplest kind: each task emits its available tuples for a batch.

    Example:

        class Lines(IBatchSpout):
            def open(self, conf, context):
                self.lines = Path("lines.txt").read_text().splitlines()

            def emit_batch(self, batch_id, collector):
                for line in self.lines[batch_id - 1 : batch_id]:
                    collector.emit([line])

            def ack(self, batch_id):
                pass

            def close(self):
                pass
    """

    def open(self, conf: dict[str, Any], context: Any) -> None:
        """Called once in each task."""

    def emit_batch(self, batch_id: int, collector: TridentCollector) -> None:
        """Emit a batch; a replay has an equal id."""
        raise _undefined(self, "emit_batch(self, batch_id, collector)")

    def ack(self, batch_id: int) -> None:
        """The batch is committed."""

    def close(self) -> None:
        """The process ends gracefully."""


class PartitionsCoordinator(BatchEnd):
    """Of a partitioned spout.

    Example:

        class Files(PartitionsCoordinator):
            def get_partitions_for_batch(self):
                return ["a.txt", "b.txt"]
    """

    def is_ready(self, txid: int) -> bool:
        """Whether the batch may start now."""
        return True

    def get_partitions_for_batch(self) -> Any:
        """Description of the current partitions: values that tuples can carry."""
        raise _undefined(self, "get_partitions_for_batch(self)")

    def close(self) -> None:
        """The process ends gracefully."""


class PartitionedEmitter(CalledByEngine):
    """Common base of the emitters of partitioned spouts."""

    def get_ordered_partitions(self, partitions: Any) -> Sequence[Any]:
        """The partitions, in equal order in each task; the name is `get_id()`, by default the
        text."""
        ordered: Sequence[Any] = partitions
        return ordered

    def refresh_partitions(self, partitions: Sequence[Any]) -> None:
        """Called when the task's partitions have changed."""

    def close(self) -> None:
        """The process ends gracefully."""


class TransactionalEmitter(PartitionedEmitter):
    """Of an IPartitionedTridentSpout.

    Example:

        class Numbers(TransactionalEmitter):
            def emit_partition_batch_new(self, attempt, collector, partition, last):
                metadata = [last[1], last[1] + 10] if last else [0, 10]
                self.emit_partition_batch(attempt, collector, partition, metadata)
                return metadata

            def emit_partition_batch(self, attempt, collector, partition, metadata):
                for number in range(*metadata):
                    collector.emit([number])
    """

    def emit_partition_batch_new(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        """Emit a partition's new batch after the batch with metadata `last`; return the new
        metadata."""
        raise _undefined(self, "emit_partition_batch_new(...)")

    def emit_partition_batch(
        self,
        attempt: TransactionAttempt,
        collector: TridentCollector,
        partition: Any,
        metadata: Any,
    ) -> None:
        """Emit the batch with the metadata again, with equal tuples."""
        raise _undefined(self, "emit_partition_batch(...)")


class OpaqueEmitter(PartitionedEmitter):
    """Of an IOpaquePartitionedTridentSpout.

    Example:

        class Available(OpaqueEmitter):
            def emit_partition_batch(self, attempt, collector, partition, last):
                start = last or 0
                for number in range(start, start + 10):
                    collector.emit([number])
                return start + 10
    """

    def emit_partition_batch(
        self, attempt: TransactionAttempt, collector: TridentCollector, partition: Any, last: Any
    ) -> Any:
        """Emit a partition's batch after the batch with metadata `last`; return the new
        metadata."""
        raise _undefined(self, "emit_partition_batch(...)")


class IPartitionedTridentSpout(TridentSpout):
    """Transactional spout over re-readable partitions.

    Example:

        class Lines(IPartitionedTridentSpout):
            output_fields = ["line"]

            def get_coordinator(self, conf, context):
                return Files()

            def get_emitter(self, conf, context):
                return LinesOfFiles()
    """

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """A PartitionsCoordinator."""
        raise _undefined(self, "get_coordinator(self, conf, context)")

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """A TransactionalEmitter."""
        raise _undefined(self, "get_emitter(self, conf, context)")


class IOpaquePartitionedTridentSpout(TridentSpout):
    """Opaque, of partitions that may be away when a batch is replayed.

    Example:

        class Lines(IOpaquePartitionedTridentSpout):
            output_fields = ["line"]

            def get_coordinator(self, conf, context):
                return Files()

            def get_emitter(self, conf, context):
                return AvailableLines()
    """

    def get_coordinator(self, conf: dict[str, Any], context: Any) -> Any:
        """A PartitionsCoordinator."""
        raise _undefined(self, "get_coordinator(self, conf, context)")

    def get_emitter(self, conf: dict[str, Any], context: Any) -> Any:
        """An OpaqueEmitter."""
        raise _undefined(self, "get_emitter(self, conf, context)")


class FixedBatchSpout(IBatchSpout):
    """Batches of fixed tuples, for tests and examples; replays are equal.

    Storm's spout continues with empty batches; here the spout finishes, and with `cycle` restarts.
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
        """See IBatchSpout: the id determines the tuples of a batch."""
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
