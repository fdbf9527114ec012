"""Streams of Trident and their operations: each operation returns a new stream."""

from collections.abc import Callable
from typing import Any

from heronpy_compat.trident.builtin import Compared
from heronpy_compat.trident.chains import ChainedAggregation
from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.execution.processors import (
    EachProcessor,
    MapProcessor,
    PeekProcessor,
    PersistProcessor,
    ProjectProcessor,
    QueryProcessor,
    StateSpec,
)
from heronpy_compat.trident.graph import PartitionNode, ProcessorNode, StreamNode, TridentGraph
from heronpy_compat.trident.naming import NamesMissing
from heronpy_compat.trident.operations import (
    CombinerAggregator,
    Filter,
    Function,
    QueryFunction,
    ReducerAggregator,
    StateUpdater,
)
from heronpy_compat.trident.partitioners import (
    BatchGlobalPartitioner,
    BroadcastPartitioner,
    CustomPartitioner,
    FieldsPartitioner,
    GlobalPartitioner,
    IdentityPartitioner,
    LocalOrShufflePartitioner,
    Partitioner,
    ShufflePartitioner,
)
from heronpy_compat.trident.state.interfaces import StateFactory
from heronpy_compat.trident.state.updaters import CombinerUpdater, ReducerUpdater
from heronpy_compat.trident.tuples import FieldNames, FieldSelection, Names, appended, names_of
from heronpy_compat.trident.windowing.windowed_stream import StreamWithWindows


