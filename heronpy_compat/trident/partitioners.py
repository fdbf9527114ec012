"""Partitioners: target partitions of a tuple for a repartitioning."""

from collections.abc import Sequence
from typing import Any, Protocol

from heron_core.algorithms.hashing import NotHashable, slot, stable_hash
from heron_core.errors import ComponentError
from heronpy_compat.trident.aggregation import batch_partition
from heronpy_compat.trident.tuples import FieldSelection, Names, Row


class Partitioner(Protocol):
    """Serialised to each emitting task; `prepare` is called first."""

    def prepare(self, context: Any, stream: str, tasks: list[int]) -> None:
        """`context`: the emitting task's TopologyContext; `tasks`: tasks of the reader."""

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """Target partitions of a row, each below `total`."""


class _Prepared:
    """The partition of the emitting task."""

    index = 0

    def prepare(self, context: Any, stream: str, tasks: list[int]) -> None:
        """See Partitioner."""
        self.index = context.get_this_task_index()


class ShufflePartitioner(_Prepared):
    """Round robin; tasks start with different partitions."""

    def prepare(self, context: Any, stream: str, tasks: list[int]) -> None:
        """See Partitioner."""
        super().prepare(context, stream, tasks)
        self._next = self.index

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        self._next += 1
        return (self._next % total,)


class LocalOrShufflePartitioner(ShufflePartitioner):
    """Round robin over partitions in the emitting task's container, if the container has any."""

    def prepare(self, context: Any, stream: str, tasks: list[int]) -> None:
        """See Partitioner."""
        super().prepare(context, stream, tasks)
        self._context, self._tasks, self._batch_id = context, tasks, None

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        if batch_id != self._batch_id:  # a task may have moved
            self._batch_id, here = batch_id, set(self._context.get_this_worker_tasks())
            self._near = [at for at, task in enumerate(self._tasks) if task in here]
        near = self._near or range(total)
        (at,) = super().partitions(row, batch_id, len(near))
        return (near[at],)


class FieldsPartitioner(_Prepared):
    """Equal values of the fields share a partition, in each process."""

    def __init__(self, selection: FieldSelection) -> None:
        self._selection = selection

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        try:
            return (slot(stable_hash(self._selection.row_of(row)), total),)
        except NotHashable as error:
            names = ", ".join(self._selection.names)
            raise ComponentError(f"partition_by({names}): {error}") from None


class BroadcastPartitioner(_Prepared):
    """All partitions."""

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        return range(total)


class GlobalPartitioner(_Prepared):
    """The first partition."""

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        return (0,)


class BatchGlobalPartitioner(_Prepared):
    """One partition for all tuples of a batch, in turn for the batches."""

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        return (batch_partition(batch_id, total),)


class IdentityPartitioner(_Prepared):
    """The partition with an equal number."""

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner."""
        return (self.index % total,)


class CustomPartitioner(_Prepared):
    """Partitions chosen by an ICustomGrouping."""

    def __init__(self, grouping: Any, fields: Names) -> None:
        self._grouping = grouping
        self._fields = fields

    def prepare(self, context: Any, stream: str, tasks: list[int]) -> None:
        """See Partitioner."""
        super().prepare(context, stream, tasks)
        self._tasks = tasks
        self._grouping.prepare(context, context.get_component_id(), stream, tasks)

    def partitions(self, row: Row, batch_id: Any, total: int) -> Sequence[int]:
        """See Partitioner; ComponentError for a task that does not read the stream."""
        chosen = self._grouping.choose_tasks(row)
        unknown = [task for task in chosen if task not in self._tasks]
        if unknown:
            name = type(self._grouping).__name__
            raise ComponentError(f"{name} chose tasks {unknown}; the stream has {self._tasks}")
        return [self._tasks.index(task) for task in chosen]
