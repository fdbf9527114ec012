"""Built-in operations of Trident."""

from collections.abc import Callable
from typing import Any

from heronpy_compat.trident.operations import (
    Aggregator,
    CombinerAggregator,
    Filter,
    Operation,
    QueryFunction,
    TridentCollector,
    TridentOperationContext,
)
from heronpy_compat.trident.tuples import TridentTuple


class Count(CombinerAggregator):
    """Number of tuples."""

    def init(self, tup: TridentTuple) -> int:
        """See CombinerAggregator."""
        return 1

    def combine(self, first: int, second: int) -> int:
        """See CombinerAggregator."""
        return first + second

    def zero(self) -> int:
        """See CombinerAggregator."""
        return 0


class CountAsAggregator(Aggregator):
    """Number of tuples, as an Aggregator, e.g. for a window."""

    def init(self, batch_id: Any, collector: TridentCollector) -> list[int]:
        """See Aggregator."""
        return [0]

    def aggregate(self, value: list[int], tup: TridentTuple, collector: TridentCollector) -> None:
        """See Aggregator."""
        value[0] += 1

    def complete(self, value: list[int], collector: TridentCollector) -> None:
        """See Aggregator."""
        collector.emit(value)


class Sum(CombinerAggregator):
    """The sum of the first field."""

    def init(self, tup: TridentTuple) -> Any:
        """See CombinerAggregator."""
        return tup.values[0]

    def combine(self, first: Any, second: Any) -> Any:
        """See CombinerAggregator."""
        return first + second

    def zero(self) -> Any:
        """See CombinerAggregator."""
        return 0


class FilterNull(Filter):
    """Drops tuples with None in a selected field."""

    def is_keep(self, tup: TridentTuple) -> bool:
        """See Filter."""
        return all(value is not None for value in tup.values)


class Equals(Filter):
    """Keeps tuples whose selected fields are all equal.

    Example:

        palindromes = stream.each(["word", "reversed"], Equals())
    """

    def is_keep(self, tup: TridentTuple) -> bool:
        """See Filter."""
        return all(value == tup.values[0] for value in tup.values)


class Negate(Filter):
    """Inverts a filter.

    Example:

        short = stream.each(["word"], Negate(Long()))
    """

    def __init__(self, inner: Filter) -> None:
        self._inner = inner

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """See Operation."""
        self._inner.prepare(conf, context)

    def is_keep(self, tup: TridentTuple) -> bool:
        """See Filter."""
        return not self._inner.is_keep(tup)


class Debug(Filter):
    """Prints and keeps each tuple."""

    def __init__(self, name: str = "DEBUG: ") -> None:
        self._name = name

    def is_keep(self, tup: TridentTuple) -> bool:
        """See Filter."""
        print(f"{self._name}{list(tup.values)}", flush=True)
        return True


class Compared(Aggregator):
    """Emits the smallest or largest tuple of a partition; the first of equal tuples."""

    def __init__(self, field: str | None, comparator: Callable[[Any, Any], int] | None, sign: int):
        """`sign`: 1 for the least, -1 for the greatest."""
        self._field = field
        self._comparator = comparator
        self._sign = sign

    def init(self, batch_id: Any, collector: TridentCollector) -> list[TridentTuple]:
        """See Aggregator."""
        return []

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        if not value:
            value.append(tup)
        elif self._compare(tup, value[0]) * self._sign < 0:
            value[0] = tup

    def _compare(self, first: TridentTuple, second: TridentTuple) -> int:
        left, right = self._compared(first), self._compared(second)
        if self._comparator is not None:
            return self._comparator(left, right)
        return int(left > right) - int(left < right)

    def _compared(self, tup: TridentTuple) -> Any:
        return tup if self._field is None else tup.get_value_by_field(self._field)

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See Aggregator; an empty partition emits no tuple."""
        for tup in value:
            collector.emit(tup.values)


class FirstTuples(Aggregator):
    """The first tuples of a partition, sorted by a field if given."""

    def __init__(self, number: int, field: str | None, is_reversed: bool) -> None:
        self._number = number
        self._field = field
        self._is_reversed = is_reversed

    def init(self, batch_id: Any, collector: TridentCollector) -> list[TridentTuple]:
        """See Aggregator."""
        return []

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """See Aggregator."""
        if self._field is not None or len(value) < self._number:
            value.append(tup)

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """See Aggregator."""
        if (field := self._field) is not None:
            value.sort(key=lambda tup: tup.get_value_by_field(field), reverse=self._is_reversed)
        for tup in value[: self._number]:
            collector.emit(tup.values)


class FirstN(Operation):
    """For `apply_assembly`: the first tuples of a batch, sorted by a field if given.

    Example:

        largest = stream.apply_assembly(FirstN(10, "count", reverse=True))
    """

    def __init__(self, number: int, sort_field: str | None = None, reverse: bool = False) -> None:
        self._first = FirstTuples(number, sort_field, reverse)

    def apply(self, stream: Any) -> Any:
        """First select within each partition, then among the selected tuples."""
        fields = stream.get_output_fields()
        parts = stream.partition_aggregate(fields, self._first, fields)
        return parts.batch_global().partition_aggregate(fields, self._first, fields)


class MapGet(QueryFunction):
    """The value of a map state; None for an unknown key."""

    def batch_retrieve(self, state: Any, tuples: list[TridentTuple]) -> list[Any]:
        """See QueryFunction."""
        values: list[Any] = state.multi_get([tuple(tup.values) for tup in tuples])
        return values

    def execute(self, tup: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """See QueryFunction."""
        collector.emit([result])


class SnapshotGet(QueryFunction):
    """The value of a single-value state.

    Example:

        total = requests.state_query(state, [], SnapshotGet(), ["total"])
    """

    def batch_retrieve(self, state: Any, tuples: list[TridentTuple]) -> list[Any]:
        """See QueryFunction."""
        return [state.get()] * len(tuples)

    def execute(self, tup: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """See QueryFunction."""
        collector.emit([result])


class TupleCollectionGet(QueryFunction):
    """All rows of a state, each emitted for each tuple.

    Example:

        rows = requests.state_query(state, [], TupleCollectionGet(), ["word", "count"])
    """

    def batch_retrieve(self, state: Any, tuples: list[TridentTuple]) -> list[Any]:
        """See QueryFunction."""
        return [state.get_tuples()] * len(tuples)

    def execute(self, tup: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """See QueryFunction."""
        for row in result:
            collector.emit(row)