class Stream(StreamWithWindows, NamesMissing):
    """The tuples of a node, batch by batch.

    Example:

        topology = TridentTopology()
        words = topology.new_stream("lines", spout).each("line", Split(), "word")
        words.project("word").filter(Long()).peek(print)
    """

    def __init__(self, graph: TridentGraph, node: StreamNode, label: str = "") -> None:
        self.graph = graph
        self.node = node
        self._label = label

    def get_output_fields(self) -> Names:
        """The fields of the tuples."""
        return self.node.fields

    def name(self, name: str) -> "Stream":
        """Name the following operations: a part of their bolt's name."""
        return Stream(self.graph, self.node, name)

    def parallelism_hint(self, hint: int) -> "Stream":
        """Number of tasks of the previous operations, back to the last repartitioning. TridentError
        unless a whole number from 1 on."""
        if type(hint) is not int or hint < 1:
            raise TridentError(f"parallelism_hint takes a whole number from 1 on, not {hint!r}")
        self.node.parallelism = hint
        return self

    def processed(
        self,
        processor: Any,
        fields: Names,
        *,
        is_committer: bool = False,
        state: int | None = None,
    ) -> "Stream":
        """The stream after a processor; `state`: number of the processor's state."""
        node = ProcessorNode(
            self.graph.next_number, fields, (self.node,), label=self._label,
            processor=processor, state=state, is_committer=is_committer,
        )  # fmt: skip
        return Stream(self.graph, self.graph.add(node), self._label)

    def _selection(self, fields: FieldNames, where: str) -> FieldSelection:
        return FieldSelection(self.node.fields, names_of(fields, where), where)

    def each(
        self, input_fields: FieldNames, operation: Any, function_fields: FieldNames = None
    ) -> "Stream":
        """A Function, whose fields are appended to each tuple, or a Filter. TridentError for
        another operation."""
        if isinstance(operation, Filter):
            if function_fields:
                raise TridentError(f"a filter has no output fields: {list(function_fields)}")
        elif not isinstance(operation, Function):
            raise TridentError(f"each takes a Function or a Filter, not {operation!r}")
        added = names_of(function_fields, "each")
        fields = appended(self.node.fields, added, "each")
        selection = self._selection(input_fields, "each")
        return self.processed(EachProcessor(operation, selection), fields)

    def filter(self, *arguments: Any) -> "Stream":
        """filter(operation) or filter(fields, operation): a Filter, or a function of the tuple."""
        fields, operation = arguments if len(arguments) == 2 else (self.node.fields, *arguments)
        if not isinstance(operation, Filter):
            operation = FunctionFilter(_function_of("filter", operation))
        return self.processed(
            EachProcessor(operation, self._selection(fields, "filter")), self.node.fields
        )

    def map(self, function: Any, output_fields: FieldNames = None) -> "Stream":
        """Replace each tuple by the function's values, under unchanged fields unless new fields are
        given; a result that is not a list or tuple is one value."""
        return self._mapped("map", function, output_fields, many=False)

    def flat_map(self, function: Any, output_fields: FieldNames = None) -> "Stream":
        """Like map, with any number of tuples per input."""
        return self._mapped("flat_map", function, output_fields, many=True)

    def _mapped(self, what: str, function: Any, fields: FieldNames, many: bool) -> "Stream":
        call = _function_of(what, function, "execute")
        names = names_of(fields, what) or self.node.fields
        selection = self._selection(self.node.fields, what)
        return self.processed(MapProcessor(call, selection, many), names)

    def peek(self, action: Any) -> "Stream":
        """Show each tuple to a Consumer or a function, and keep it."""
        call = _function_of("peek", action, "accept")
        selection = self._selection(self.node.fields, "peek")
        return self.processed(PeekProcessor(call, selection), self.node.fields)

    def project(self, keep_fields: FieldNames) -> "Stream":
        """A selection of the fields, in the given order."""
        selection = self._selection(keep_fields, "project")
        return self.processed(ProjectProcessor(selection), selection.names)

    def apply_assembly(self, assembly: Any) -> "Stream":
        """The result of `assembly.apply(stream)`."""
        result: Stream = assembly.apply(self)
        return result

    # --- repartitionings ----------------------------------------------------------------------

    def _repartitioned(self, partitioner: Partitioner) -> "Stream":
        graph = self.graph
        node = PartitionNode(
            graph.next_number, self.node.fields, (self.node,), partitioner=partitioner
        )
        return Stream(self.graph, graph.add(node), self._label)

    def shuffle(self) -> "Stream":
        """Spread the tuples evenly."""
        return self._repartitioned(ShufflePartitioner())

    def local_or_shuffle(self) -> "Stream":
        """Spread tuples evenly over the container's tasks, if the container has any."""
        return self._repartitioned(LocalOrShufflePartitioner())

    def broadcast(self) -> "Stream":
        """Each tuple in each partition."""
        return self._repartitioned(BroadcastPartitioner())

    def global_(self) -> "Stream":
        """All tuples in the first partition; Storm's `global`, which is a word of Python's."""
        return self._repartitioned(GlobalPartitioner())

    def batch_global(self) -> "Stream":
        """All tuples of a batch in one partition, in turn for the batches."""
        return self._repartitioned(BatchGlobalPartitioner())

    def identity_partition(self) -> "Stream":
        """In another bolt of as many tasks, each tuple in the same partition."""
        return self._repartitioned(IdentityPartitioner())

    def partition_by(self, fields: FieldNames) -> "Stream":
        """Tuples with equal fields go to one partition."""
        return self._repartitioned(FieldsPartitioner(self._selection(fields, "partition_by")))

    def partition(self, grouping: Any) -> "Stream":
        """Partitions chosen by an ICustomGrouping. TridentError for another type."""
        if not hasattr(grouping, "choose_tasks"):
            raise TridentError(f"partition takes an ICustomGrouping, not {grouping!r}")
        return self._repartitioned(CustomPartitioner(grouping, self.node.fields))

    def group_by(self, fields: FieldNames) -> "GroupedStream":
        """Group later aggregations by the fields."""
        return GroupedStream(self, self._selection(fields, "group_by").names)

    # --- aggregations -------------------------------------------------------------------------

    def partition_aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> "Stream":
        """Aggregate the tuples of a batch in each partition; only the function's fields stay."""
        chain = self.chained_agg()
        return chain.partition_aggregate(input_fields, aggregator, function_fields).chain_end()

    def aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> "Stream":
        """Aggregate all tuples of a batch; only the function's fields stay."""
        return self.chained_agg().aggregate(input_fields, aggregator, function_fields).chain_end()

    def chained_agg(self) -> "ChainedAggregation[Stream]":
        """Several aggregations of the input tuples, up to `chain_end`."""
        return ChainedAggregation(self, None, is_by_batch=True)

    def min_by(self, field: str, comparator: Callable[[Any, Any], int] | None = None) -> "Stream":
        """The tuple of each partition whose field is the least."""
        return self._compared(Compared(field, comparator, 1))

    def max_by(self, field: str, comparator: Callable[[Any, Any], int] | None = None) -> "Stream":
        """The tuple of each partition whose field is the greatest."""
        return self._compared(Compared(field, comparator, -1))

    def min(self, comparator: Callable[[Any, Any], int]) -> "Stream":
        """The least tuple of each partition."""
        return self._compared(Compared(None, comparator, 1))

    def max(self, comparator: Callable[[Any, Any], int]) -> "Stream":
        """The greatest tuple of each partition."""
        return self._compared(Compared(None, comparator, -1))

    def _compared(self, aggregator: Compared) -> "Stream":
        fields = self.node.fields
        return self.partition_aggregate(fields, aggregator, fields)

    # --- states -------------------------------------------------------------------------------

    def partition_persist(
        self,
        factory: StateFactory,
        input_fields: FieldNames,
        updater: StateUpdater,
        function_fields: FieldNames = None,
    ) -> "TridentState":
        """Write the tuples of each batch and partition into a state. TridentError without a
        StateFactory."""
        if not hasattr(factory, "make_state"):
            raise TridentError(f"a state is made by a StateFactory, not by {factory!r}")
        number = self.graph.next_number
        spec, selection = StateSpec(factory, number), self._selection(input_fields, "persist")
        processor = PersistProcessor(spec, updater, selection)
        fields = names_of(function_fields, "partition_persist")
        stream = self.processed(processor, fields, is_committer=True, state=number)
        return TridentState(stream, spec)

    def persistent_aggregate(
        self,
        factory: StateFactory,
        input_fields: FieldNames,
        aggregator: Any,
        function_fields: FieldNames,
    ) -> "TridentState":
        """Aggregate all tuples of all batches into a state of one value."""
        if isinstance(aggregator, CombinerAggregator):
            chain = ChainedAggregation(self, None, is_by_batch=False)
            stream: Stream = chain.aggregate(input_fields, aggregator, function_fields).chain_end()
            updater: StateUpdater = CombinerUpdater(aggregator, 0)
            return stream.partition_persist(factory, function_fields, updater, function_fields)
        _refuse_aggregator(aggregator)
        return self.global_().partition_persist(
            factory, input_fields, ReducerUpdater(aggregator, 0), function_fields
        )

    def state_query(
        self,
        state: "TridentState",
        input_fields: FieldNames,
        function: QueryFunction,
        function_fields: FieldNames,
    ) -> "Stream":
        """Look tuples up in a state; what the function emits is appended."""
        added = names_of(function_fields, "state_query")
        fields = appended(self.node.fields, added, "state_query")
        selection = self._selection(input_fields, "state_query")
        processor = QueryProcessor(state.spec, function, selection)
        return self.processed(processor, fields, state=state.spec.number)

    def to_stream(self) -> "Stream":
        """Itself."""
        return self

    getOutputFields, parallelismHint, flatMap = get_output_fields, parallelism_hint, flat_map
    localOrShuffle = local_or_shuffle
    applyAssembly, batchGlobal, partitionBy = apply_assembly, batch_global, partition_by
    identityPartition, groupBy, chainedAgg = identity_partition, group_by, chained_agg
    partitionAggregate, minBy, maxBy = partition_aggregate, min_by, max_by
    partitionPersist, persistentAggregate = partition_persist, persistent_aggregate
    stateQuery, toStream = state_query, to_stream


