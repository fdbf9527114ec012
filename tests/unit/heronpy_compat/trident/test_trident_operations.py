"""T5, N2: what each operation makes of batches, in the tester."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heronpy_compat import ICustomGrouping
from heronpy_compat.testing import TopologyTester
from heronpy_compat.trident import (
    Aggregator,
    Count,
    Equals,
    Filter,
    FilterNull,
    FirstN,
    FixedBatchSpout,
    Function,
    GroupedMultiReducer,
    JoinOutFieldsMode,
    JoinType,
    MapGet,
    MemoryMapState,
    MultiReducer,
    Negate,
    ReducerAggregator,
    SnapshotGet,
    StateFactory,
    Stream,
    Sum,
    TridentError,
    TridentTopology,
    TupleCollectionGet,
)
from tests.unit.heronpy_compat.trident.trident_support import AT_ONCE, SEEN, Split, see

Build = Callable[[Stream], Any]
PAIRS: tuple[list[Any], ...] = (["a", 1], ["b", 2], ["a", 3], ["c", None])


@pytest.fixture(autouse=True)
def nothing_seen() -> Iterator[None]:
    SEEN.clear()
    yield
    SEEN.clear()


def pairs(*rows: Any, size: int = 10) -> FixedBatchSpout:
    return FixedBatchSpout(["key", "number"], size, *(rows or PAIRS))


def seen_of(topology: TridentTopology) -> list[list[Any]]:
    with TopologyTester(topology.build("Operations", AT_ONCE)) as tester:
        tester.run_spouts()
    return SEEN


def results(build: Build, spout: FixedBatchSpout | None = None) -> list[list[Any]]:
    topology = TridentTopology()
    stream = build(topology.new_stream("pairs", spout or pairs()))
    stream.peek(see)
    return seen_of(topology)


class Twice(Function):
    """A number's double and triple, or no output for None."""

    def execute(self, tup: Any, collector: Any) -> None:
        if tup["number"] is not None:
            collector.emit([tup["number"] * 2, tup["number"] * 3])


class Odd(Filter):
    """Odd numbers."""

    def is_keep(self, tup: Any) -> bool:
        return bool(tup[0] is not None and tup[0] % 2)


class Listed(ReducerAggregator):
    """All numbers as a list."""

    def init(self) -> list[Any]:
        return []

    def reduce(self, current: Any, tup: Any) -> Any:
        return [*current, tup[0]]


class Twins(Aggregator):
    """Each number twice, at once."""

    def init(self, batch_id: Any, collector: Any) -> None:
        return None

    def aggregate(self, value: Any, tup: Any, collector: Any) -> None:
        collector.emit([tup[0]])
        collector.emit([tup[0]])

    def complete(self, value: Any, collector: Any) -> None:
        return None


