"""Processors: run the operations of a bolt; each receives rows and emits rows to its children.

A processor is created with the topology, serialised, and set up in the bolt.
"""

from collections.abc import Callable, Sequence
from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.trident.aggregation import GroupCollector
from heronpy_compat.trident.execution.batch_tracker import TrackedBatch
from heronpy_compat.trident.operations import (
    Aggregator,
    Filter,
    Function,
    GroupedMultiReducer,
    MultiReducer,
    Operation,
    QueryFunction,
    StateUpdater,
    TridentOperationContext,
)
from heronpy_compat.trident.state.interfaces import StateFactory
from heronpy_compat.trident.state.journal import attach_journal
from heronpy_compat.trident.state.memory_map_state import STATE_NAME
from heronpy_compat.trident.tuples import FieldSelection, Row, TridentTuple

Take = Callable[[TrackedBatch, Row], None]
"""Where rows go: to the operations behind, and to other bolts."""
Report = Callable[[BaseException], None]


class ProcessorSetting:
    """Where a processor runs."""

    def __init__(
        self,
        conf: dict[str, Any],
        context: TridentOperationContext,
        states: "dict[int, Any]",
        report: Report,
    ) -> None:
        """`states`: the bolt's states by number, shared by the processors."""
        self.conf = conf
        self.context = context
        self.states = states
        self.report = report


class BatchCollector:
    """A TridentCollector that emits `before` followed by the emitted values."""

    def __init__(self, processor: "BatchProcessor", batch: TrackedBatch) -> None:
        self._processor = processor
        self._batch = batch
        self.before: Sequence[Any] = ()

    def emit(self, values: Sequence[Any]) -> None:
        """See TridentCollector."""
        self._processor.pass_on(self._batch, [*self.before, *values])

    def report_error(self, error: BaseException) -> None:
        """See TridentCollector."""
        self._processor.report(error)

    reportError = report_error


class BatchProcessor:
    """Base class: passes rows on unchanged."""

    operation: Operation | None = None

    def set_up(self, number: int, take: Take, setting: ProcessorSetting, width: int) -> None:
        """Set up in the bolt before the first batch; `number` is the node's, `width` the number of
        values of its rows."""
        self.number = number
        self.report = setting.report
        self._take = take
        self._width = width
        if self.operation is not None:
            self.operation.prepare(setting.conf, setting.context)

    def pass_on(self, batch: TrackedBatch, row: Row) -> None:
        """Emit a row of the node."""
        if len(row) != self._width:
            name = type(self.operation or self).__name__
            raise ValueError(f"{name} made {len(row)} values for {self._width} fields: {row}")
        self._take(batch, row)

    def start(self, batch: TrackedBatch) -> None:
        """A batch begins."""

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """Receive a row of one of the parents."""
        self.pass_on(batch, row)

    def finish(self, batch: TrackedBatch) -> None:
        """All rows of the batch have come; where the bolt commits, the commit as well."""

    def cleanup(self) -> None:
        """The process ends gracefully."""
        if self.operation is not None:
            self.operation.cleanup()


class EachProcessor(BatchProcessor):
    """A function whose values are appended, or a filter."""

    def __init__(self, operation: Function | Filter, selection: FieldSelection) -> None:
        self.operation: Function | Filter = operation
        self._selection = selection

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        tup = self._selection.tuple_of(row)
        if isinstance(self.operation, Filter):
            if has_run("is_keep", self.operation.is_keep(tup)):
                self.pass_on(batch, row)
            return
        collector = BatchCollector(self, batch)
        collector.before = row
        self.operation.execute(tup, collector)


class MapProcessor(BatchProcessor):
    """Replaces each row by other rows."""

    def __init__(
        self, function: Callable[[TridentTuple], Any], selection: FieldSelection, many: bool
    ):
        """`many`: the function returns any number of rows."""
        self._function = function
        self._selection = selection
        self._many = many

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        result = has_run("map", self._function(self._selection.tuple_of(row)))
        for values in result if self._many else (result,):
            is_row = isinstance(values, (list, tuple, TridentTuple))
            self.pass_on(batch, list(values) if is_row else [values])


class PeekProcessor(BatchProcessor):
    """Shows each row to a function."""

    def __init__(self, function: Callable[[TridentTuple], Any], selection: FieldSelection) -> None:
        self._function = function
        self._selection = selection

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        has_run("peek", self._function(self._selection.tuple_of(row)))
        self.pass_on(batch, row)


class ProjectProcessor(BatchProcessor):
    """Some of the fields."""

    def __init__(self, selection: FieldSelection) -> None:
        self._selection = selection

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        self.pass_on(batch, self._selection.row_of(row))


