"""Aggregators of each kind as one kind, side by side in a chain, and by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from heronpy_compat.trident.operations import (
    Aggregator,
    CombinerAggregator,
    ReducerAggregator,
    TridentCollector,
    TridentOperationContext,
)
from heronpy_compat.trident.tuples import FieldSelection, Names, Row, TridentTuple


class CaptureCollector:
    """Collector that retains emitted values."""

    def __init__(self, errors: TridentCollector) -> None:
        self.rows: list[Row] = []
        self.report_error = errors.report_error

    def emit(self, values: Sequence[Any]) -> None:
        """See TridentCollector."""
        self.rows.append(list(values))


class Wrapped(Aggregator):
    """Adapter from a different kind of aggregator."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        self.inner.prepare(conf, context)

    def cleanup(self) -> None:
        """See Operation."""
        self.inner.cleanup()

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """Emit the value."""
        collector.emit([value])


class CombineTuples(Wrapped):
    """A CombinerAggregator over tuples; without tuples the result is zero."""

    inner: CombinerAggregator

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """See Aggregator."""
        return [self.inner.zero()]

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        value[0] = self.inner.combine(value[0], self.inner.init(tup))

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """Emit the value."""
        collector.emit(value)


class CombinePartial(CombineTuples):
    """A CombinerAggregator over partly combined values."""

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        value[0] = self.inner.combine(value[0], tup.values[0])


class ReduceTuples(Wrapped):
    """A ReducerAggregator over tuples."""

    inner: ReducerAggregator

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """See Aggregator."""
        return [self.inner.init()]

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        value[0] = self.inner.reduce(value[0], tup)

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """Emit the value."""
        collector.emit(value)


def as_aggregator(operation: Any) -> Aggregator:
    """Convert an operation of any of the three kinds to an Aggregator."""
    if isinstance(operation, CombinerAggregator):
        return CombineTuples(operation)
    return ReduceTuples(operation) if isinstance(operation, ReducerAggregator) else operation


@dataclass(frozen=True)
class ChainLink:
    """One aggregator of a chain and its input fields."""

    aggregator: Aggregator
    selection: FieldSelection


class ChainedAggregator(Aggregator):
    """Several aggregators over the tuples of a batch. Output rows are combinations of the
    aggregators' results; an aggregator without result leaves no row."""

    def __init__(self, links: Sequence[ChainLink]) -> None:
        self._links = links

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        for link in self._links:
            link.aggregator.prepare(conf, context)
        self._steps = [(each.aggregator.aggregate, each.selection.tuple_of) for each in self._links]

    def cleanup(self) -> None:
        """See Operation."""
        for link in self._links:
            link.aggregator.cleanup()

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """See Aggregator."""
        captures = [CaptureCollector(collector) for _ in self._links]
        values = [
            link.aggregator.init(batch_id, capture)
            for link, capture in zip(self._links, captures, strict=True)
        ]
        return values, captures

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        values, captures = value
        row = tup.values
        for at, (aggregate, selected) in enumerate(self._steps):
            result = aggregate(values[at], selected(row), captures[at])
            if result is not None:
                values[at] = result

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See Aggregator."""
        values, captures = value
        for at, link in enumerate(self._links):
            link.aggregator.complete(values[at], captures[at])
        for rows in product(*(capture.rows for capture in captures)):
            collector.emit([item for row in rows for item in row])


class GroupCollector:
    """Prepends the group's fields to emitted values."""

    def __init__(self, collector: TridentCollector, group: Sequence[Any] = ()) -> None:
        self._collector = collector
        self.group = group
        self.report_error = collector.report_error

    def emit(self, values: Sequence[Any]) -> None:
        """See TridentCollector."""
        self._collector.emit([*self.group, *values])


class GroupedAggregator(Wrapped):
    """An aggregator for each group of a batch; without tuples there is not a group."""

    inner: Aggregator

    def __init__(self, inner: Aggregator, stream: Names, group: Names, wanted: Names) -> None:
        super().__init__(inner)
        self._group = FieldSelection(stream, group, "group_by")
        self._wanted = FieldSelection(stream, wanted, "aggregate")

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """See Aggregator."""
        return batch_id, {}

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        batch_id, groups = value
        row = tup.values
        group = self._group.key_of(row)
        state = groups.get(group)
        if state is None:
            own = GroupCollector(collector, group)
            state = groups[group] = [self.inner.init(batch_id, own), own]
        result = self.inner.aggregate(state[0], self._wanted.tuple_of(row), state[1])
        if result is not None:
            state[0] = result

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See Aggregator."""
        for state, own in value[1].values():
            self.inner.complete(state, own)


class SingleEmitAggregator(Wrapped):
    """Aggregates batches that go to one partition: only the receiving partition emits, even for an
    empty batch."""

    inner: Aggregator

    def __init__(self, inner: Aggregator, is_by_batch: bool) -> None:
        """`is_by_batch`: the partition is that of batch_global, else the first."""
        super().__init__(inner)
        self._is_by_batch = is_by_batch

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        self.inner.prepare(conf, context)
        self._context = context

    def _is_chosen(self, batch_id: Any) -> bool:
        total = self._context.num_partitions
        chosen = batch_partition(batch_id, total) if self._is_by_batch else 0
        return chosen == self._context.partition_index

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """See Aggregator."""
        return [self._is_chosen(batch_id), self.inner.init(batch_id, collector)]

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        value[0] = True
        result = self.inner.aggregate(value[1], tup, collector)
        if result is not None:
            value[1] = result

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See Aggregator."""
        if value[0]:
            self.inner.complete(value[1], collector)


def batch_partition(batch_id: Any, partitions: int) -> int:
    """Target partition of `batch_global` for a batch."""
    return int(batch_id.txid) % partitions
