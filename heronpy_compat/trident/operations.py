"""User operations of Trident: functions, filters, aggregators and multi-reducers."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from heron_api.java_names import CalledByEngine
from heronpy_compat.trident.tuples import TridentTuple


class TridentCollector(Protocol):
    """Collects the output of an operation.

    Example:

        class Split(Function):
            def execute(self, tup, collector):
                for word in tup["sentence"].split():
                    collector.emit([word])
    """

    def emit(self, values: Sequence[Any]) -> None:
        """Emit the values of the operation's own fields."""

    def report_error(self, error: BaseException) -> None:
        """Report an error of the component; the batch continues."""


class TridentOperationContext:
    """Context of an operation, passed to `prepare`.

    Example:

        class Sample(Filter):
            def prepare(self, conf, context):
                self.is_first = context.get_partition_index() == 0

            def is_keep(self, tup):
                return self.is_first
    """

    def __init__(self, context: Any, partition_index: int, num_partitions: int) -> None:
        self.topology_context = context
        self.partition_index = partition_index
        self.num_partitions = num_partitions

    def get_partition_index(self) -> int:
        """Index of the operation's partition, from 0."""
        return self.partition_index

    def get_num_partitions(self) -> int:
        """Number of partitions of the operation."""
        return self.num_partitions

    def register_metric(self, name: str, metric: Any, time_bucket_in_sec: int) -> Any:
        """See TopologyContext."""
        self.topology_context.register_metric(name, metric, time_bucket_in_sec)
        return metric

    getPartitionIndex = get_partition_index
    numPartitions = get_num_partitions


class Operation(CalledByEngine):
    """Base of all operations.

    Example:

        class Fetch(Function):
            def prepare(self, conf, context):
                self.cache = {}

            def execute(self, tup, collector):
                collector.emit([self.cache.setdefault(tup[0], len(self.cache))])

            def cleanup(self):
                self.cache.clear()
    """

    def prepare(self, conf: dict[str, Any], context: TridentOperationContext) -> None:
        """Called once in each process, before the first batch."""

    def cleanup(self) -> None:
        """Called when the process ends gracefully."""


class Function(Operation):
    """Emits any number of times per tuple; output is appended to the tuple's fields.

    Example:

        class Split(BaseFunction):
            def execute(self, tup, collector):
                for word in tup[0].split():
                    collector.emit([word])
    """

    def execute(self, tup: TridentTuple, collector: TridentCollector) -> None:
        """Process one tuple."""
        raise NotImplementedError(
            f"{type(self).__name__} must define execute(self, tup, collector)"
        )


class Filter(Operation):
    """Selects tuples.

    Example:

        class Long(BaseFilter):
            def is_keep(self, tup):
                return len(tup[0]) > 5
    """

    def is_keep(self, tup: TridentTuple) -> bool:
        """Whether the tuple stays."""
        raise NotImplementedError(f"{type(self).__name__} must define is_keep(self, tup)")


class MapFunction(Operation):
    """Replaces each tuple by one tuple.

    Example:

        class Upper(MapFunction):
            def execute(self, tup):
                return [tup[0].upper()]
    """

    def execute(self, tup: TridentTuple) -> Any:
        """The values of the new tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, tup)")


class FlatMapFunction(Operation):
    """Replaces each tuple by any number of tuples.

    Example:

        class Words(FlatMapFunction):
            def execute(self, tup):
                return [[word] for word in tup[0].split()]
    """

    def execute(self, tup: TridentTuple) -> Iterable[Any]:
        """The values of each new tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, tup)")


class Consumer(Operation):
    """Sees the tuples of `peek`.

    Example:

        class Show(Consumer):
            def accept(self, tup):
                print(tup["word"], tup["count"])
    """

    def accept(self, tup: TridentTuple) -> None:
        """One tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define accept(self, tup)")


class Aggregator(Operation):
    """Aggregates the tuples of a batch, or of a group within a batch, with emits at any time.

    `aggregate` may change the value in place and return None.

    Example:

        class Distinct(Aggregator):
            def init(self, batch_id, collector):
                return set()

            def aggregate(self, value, tup, collector):
                value.add(tup[0])

            def complete(self, value, collector):
                collector.emit([len(value)])
    """

    def init(self, batch_id: Any, collector: TridentCollector) -> Any:
        """The value before the first tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define init(...)")

    def aggregate(self, value: Any, tup: TridentTuple, collector: TridentCollector) -> Any:
        """The value after one more tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define aggregate(...)")

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """The batch has no more tuples: emit."""
        raise NotImplementedError(f"{type(self).__name__} must define complete(...)")


class CombinerAggregator(Operation):
    """One value for each batch or group, combined in any order: partly before tuples travel.

    Example:

        class Sum(CombinerAggregator):
            def init(self, tup):
                return tup[0]

            def combine(self, first, second):
                return first + second

            def zero(self):
                return 0
    """

    def init(self, tup: TridentTuple) -> Any:
        """The value of one tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define init(self, tup)")

    def combine(self, first: Any, second: Any) -> Any:
        """The value of two values."""
        raise NotImplementedError(f"{type(self).__name__} must define combine(...)")

    def zero(self) -> Any:
        """The value of no tuples."""
        raise NotImplementedError(f"{type(self).__name__} must define zero(self)")