class Second(ICustomGrouping):
    """The second task."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return [self.tasks[1]]


def test_each_appends_what_its_function_emits() -> None:
    made = results(lambda stream: stream.each(["number"], Twice(), ["double", "triple"]))
    assert made == [["a", 1, 2, 3], ["b", 2, 4, 6], ["a", 3, 6, 9]]


@pytest.mark.parametrize(
    ("build", "rows"),
    [
        (lambda stream: stream.each("number", Odd()), [["a", 1], ["a", 3]]),
        (lambda stream: stream.each("number", Negate(Odd())), [["b", 2], ["c", None]]),
        (lambda stream: stream.filter("number", FilterNull()), [*PAIRS[:3]]),
        (lambda stream: stream.filter(lambda tup: tup["key"] == "b"), [["b", 2]]),
        (lambda stream: stream.each(["key", "key2"], Equals()), None),
        (lambda stream: stream.project(["number"]), [[1], [2], [3], [None]]),
        (lambda stream: stream.project(["number", "key"]).filter(lambda tup: tup[0] == 3),
         [[3, "a"]]),
        (lambda stream: stream.map(lambda tup: (tup[1], tup[0])).filter("key", Odd()),
         [[1, "a"], [3, "a"]]),
        (lambda stream: stream.map(lambda tup: tup["key"] * 2, "twice"),
         [["aa"], ["bb"], ["aa"], ["cc"]]),
        (lambda stream: stream.flatMap(lambda tup: [[tup[0]]] * (tup[1] or 0), "key"),
         [["a"], ["b"], ["b"], ["a"], ["a"], ["a"]]),
    ],
)  # fmt: skip
def test_operations_on_tuples(build: Build, rows: list[list[Any]] | None) -> None:
    if rows is None:
        with pytest.raises(ValueError, match="unknown field 'key2'"):
            results(build)
        return
    assert results(build) == rows


@pytest.mark.parametrize(
    ("build", "rows"),
    [
        (lambda stream: stream.aggregate("key", Count(), "count"), [[4], [0]]),
        (lambda stream: stream.partitionAggregate("key", Count(), "count"), [[4], [0]]),
        (lambda stream: stream.aggregate("number", Listed(), "all"), [[[1, 2, 3, None]], [[]]]),
        (lambda stream: stream.groupBy("key").aggregate("key", Count(), "count"),
         [["a", 2], ["b", 1], ["c", 1]]),
        (lambda stream: stream.groupBy("key").aggregate("number", Listed(), "all"),
         [["a", [1, 3]], ["b", [2]], ["c", [None]]]),
        (lambda stream: stream.groupBy("key").partitionAggregate("number", Twins(), "twin"),
         [["a", 1], ["a", 1], ["b", 2], ["b", 2], ["a", 3], ["a", 3], ["c", None], ["c", None]]),
        (lambda stream: stream.filter("number", FilterNull()).chainedAgg()
         .aggregate("key", Count(), "count").aggregate("number", Sum(), "sum").chainEnd(),
         [[3, 6], [0, 0]]),
        (lambda stream: stream.filter("number", FilterNull()).groupBy("key").chainedAgg()
         .aggregate("key", Count(), "count").aggregate("number", Sum(), "sum").chainEnd(),
         [["a", 2, 4], ["b", 1, 2]]),
        (lambda stream: stream.chainedAgg().partitionAggregate("key", Count(), "count")
         .partitionAggregate("number", Twins(), "twin").chainEnd(),
         [[4, number] for number in (1, 1, 2, 2, 3, 3, None, None)]),
        (lambda stream: stream.filter("number", FilterNull()).maxBy("number"), [["a", 3]]),
        (lambda stream: stream.minBy("key"), [["a", 1]]),
        (lambda stream: stream.max(lambda left, right: len(left) - len(right)), [["a", 1]]),
        (lambda stream: stream.applyAssembly(FirstN(2, "key", True)), [["c", None], ["b", 2]]),
        (lambda stream: stream.applyAssembly(FirstN(1)), [["a", 1]]),
    ],
)  # fmt: skip
def test_aggregations(build: Build, rows: list[list[Any]]) -> None:
    """Of a batch, and of a following empty batch."""
    topology = TridentTopology()
    # The second spout continues for a batch: the batch of the pairs is empty.
    other = topology.new_stream("other", pairs(["x", 0], ["x", 0], size=1))
    stream = build(topology.new_stream("pairs", pairs()))
    stream.peek(see)
    empty = other.filter(lambda tup: False).project(stream.get_output_fields()[:0])
    topology.merge([], [stream.project([]), empty])
    assert sorted(seen_of(topology), key=repr) == sorted(rows, key=repr)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize(
    "repartition",
    [
        lambda stream: stream.shuffle(),
        lambda stream: stream.partitionBy("key"),
        lambda stream: stream.batchGlobal(),
        lambda stream: getattr(stream, "global")(),
        lambda stream: stream.identityPartition(),
    ],
)
def test_a_repartitioning_keeps_each_tuple_once(repartition: Build, tasks: int) -> None:
    made = results(lambda stream: repartition(stream).project("key").parallelismHint(tasks))
    assert sorted(made) == [["a"], ["a"], ["b"], ["c"]]


def test_broadcast_and_partition() -> None:
    assert len(results(lambda stream: stream.broadcast().project("key").parallelismHint(3))) == 12
    SEEN.clear()
    made = results(lambda stream: stream.partition(Second()).project("key").parallelismHint(2))
    assert len(made) == 4


def test_persistent_aggregates_of_all_tuples() -> None:
    """N2: batch by batch, a new value for each; a reducer has none for an empty batch."""
    made = results(
        lambda stream: stream.persistentAggregate(
            MemoryMapState.Factory(), "key", Count(), "count"
        ).newValuesStream(),
        pairs(size=2),
    )
    assert made == [[2], [4]]
    SEEN.clear()
    made = results(
        lambda stream: stream.persistentAggregate(
            MemoryMapState.Factory(), "number", Listed(), "all"
        ).newValuesStream(),
        pairs(size=3),
    )
    assert made == [[[1, 2, 3]], [[1, 2, 3, None]]]


def test_persistent_aggregates_by_group() -> None:
    made = results(
        lambda stream: (
            stream.groupBy("key")
            .persistentAggregate(MemoryMapState.transactional(), "number", Listed(), "all")
            .newValuesStream()
        ),
        pairs(size=2),
    )
    assert made == [["a", [1]], ["b", [2]], ["a", [1, 3]], ["c", [None]]]


def queried(function: Any, fields: Any, factory: StateFactory) -> list[list[Any]]:
    """A stream of questions to the counts of two batches, answered behind each."""
    topology = TridentTopology()
    counts = (
        topology.new_stream("pairs", pairs(size=2))
        .group_by("key")
        .persistent_aggregate(factory, None, Count(), "count")
    )
    questions = FixedBatchSpout("question", 1, ["a c"], ["a c"], ["a c"], ["a c"])
    words = topology.new_stream("questions", questions).each("question", Split(), "word")
    words.group_by("word").state_query(counts, "word", function, fields).to_stream().peek(see)
    return seen_of(topology)


def test_a_query_of_a_map_state() -> None:
    """T4: by a separate stream, in the partition of its group."""
    made = queried(MapGet(), "count", MemoryMapState.Factory())
    assert made[-2:] == [["a c", "a", 2], ["a c", "c", 1]]


def test_a_query_of_all_rows() -> None:
    made = queried(TupleCollectionGet(), ["key", "count"], MemoryMapState.Factory())
    assert sorted(made[-6:]) == [
        ["a c", word, key, count]
        for word in ("a", "c")
        for key, count in (("a", 2), ("b", 1), ("c", 1))
    ]


def test_a_static_state() -> None:
    topology = TridentTopology()
    state = topology.newStaticState(Fixed())
    topology.new_stream("pairs", pairs()).state_query(state, "key", MapGet(), "found").state_query(
        state, None, SnapshotGet(), "snapshot"
    ).peek(see)
    assert seen_of(topology)[0] == ["a", 1, "found a", "all"]
    with pytest.raises(ValueError, match="a static state is only queried"):
        state.new_values_stream()


class Fixed(StateFactory):
    """A state of answers."""

    def make_state(self, conf: Any, context: Any, partition_index: int, num_partitions: int) -> Any:
        return self

    def multi_get(self, keys: list[Any]) -> list[Any]:
        return [f"found {key[0]}" for key in keys]

    def get(self) -> str:
        return "all"


@pytest.mark.parametrize(
    ("types", "mode", "fields", "rows"),
    [
        (JoinType.INNER, JoinOutFieldsMode.COMPACT, ["key", "number", "name"],
         [["a", 1, "A"], ["a", 3, "A"]]),
        ([JoinType.INNER, JoinType.OUTER], JoinOutFieldsMode.COMPACT, ["key", "number", "name"],
         [["a", 1, "A"], ["a", 3, "A"], ["b", 2, None], ["c", None, None]]),
        ([JoinType.OUTER, JoinType.INNER], JoinOutFieldsMode.COMPACT, ["key", "number", "name"],
         [["a", 1, "A"], ["a", 3, "A"], ["d", None, "D"]]),
        (JoinType.INNER, JoinOutFieldsMode.PRESERVE, ["key", "number", "id", "name"],
         [["a", 1, "a", "A"], ["a", 3, "a", "A"]]),
    ],
)  # fmt: skip
def test_joins(types: Any, mode: JoinOutFieldsMode, fields: list[str], rows: Any) -> None:
    topology = TridentTopology()
    left = topology.new_stream("pairs", pairs()).parallelism_hint(2)
    names = topology.new_stream("names", FixedBatchSpout(["id", "name"], 9, ["a", "A"], ["d", "D"]))
    topology.join([left, names], ["key", "id"], fields, types, mode).peek(see)
    assert sorted(seen_of(topology), key=repr) == sorted(rows, key=repr)


def test_merge() -> None:
    topology = TridentTopology()
    first = topology.new_stream("pairs", pairs())
    second = topology.new_stream("names", FixedBatchSpout(["id", "name"], 9, ["a", "A"]))
    merged = topology.merge([first, second.shuffle()])
    assert merged.get_output_fields() == ("key", "number")
    merged.peek(see)
    assert sorted(seen_of(topology), key=repr) == sorted([*PAIRS, ["a", "A"]], key=repr)


class Difference(MultiReducer):
    """Sum of the first stream's numbers without those of the second."""

    def init(self, collector: Any) -> list[int]:
        return [0]

    def execute(self, value: list[int], stream_index: int, tup: Any, collector: Any) -> None:
        value[0] += tup["number"] if stream_index == 0 else -tup["number"]

    def complete(self, value: list[int], collector: Any) -> None:
        collector.emit(value)