setattr(Stream, "global", Stream.global_)


class FunctionFilter(Filter):
    """A function of the tuple as a filter."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def is_keep(self, tup: Any) -> bool:
        """See Filter."""
        keep: bool = self._function(tup)
        return keep


def _function_of(what: str, operation: Any, method: str = "") -> Callable[..., Any]:
    function: Any = getattr(operation, method, operation) if method else operation
    if not callable(function):
        raise TridentError(f"{what} takes a function, not {operation!r}")
    called: Callable[..., Any] = function
    return called


def _refuse_aggregator(aggregator: Any) -> None:
    if not isinstance(aggregator, ReducerAggregator):
        raise TridentError(
            "persistent_aggregate takes a CombinerAggregator or a ReducerAggregator, not"
            f" {aggregator!r}"
        )


class TridentState:
    """A state in a topology: for queries, and for the stream of its new values.

    Example:

        counts = stream.group_by("word").persistent_aggregate(
            MemoryMapState.Factory(), None, Count(), "count"
        )
        counts.new_values_stream().peek(print)
    """

    def __init__(self, stream: Stream | None, spec: StateSpec) -> None:
        """`stream`: None for a query-only state."""
        self._updated = stream
        self.spec = spec

    @property
    def _stream(self) -> Stream:
        if self._updated is None:
            raise TridentError("a static state is only queried: it has no new values, and no tasks")
        return self._updated

    def new_values_stream(self) -> Stream:
        """Output of the updater; of an aggregation: the group's fields and the new value."""
        return self._stream

    def parallelism_hint(self, hint: int) -> "TridentState":
        """See Stream."""
        self._stream.parallelism_hint(hint)
        return self

    newValuesStream = new_values_stream
    parallelismHint = parallelism_hint


