"""Chained aggregations of one stream, and their distribution."""

from typing import Any, Generic, Protocol, Self, TypeVar

from heronpy_compat.trident.aggregation import (
    ChainedAggregator,
    ChainLink,
    CombinePartial,
    CombineTuples,
    GroupedAggregator,
    SingleEmitAggregator,
    as_aggregator,
)
from heronpy_compat.trident.errors import TridentError
from heronpy_compat.trident.execution.processors import AggregateProcessor
from heronpy_compat.trident.operations import Aggregator, CombinerAggregator, ReducerAggregator
from heronpy_compat.trident.tuples import FieldNames, FieldSelection, Names, appended, names_of

StreamKind = TypeVar("StreamKind", bound="AggregatedStream")


class AggregatedStream(Protocol):
    """Interface of a stream for a chain."""

    def get_output_fields(self) -> Names:
        """Its fields."""

    def processed(self, processor: Any, fields: Names) -> Self:
        """Apply a processor to the stream."""

    def partition_by(self, fields: FieldNames) -> Self:
        """See Stream."""

    def batch_global(self) -> Self:
        """See Stream."""

    def global_(self) -> Self:
        """See Stream."""


class ChainedAggregation(Generic[StreamKind]):
    """Several aggregations of one stream."""

    def __init__(self, stream: StreamKind, group: Names | None, is_by_batch: bool) -> None:
        """`group`: the fields of a grouped stream; `is_by_batch`: where all tuples of a batch meet
        is by its id, else it is the first partition."""
        self._stream = stream
        self._group = group
        self._is_by_batch = is_by_batch
        self._links: list[tuple[FieldSelection, Any, Names]] = []
        self._is_whole: bool | None = None

    def aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> "ChainedAggregation[StreamKind]":
        """Aggregation over all tuples of a batch."""
        return self._add(input_fields, aggregator, function_fields, is_whole=True)

    def partition_aggregate(
        self, input_fields: FieldNames, aggregator: Any, function_fields: FieldNames
    ) -> "ChainedAggregation[StreamKind]":
        """Aggregation over a batch's tuples in a partition."""
        return self._add(input_fields, aggregator, function_fields, is_whole=False)

    def _add(
        self, fields: FieldNames, aggregator: Any, added: FieldNames, is_whole: bool
    ) -> "ChainedAggregation[StreamKind]":
        if self._is_whole not in (None, is_whole):
            raise TridentError("a chain has aggregate or partition_aggregate, not both")
        if not isinstance(aggregator, (Aggregator, CombinerAggregator, ReducerAggregator)):
            raise TridentError(f"aggregate takes an aggregator of the three kinds: {aggregator!r}")
        self._is_whole = is_whole
        selection = FieldSelection(
            self._stream.get_output_fields(), names_of(fields, "aggregate"), "aggregate"
        )
        self._links.append((selection, aggregator, names_of(added, "aggregate")))
        return self

    def chain_end(self) -> StreamKind:
        """The stream of the results: a row for each combination of what the chain's parts emit."""
        if not self._links:
            raise TridentError("the chain has no aggregation")
        added = names_of([name for _, _, names in self._links for name in names], "aggregate")
        appended(self._group or (), added, "aggregate")
        fields = self._stream.get_output_fields()
        if not self._is_whole:
            return self._aggregated(self._stream, self._chain(), fields, added, single=False)
        if all(isinstance(aggregator, CombinerAggregator) for _, aggregator, _ in self._links):
            return self._combined(added)
        return self._aggregated(
            self._gathered(self._stream), self._chain(), fields, added, single=True
        )

    def _combined(self, added: Names) -> StreamKind:
        """Combine in each partition, then combine the partial results in the target partition."""
        parts = [ChainLink(CombineTuples(agg), selection) for selection, agg, _ in self._links]
        fields = self._stream.get_output_fields()
        partial = self._aggregated(self._stream, parts, fields, added, single=False)
        wholes = [
            ChainLink(CombinePartial(agg), FieldSelection(added, names, "aggregate"))
            for _, agg, names in self._links
        ]
        return self._aggregated(self._gathered(partial), wholes, added, added, single=True)

    def _chain(self) -> list[ChainLink]:
        return [
            ChainLink(as_aggregator(aggregator), selection)
            for selection, aggregator, _ in self._links
        ]

    def _gathered(self, stream: StreamKind) -> StreamKind:
        if self._group is not None:
            return stream.partition_by(self._group)
        return stream.batch_global() if self._is_by_batch else stream.global_()

    def _aggregated(
        self,
        stream: StreamKind,
        links: list[ChainLink],
        base: Names,
        added: Names,
        single: bool,
    ) -> StreamKind:
        """`base`: the fields that the links select from; `single`: all tuples of a batch meet."""
        fields = stream.get_output_fields()
        aggregator: Aggregator = ChainedAggregator(links)
        if self._group is not None:
            aggregator = GroupedAggregator(aggregator, fields, self._group, base)
        elif single:
            aggregator = SingleEmitAggregator(aggregator, self._is_by_batch)
        processor = AggregateProcessor(aggregator, FieldSelection(fields, fields, "aggregate"))
        return stream.processed(processor, (*(self._group or ()), *added))

    partitionAggregate, chainEnd = partition_aggregate, chain_end
