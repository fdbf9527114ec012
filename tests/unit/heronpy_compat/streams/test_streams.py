"""Storm's Streams API against plain Python."""

from collections import Counter
from itertools import accumulate, product
from random import Random
from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.topology import TopologyBuilder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streams import (
    CombinerAggregator,
    Count,
    Duration,
    PairStream,
    PairValueMapper,
    SlidingWindows,
    StateUpdater,
    Stream,
    StreamBuilder,
    Sum,
    TumblingWindows,
    TupleValueMapper,
    ValueMapper,
)
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.streams.streams_support import UNFUSED, given, printed

NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
PAIRS = [(number % 3, number) for number in NUMBERS]
BY_THREE = TumblingWindows.of(Count.of(3))
MODES = ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"]


class Quotes(Spout):
    """Three quotes."""

    outputs = ["symbol", "price", "place"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = [["a", 1, "x"], ["b", 2, "y"], ["a", 3, "x"]][: config.get("quotes", 3)]

    def next_tuple(self) -> None:
        if self.left:
            self.emit(self.left.pop(0))
        else:
            self.finish()


class Shown(Bolt):
    """Logs the values of its tuples."""

    def process(self, tup: Any) -> None:
        self.logger.info("%s", {name: tup[name] for name in self.fields(tup)})
        self.ack(tup)

    def fields(self, tup: Any) -> list[str]:
        """Of the tuple's stream."""
        return ["key", "value"] if len(tup.values) == 2 else ["value"]


def numbers(builder: StreamBuilder) -> Stream:
    """The numbers."""
    found: Stream = builder.newStream(given(NUMBERS))
    return found


def pairs(builder: StreamBuilder) -> PairStream:
    """The pairs."""
    return builder.newStream(given(PAIRS)).mapToPair(lambda pair: pair)  # type: ignore[no-any-return]


def chunks(items: list[Any], size: int) -> list[list[Any]]:
    """Tumbling windows of the elements; the last may be shorter."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def grouped(items: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """key -> its values."""
    values: dict[Any, list[Any]] = {}
    for key, value in items:
        values.setdefault(key, []).append(value)
    return values


def test_elements_one_by_one() -> None:
    """map, filter, flatMap, peek: in order."""
    found = printed(
        lambda builder: (
            numbers(builder)
            .filter(lambda number: number > 2)
            .peek(lambda number: None)
            .map(lambda number: number * 2)
            .flatMap(lambda number: [number, -number])
            .print()
        )
    )
    assert found == [sign * 2 * each for each in NUMBERS if each > 2 for sign in (1, -1)]


def test_values_of_pairs() -> None:
    found = printed(
        lambda builder: (
            pairs(builder)
            .filter(lambda pair: pair[0] != 1)
            .mapValues(lambda value: value + 1)
            .flatMapValues(lambda value: range(value % 3))
            .print()
        )
    )
    wanted = [(key, value + 1) for key, value in PAIRS if key != 1]
    assert found == [(key, item) for key, value in wanted for item in range(value % 3)]


def test_a_branch_has_what_no_branch_before_it_has() -> None:
    def program(builder: StreamBuilder) -> None:
        branches = numbers(builder).branch(lambda each: each > 4, lambda each: each % 2 == 1)
        for branch in branches:
            branch.print()

    assert printed(program, "log-1") == [each for each in NUMBERS if each > 4]
    assert printed(program, "log-2") == [each for each in NUMBERS if each <= 4 and each % 2]


@pytest.mark.parametrize("mode", MODES)
def test_aggregates_of_a_stream_come_with_each_element(mode: str) -> None:
    """Without windows an end never comes."""

    def program(builder: StreamBuilder) -> None:
        source = numbers(builder)
        source.aggregate(Sum()).print()
        source.reduce(max).print()
        source.count().print()
        source.aggregate([], lambda so_far, each: [*so_far, each], lambda a, b: a + b).print()

    settings = {"topology.reliability.mode": mode}
    assert printed(program, "log-1", settings=settings) == list(accumulate(NUMBERS))
    assert printed(program, "log-2", settings=settings) == list(accumulate(NUMBERS, max))
    assert printed(program, "log-3", settings=settings) == list(range(1, len(NUMBERS) + 1))
    assert printed(program, "log-4", settings=settings)[-1] == NUMBERS


@pytest.mark.parametrize("parallelism", [1, 3])
def test_aggregates_by_key_come_with_each_value(parallelism: int) -> None:
    """Equal keys share an instance."""

    def program(builder: StreamBuilder) -> None:
        source = pairs(builder).repartition(parallelism)
        source.countByKey().print()
        source.reduceByKey(min).print()
        source.groupByKey().print()
        source.aggregateByKey(0, lambda so_far, value: so_far + value).print()

    by_key = grouped(PAIRS)
    for log, wanted in (
        ("log-1", {key: list(range(1, len(each) + 1)) for key, each in by_key.items()}),
        ("log-2", {key: list(accumulate(each, min)) for key, each in by_key.items()}),
        ("log-3", {k: [v[: n + 1] for n in range(len(v))] for k, v in by_key.items()}),
        ("log-4", {key: list(accumulate(each)) for key, each in by_key.items()}),
    ):
        assert grouped(printed(program, log)) == wanted


def test_aggregates_of_windows_by_count() -> None:
    """The operations between the window and the aggregate happen within it."""
    found = printed(
        lambda builder: (
            numbers(builder)
            .window(BY_THREE)
            .flatMap(lambda number: [number] * (number % 3))
            .filter(lambda number: number > 1)
            .aggregate(Sum())
            .print()
        )
    )
    windows = [
        [number for number in window for _ in range(number % 3) if number > 1]
        for window in chunks(NUMBERS, 3)
    ]
    assert found == [sum(window) for window in windows if window]


def test_sliding_windows_by_count() -> None:
    """As Storm's: the first ones are shorter."""
    windows = SlidingWindows.of(Count.of(6), Count.of(3))
    found = printed(lambda builder: numbers(builder).window(windows).reduce(min).print())
    ends = range(3, len(NUMBERS) + 1, 3)
    wanted = [min(NUMBERS[max(0, end - 6) : end]) for end in ends]
    assert found[: len(wanted)] == wanted


def test_aggregates_by_key_of_windows() -> None:
    """And an aggregate of the aggregates, within the window."""

    def program(builder: StreamBuilder) -> None:
        source = pairs(builder)
        counts = source.window(BY_THREE).countByKey()
        counts.print()
        counts.map(lambda pair: pair[1]).aggregate(Sum()).print()
        source.groupByKeyAndWindow(BY_THREE).print()
        source.reduceByKeyAndWindow(max, BY_THREE).print()

    windows = [grouped(each) for each in chunks(PAIRS, 3)]
    counts = [(key, len(values)) for window in windows for key, values in window.items()]
    assert printed(program, "log-1") == counts
    assert printed(program, "log-2") == [3, 3, 3, 3]
    assert printed(program, "log-3") == [item for window in windows for item in window.items()]
    assert printed(program, "log-4") == [
        (key, max(values)) for window in windows for key, values in window.items()
    ]


def test_windows_by_duration_end_by_the_clock() -> None:
    """Without the end of the data."""
    found = printed(
        lambda builder: (
            numbers(builder).window(TumblingWindows.of(Duration.seconds(2))).count().print()
        ),
        ends=False,
    )
    assert found == [len(NUMBERS)]


def test_windows_by_event_time() -> None:
    """The time of an element is the user's; a late element is left out and logged."""
    times = [1000, 1500, 2100, 1900, 3500, 1200, 4100]
    windows = TumblingWindows.of(Duration.seconds(1)).withTimestampExtractor(lambda each: each)
    found = printed(
        lambda builder: (
            builder.newStream(given(times)).window(windows.withLag(Duration.of(300)))
            .aggregate([], lambda so_far, each: [*so_far, each]).print()
        ),
        settings={"topology.bolts.watermark.event.interval.ms": 0},
    )  # fmt: skip
    assert sorted(each for window in found for each in window) == [
        1000, 1500, 1900, 2100, 3500, 4100
    ]  # fmt: skip
    for window in found:
        assert len({(each - 1) // 1000 for each in window}) == 1


JOINS = {
    "join": (False, False),
    "leftOuterJoin": (True, False),
    "rightOuterJoin": (False, True),
    "fullOuterJoin": (True, True),
}


def joined(left: list[Any], right: list[Any], keeps: tuple[bool, bool]) -> list[Any]:
    """By nested loops."""
    ours, theirs = grouped(left), grouped(right)
    return sorted(
        (
            (key, pair)
            for key in {*ours, *theirs}
            for pair in product(
                ours.get(key, [None] if keeps[1] else []),
                theirs.get(key, [None] if keeps[0] else []),
            )
        ),
        key=repr,
    )


@pytest.mark.parametrize("kind", JOINS)
@pytest.mark.parametrize("seed", range(5))
def test_joins_are_as_nested_loops(kind: str, seed: int) -> None:
    """Of drawn pairs, and of a stream with operations on both sides."""
    rng = Random(seed)
    left, right = (
        [(rng.randrange(4), rng.randrange(9)) for _ in range(rng.randrange(1, 8))] for _ in range(2)
    )
    windows = TumblingWindows.of(Duration.seconds(5))

    def program(builder: StreamBuilder) -> None:
        ours = builder.newStream(given(left)).mapToPair(lambda pair: pair).window(windows)
        theirs = builder.newStream(given(right)).mapToPair(lambda pair: pair)
        if seed % 2:
            theirs = theirs.window(windows).filter(lambda pair: pair[1] > 2)
        getattr(ours, kind)(theirs).print()

    others = [pair for pair in right if pair[1] > 2] if seed % 2 else right
    assert sorted(printed(program), key=repr) == joined(left, others, JOINS[kind])


def test_a_joiner_and_a_join_with_itself() -> None:
    windows = TumblingWindows.of(Duration.seconds(5))

    def program(builder: StreamBuilder) -> None:
        source = pairs(builder)
        source.window(windows).join(source, lambda one, other: one * other).print()

    wanted = [
        (key, one * other) for key, values in grouped(PAIRS).items()
        for one, other in product(values, values)
    ]  # fmt: skip
    assert sorted(printed(program)) == sorted(wanted)


def test_groups_of_both_sides() -> None:
    windows = TumblingWindows.of(Duration.seconds(5))

    def program(builder: StreamBuilder) -> None:
        few = builder.newStream(given([(1, "x"), (7, "y")])).mapToPair(lambda pair: pair)
        pairs(builder).window(windows).coGroupByKey(few).print()

    ours = grouped(PAIRS)
    assert dict(printed(program)) == {
        0: (ours[0], []), 1: (ours[1], ["x"]), 2: (ours[2], []), 7: ([], ["y"])
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_states_and_queries_of_them(mode: str) -> None:
    """A query is answered with the state at its arrival."""

    def program(builder: StreamBuilder) -> None:
        state = pairs(builder).updateStateByKey(
            StateUpdater.of(0, lambda total, each: total + each)
        )
        state.toPairStream().print()
        builder.newStream(given([0, 1, 2, 8])).stateQuery(state).print()
        builder.newStream(given([0])).stateQuery(state).map(lambda pair: pair[0]).print()

    settings = {"topology.reliability.mode": mode}
    sums = {key: list(accumulate(values)) for key, values in grouped(PAIRS).items()}
    assert grouped(printed(program, "log-1", settings=settings)) == sums
    answers = dict(printed(program, "log-2", settings=settings))
    assert answers.pop(8) is None
    assert {key: answers[key] in (None, *sums[key]) for key in answers} == dict.fromkeys(sums, True)
    assert printed(program, "log-3", settings=settings) == [0]


def test_a_state_comes_through_a_crash() -> None:
    """With a checkpoint before it."""
    builder, topology = StreamBuilder(), TopologyBuilder("Tested")
    topology.set_config(UNFUSED)
    source = builder.newStream(Quotes, PairValueMapper(0, 1))
    source.updateStateByKey(0, lambda total, price: total + price).toPairStream().print()
    builder.build(topology)
    settings = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    with TopologyTester(topology, config=settings) as tester:
        tester.run_spouts(2)
        assert tester.checkpoint()
        tester.crash("process-1")
        tester.run_spouts()
        assert [each.text for each in tester.logs("log-1")][-1] == "('a', 4)"


@pytest.mark.parametrize(
    ("mapper", "wanted"),
    [
        (None, ["a", "b", "a"]),
        (ValueMapper(1), [1, 2, 3]),
        (TupleValueMapper(0, 2), [("a", "x"), ("b", "y"), ("a", "x")]),
        (PairValueMapper(2, 1), [("x", 1), ("y", 2), ("x", 3)]),
        (lambda tup: tup["price"] * 2, [2, 4, 6]),
    ],
)
def test_what_is_made_of_a_spouts_tuples(mapper: Any, wanted: list[Any]) -> None:
    def program(builder: StreamBuilder) -> None:
        source = builder.newStream(Quotes, mapper)
        assert isinstance(source, PairStream) is isinstance(mapper, PairValueMapper)
        source.map(repr).print()

    assert printed(program) == wanted


def test_a_spout_has_its_config_and_parallelism() -> None:
    builder, topology = StreamBuilder(), TopologyBuilder("Tested")
    topology.set_config(UNFUSED)
    builder.newStream(Quotes, ValueMapper(0), 2, {"quotes": 1}).print()
    builder.build(topology)
    with TopologyTester(topology) as tester:
        tester.run_spouts()
        assert [each.text for each in tester.logs("log-1")] == ["a", "a"]
        assert len(tester.tasks("spout-1")) == len(tester.tasks("spout-1-elements")) == 2


def test_elements_go_into_a_bolt_as_tuples() -> None:
    """With Storm's fields."""

    def program(builder: StreamBuilder) -> None:
        builder.newStream(given([7])).to(Shown)
        builder.newStream(given([("k", 7)])).mapToPair(lambda pair: pair).to(Shown, 2)

    assert printed(program, "to-1-Shown") == [{"value": 7}]
    assert printed(program, "to-2-Shown") == [{"key": "k", "value": 7}]


def test_what_nothing_reads_runs_as_well() -> None:
    """A last map may have side effects."""
    builder, topology = StreamBuilder(), TopologyBuilder("Tested")
    numbers(builder).map(lambda number: number + 1)
    builder.build(topology)
    with TopologyTester(topology) as tester:
        tester.run_spouts()
        assert [each[0] for each in tester.values("map-1", "output")] == [x + 1 for x in NUMBERS]


WINDOW: Any = TumblingWindows.of(Count.of(2))
FREE_WINDOWS: Any = TumblingWindows
FREE_DURATION: Any = Duration


def free_numbers(builder: StreamBuilder) -> Any:
    """Without types: the next operation is wrong on purpose."""
    return numbers(builder)


def free_pairs(builder: StreamBuilder) -> Any:
    return pairs(builder)


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (
            lambda b: free_pairs(b).join(free_pairs(b)),
            "join joins the pairs of one window: call window",
        ),
        (
            lambda b: free_pairs(b).coGroupByKey(free_pairs(b)),
            "coGroupByKey joins the pairs of one",
        ),
        (
            lambda b: free_pairs(b).window(WINDOW).join(free_numbers(b)),
            "join takes another PairStream",
        ),
        (
            lambda b: free_pairs(b).window(WINDOW).join(free_pairs(b).window(BY_THREE)),
            "join: the two streams have different windows",
        ),
        (lambda b: free_numbers(b).window(3), r"window takes TumblingWindows\.of"),
        (lambda b: FREE_WINDOWS.of(3), r"a window takes Count\.of\(10\) or Duration"),
        (lambda b: Count.of(0), "a window has a whole number of elements, not 0"),
        (lambda b: FREE_DURATION.of(1.5), "a whole number of milliseconds, not 1.5"),
        (lambda b: WINDOW.withTimestampField("x"), "an element has no fields"),
        (lambda b: WINDOW.withLateTupleStream("x"), "late elements of streams are logged"),
        (lambda b: WINDOW.withTimestampExtractor(3), "withTimestampExtractor takes a function"),
        (lambda b: WINDOW.withLag(3), "withLag takes a Duration"),
        (lambda b: free_numbers(b).map(3), "map takes a function, not 3"),
        (lambda b: free_numbers(b).branch(), "branch takes a predicate for each stream"),
        (lambda b: free_numbers(b).branch(3), "branch takes a function, not 3"),
        (lambda b: free_numbers(b).forEach(3), "forEach takes a function, not 3"),
        (lambda b: free_numbers(b).peek(3), "peek takes a function, not 3"),
        (
            lambda b: free_numbers(b).aggregate(3),
            "aggregate takes a CombinerAggregator, for example Count",
        ),
        (lambda b: free_pairs(b).updateStateByKey(3), "updateStateByKey takes a StateUpdater"),
        (
            lambda b: free_numbers(b).stateQuery(3),
            "stateQuery takes the result of updateStateByKey",
        ),
        (lambda b: free_numbers(b).repartition(0), "repartition takes a number from 1 on, not 0"),
        (lambda b: free_numbers(b).to("Shown"), "to takes the class of a bolt, not 'Shown'"),
        (lambda b: b.newStream(given([]), ValueMapper(0)), "are for the class of a spout"),
        (lambda b: b.newStream(3), "a source must be a Generator or a function, not 3"),
        (lambda b: b.newStream(Quotes, 3), "newStream takes a function, not 3"),
        (lambda b: b.newStream(Quotes, parallelism=0), "parallelism is a number from 1 on: 0"),
    ],
)
def test_what_cannot_be_is_one_line(program: Any, line: str) -> None:
    with pytest.raises(StreamletError, match=line) as caught:
        program(StreamBuilder())
    assert "\n" not in str(caught.value)


def test_a_query_that_depends_on_its_answer_is_refused() -> None:
    builder = StreamBuilder()
    state = pairs(builder).updateStateByKey(0, lambda total, value: total + value)
    state.toPairStream().map(lambda pair: pair[0]).stateQuery(state).print()
    with pytest.raises(StreamletError, match="depends on its own answers"):
        builder.build(TopologyBuilder("Tested"))


class Longest(CombinerAggregator):
    """Of texts."""

    def init(self) -> str:
        return ""

    def apply(self, aggregate: str, value: str) -> str:
        return max(aggregate, value, key=len)


def test_an_aggregator_of_ones_own() -> None:
    words = ["a", "abc", "ab"]
    found = printed(
        lambda builder: builder.newStream(given(words)).aggregate(Longest()).map(repr).print()
    )
    assert found == ["a", "abc", "abc"]
    assert Counter(found)["abc"] == 2