class GroupedStream(NamesMissing):
    """A stream grouped by some of its fields.

    Example:

        counts = stream.group_by("word").aggregate(["word"], Count(), ["count"])
    """

    def __init__(self, stream: Stream, group: Names) -> None:
        self._stream = stream
        self._group = group

    def get_group_fields(self) -> Names:
        """The fields of the groups."""
        return self._group

    def get_output_fields(self) -> Names:
        """All fields."""
        return self._stream.get_output_fields()

    def name(self, name: str) -> "GroupedStream":
        """See Stream."""
        return GroupedStream(self._stream.name(name), self._group)

    def each(
        self, input_fields: FieldNames, operation: Any, function_fields: FieldNames = None
    ) -> "GroupedStream":
        """See Stream; the groups stay."""
        return GroupedStream(
            self._stream.each(input_fields, operation, function_fields), self._group
        )

    def chained_agg(self) -> "ChainedAggregation[Stream]":
        """Several aggregations of each group, up to `chain_end`."""
        return ChainedAggregation(self._stream, self._group, is_by_batch=True)

    def partition_aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> Stream:
        """Aggregate the groups of a batch in each partition: the group's fields and the function's
        stay."""
        chain = self.chained_agg()
        return chain.partition_aggregate(input_fields, aggregator, function_fields).chain_end()

    def aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> Stream:
        """Aggregate the groups of a batch: the group's fields and the function's stay."""
        return self.chained_agg().aggregate(input_fields, aggregator, function_fields).chain_end()

    def persistent_aggregate(
        self,
        factory: StateFactory,
        input_fields: FieldNames,
        aggregator: Any,
        function_fields: FieldNames,
    ) -> TridentState:
        """Aggregate the groups of all batches into a map state."""
        added, size = names_of(function_fields, "persistent_aggregate"), len(self._group)
        fields = appended(self._group, added, "persistent_aggregate")
        if isinstance(aggregator, CombinerAggregator):
            combined = self.aggregate(input_fields, aggregator, added)
            updater: StateUpdater = CombinerUpdater(aggregator, size)
            return combined.partition_persist(factory, fields, updater, fields)
        _refuse_aggregator(aggregator)
        inputs = (*self._group, *names_of(input_fields, "persistent_aggregate"))
        # An aggregated field may also be a field of the group, and then occurs twice.
        selected = FieldSelection(self.get_output_fields(), inputs, "persistent_aggregate")
        stream = self._stream.partition_by(self._group)
        return _persisted(stream, factory, selected, ReducerUpdater(aggregator, size), fields)

    def state_query(
        self,
        state: TridentState,
        input_fields: FieldNames,
        function: QueryFunction,
        function_fields: FieldNames,
    ) -> Stream:
        """Look tuples up in the partition of a state that has their group."""
        stream = self._stream.partition_by(self._group)
        return stream.state_query(state, input_fields, function, function_fields)

    def to_stream(self) -> Stream:
        """Without groups."""
        return self._stream

    getGroupFields, getOutputFields, chainedAgg = get_group_fields, get_output_fields, chained_agg
    partitionAggregate, persistentAggregate = partition_aggregate, persistent_aggregate
    stateQuery, toStream = state_query, to_stream


def _persisted(
    stream: Stream,
    factory: StateFactory,
    selection: FieldSelection,
    updater: StateUpdater,
    fields: Names,
) -> TridentState:
    spec = StateSpec(factory, stream.graph.next_number)
    processor = PersistProcessor(spec, updater, selection)
    updated = stream.processed(processor, fields, is_committer=True, state=spec.number)
    return TridentState(updated, spec)