class AggregateProcessor(BatchProcessor):
    """An aggregator over the rows of a batch in this partition."""

    def __init__(self, aggregator: Aggregator, selection: FieldSelection) -> None:
        self.operation: Aggregator = aggregator
        self._selection = selection

    def start(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        collector = BatchCollector(self, batch)
        batch.values[self.number] = [self.operation.init(batch.attempt, collector), collector]

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        state = batch.values[self.number]
        result = self.operation.aggregate(state[0], self._selection.tuple_of(row), state[1])
        if result is not None:
            state[0] = result

    def finish(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        value, collector = batch.values[self.number]
        self.operation.complete(value, collector)


class MultiReduceProcessor(BatchProcessor):
    """A multi-reducer over the rows of several parents."""

    def __init__(self, reducer: MultiReducer, selections: Sequence[FieldSelection]) -> None:
        self.operation: MultiReducer = reducer
        self._selections = selections

    def start(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        collector = BatchCollector(self, batch)
        batch.values[self.number] = self.operation.init(collector), collector

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        value, collector = batch.values[self.number]
        self.operation.execute(value, parent, self._selections[parent].tuple_of(row), collector)

    def finish(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        value, collector = batch.values[self.number]
        self.operation.complete(value, collector)


class GroupedReducer(MultiReducer):
    """A grouped multi-reducer as a multi-reducer; the group's fields are the first ones."""

    def __init__(self, inner: GroupedMultiReducer, group_size: int) -> None:
        self._inner = inner
        self._group_size = group_size

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        self._inner.prepare(conf, context)

    def cleanup(self) -> None:
        """See Operation."""
        self._inner.cleanup()

    def init(self, collector: Any) -> Any:
        """See MultiReducer."""
        return {}

    def execute(self, value: Any, stream_index: int, tup: TridentTuple, collector: Any) -> None:
        """See MultiReducer."""
        size = self._group_size
        group = TridentTuple(tup.fields[:size], tup.values[:size])
        key = tuple(group.values)
        if key not in value:
            own = GroupCollector(collector, key)
            value[key] = group, self._inner.init(own, group), own
        group, state, own = value[key]
        rest = TridentTuple(tup.fields[size:], tup.values[size:])
        self._inner.execute(state, stream_index, group, rest, own)

    def complete(self, value: Any, collector: Any) -> None:
        """See MultiReducer."""
        for group, state, own in value.values():
            self._inner.complete(state, group, own)


class StateSpec:
    """The state of a processor and its factory."""

    def __init__(self, factory: StateFactory, number: int) -> None:
        self.factory = factory
        self.number = number

    def state(self, setting: ProcessorSetting) -> Any:
        """The state in the bolt, created once."""
        if self.number not in setting.states:
            context = setting.context
            component = context.topology_context.get_component_id()
            name = f"{component}/{self.number}"
            setting.states[self.number] = state = self.factory.make_state(
                {**setting.conf, STATE_NAME: name},
                context.topology_context,
                context.partition_index,
                context.num_partitions,
            )
            folder = f"journal/{name}/{context.partition_index}"
            attach_journal(state, context.topology_context, folder)
        return setting.states[self.number]


class StateProcessor(BatchProcessor):
    """Base of processors with a state: called with all rows of a batch at its end."""

    def __init__(
        self, spec: StateSpec, operation: StateUpdater | QueryFunction, selection: FieldSelection
    ) -> None:
        self.operation = operation
        self._spec = spec
        self._selection = selection

    def set_up(self, number: int, take: Take, setting: ProcessorSetting, width: int) -> None:
        """See BatchProcessor."""
        super().set_up(number, take, setting, width)
        self._state = self._spec.state(setting)

    def start(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        batch.values[self.number] = []


class PersistProcessor(StateProcessor):
    """Writes the rows of a batch into a state when the batch is committed."""

    operation: StateUpdater

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        batch.values[self.number].append(self._selection.tuple_of(row))

    def finish(self, batch: TrackedBatch) -> None:
        """See BatchProcessor; a batch without rows leaves the state unchanged."""
        tuples, txid = batch.values[self.number], batch.attempt.txid
        discard = getattr(self._state, "discard_attempt", None)
        is_undone = discard is not None and discard(txid)
        if not tuples and not is_undone:
            return
        self._state.begin_commit(txid)
        if tuples:
            self.operation.update_state(self._state, tuples, BatchCollector(self, batch))
        self._state.commit(txid)


class QueryProcessor(StateProcessor):
    """Looks the rows of a batch up in a state, all at once."""

    operation: QueryFunction

    def execute(self, batch: TrackedBatch, row: Row, parent: int) -> None:
        """See BatchProcessor."""
        batch.values[self.number].append(row)

    def finish(self, batch: TrackedBatch) -> None:
        """See BatchProcessor."""
        rows = batch.values[self.number]
        if not rows:
            return
        tuples = [self._selection.tuple_of(row) for row in rows]
        results = self.operation.batch_retrieve(self._state, tuples)
        if len(results) != len(rows):
            name = type(self.operation).__name__
            raise ValueError(f"{name} retrieved {len(results)} results for {len(rows)} tuples")
        collector = BatchCollector(self, batch)
        for row, tup, result in zip(rows, tuples, results, strict=True):
            collector.before = row
            self.operation.execute(tup, result, collector)