class ReducerAggregator(Operation):
    """One value per batch or group, computed tuple by tuple.

    Example:

        class Longest(ReducerAggregator):
            def init(self):
                return 0

            def reduce(self, current, tup):
                return max(current, len(tup[0]))
    """

    def init(self) -> Any:
        """The value of no tuples."""
        raise NotImplementedError(f"{type(self).__name__} must define init(self)")

    def reduce(self, current: Any, tup: TridentTuple) -> Any:
        """The value after one more tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define reduce(...)")


class MultiReducer(Operation):
    """Like an Aggregator, over the tuples of several streams.

    Example:

        class Difference(MultiReducer):
            def init(self, collector):
                return [0, 0]

            def execute(self, value, stream_index, tup, collector):
                value[stream_index] += 1

            def complete(self, value, collector):
                collector.emit([value[0] - value[1]])
    """

    def init(self, collector: TridentCollector) -> Any:
        """The value before the first tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define init(...)")

    def execute(
        self, value: Any, stream_index: int, tup: TridentTuple, collector: TridentCollector
    ) -> None:
        """Process one tuple of the numbered stream; change the value in place."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(...)")

    def complete(self, value: Any, collector: TridentCollector) -> None:
        """The batch has no more tuples: emit."""
        raise NotImplementedError(f"{type(self).__name__} must define complete(...)")


class GroupedMultiReducer(Operation):
    """Like a MultiReducer, per group of grouped streams.

    Example:

        class Difference(GroupedMultiReducer):
            def init(self, collector, group):
                return [0, 0]

            def execute(self, value, stream_index, group, tup, collector):
                value[stream_index] += 1

            def complete(self, value, group, collector):
                collector.emit([value[0] - value[1]])
    """

    def init(self, collector: TridentCollector, group: TridentTuple) -> Any:
        """The value before the first tuple of a group."""
        raise NotImplementedError(f"{type(self).__name__} must define init(...)")

    def execute(
        self,
        value: Any,
        stream_index: int,
        group: TridentTuple,
        tup: TridentTuple,
        collector: TridentCollector,
    ) -> None:
        """One tuple of a group; the value is changed in place."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(...)")

    def complete(self, value: Any, group: TridentTuple, collector: TridentCollector) -> None:
        """The batch has no more tuples: emit; the group's fields are put in front."""
        raise NotImplementedError(f"{type(self).__name__} must define complete(...)")


class QueryFunction(Operation):
    """Looks tuples up in a state.

    Example:

        class Population(QueryFunction):
            def batch_retrieve(self, state, tuples):
                return state.multi_get([[tup["city"]] for tup in tuples])

            def execute(self, tup, result, collector):
                collector.emit([result])
    """

    def batch_retrieve(self, state: Any, tuples: list[TridentTuple]) -> list[Any]:
        """A result for each tuple, in their order."""
        raise NotImplementedError(f"{type(self).__name__} must define batch_retrieve(...)")

    def execute(self, tup: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """Emit the output for a tuple's result; values are appended to the tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(...)")


class StateUpdater(Operation):
    """Writes the tuples of a batch into a state.

    Example:

        class Put(StateUpdater):
            def update_state(self, state, tuples, collector):
                state.multi_put([[tup[0]] for tup in tuples], [tup[1] for tup in tuples])
    """

    def update_state(
        self, state: Any, tuples: list[TridentTuple], collector: TridentCollector
    ) -> None:
        """All tuples of a batch and partition, in their order; never none."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state(...)")


BaseFunction = Function
BaseFilter = Filter
BaseAggregator = Aggregator
BaseOperation = Operation
BaseQueryFunction = QueryFunction
BaseStateUpdater = StateUpdater