class DifferenceByKey(GroupedMultiReducer):
    """Likewise for each key."""

    def init(self, collector: Any, group: Any) -> list[int]:
        return [0]

    def execute(
        self, value: list[int], stream_index: int, group: Any, tup: Any, collector: Any
    ) -> None:
        value[0] += tup["number"] if stream_index == 0 else -tup["number"]

    def complete(self, value: list[int], group: Any, collector: Any) -> None:
        collector.emit([f"{group[0]}!", *value])


def two_streams() -> tuple[TridentTopology, Stream, Stream]:
    """Numbers by key, of one batch each."""
    topology = TridentTopology()
    left = topology.new_stream("left", pairs(["a", 5], ["b", 7], ["a", 1]))
    return topology, left, topology.new_stream("right", pairs(["a", 2], ["c", 4]))


def test_a_multi_reducer_sees_the_tuples_of_all_streams() -> None:
    topology, left, right = two_streams()
    topology.multiReduce(["number"], left, ["number"], right, Difference(), ["rest"]).peek(see)
    assert seen_of(topology) == [[7]]


def test_a_grouped_multi_reducer_sees_the_tuples_of_a_group() -> None:
    topology, left, right = two_streams()
    grouped = [stream.group_by("key") for stream in (left, right)]
    given = [["number"], ["number"]]
    topology.multi_reduce(given, grouped, DifferenceByKey(), ["name", "rest"]).peek(see)
    assert sorted(seen_of(topology)) == [["a", "a!", 4], ["b", "b!", 7], ["c", "c!", -4]]


def test_a_multi_reduction_that_does_not_fit_is_refused() -> None:
    topology, left, right = two_streams()
    for arguments, problem in (
        ((left, right, DifferenceByKey(), ["rest"]), "takes grouped streams"),
        (([["number"]], [left, right], Difference(), ["rest"]), "fields for each of its streams"),
        (
            (left.group_by("key"), right.group_by(["key", "number"]), DifferenceByKey(), ["rest"]),
            "as many fields as the first",
        ),
        ((left, left, Difference(), ["rest"]), "combined with itself"),
    ):
        with pytest.raises(TridentError, match=problem):
            topology.multi_reduce(*arguments)
