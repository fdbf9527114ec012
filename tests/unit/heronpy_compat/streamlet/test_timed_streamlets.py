"""Windows and joins of streamlets by the time of their elements, worked out by hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_core.errors import UsageError
from heron_core.state.monoid import Monoid
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.keyedwindow import KeyedWindow
from heronpy_compat.streamlet.window import Window
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Count, Global, Session, Sliding, Trigger, Tumbling
from tests.unit.heronpy_compat.streamlet.streamlet_support import given, nothing

EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}
CLICKS = [("a", 1000), ("b", 2000), ("a", 11_000), ("a", 9000), ("a", 25_000), ("b", 3000)]


@contextmanager
def running(
    program: Callable[[Builder], Any], config: dict[str, Any] | None = None
) -> Iterator[TopologyTester]:
    builder, topology = Builder(), TopologyBuilder("Timed")
    program(builder)
    topology.set_config({"topology.streamlet.fusion": False})  # to see what each stage emits
    builder.build(topology)
    with TopologyTester(topology, config={**EVERY_TUPLE, **(config or {})}) as tester:
        yield tester


def elements(tester: TopologyTester, name: str, stream: str = "output") -> list[Any]:
    return [each[0] for each in tester.values(name, stream)]


def key(click: Any) -> Any:
    return click[0]


def time_of(click: Any) -> Any:
    return click[1]


def test_counts_by_key_and_window_with_late_elements() -> None:
    """A lag of 3 s takes the click of 9 s, which comes behind that of 11 s; that of 3 s is late."""

    def program(builder: Builder) -> None:
        clicks = builder.new_source(given(CLICKS)).with_event_time(time_of, lag_ms=3000)
        counts = clicks.key_by(key).window(Tumbling(10_000)).aggregate(Count())
        counts.consume(nothing)
        counts.late_elements().map(key).set_name("late").consume(nothing)

    with running(program) as tester:
        tester.run_spouts()
        first = Window(0.0, 10.0)
        shown = [(KeyedWindow("a", first), 2), (KeyedWindow("b", first), 1)]
        rest = [
            (KeyedWindow("a", Window(10.0, 20.0)), 1),
            (KeyedWindow("a", Window(20.0, 30.0)), 1),
        ]
        assert elements(tester, "eventwindow-1", "late") == [("b", 3000)]
        assert elements(tester, "late") == ["b"]
        assert elements(tester, "eventwindow-1") == [*shown, *rest]
        tester.finish()
        assert elements(tester, "eventwindow-1") == [*shown, *rest]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Sliding(20_000, 10_000), [(-10, 10, 2), (0, 20, 3), (10, 30, 2), (20, 40, 1)]),
        (Session(5000), [(1, 7, 2), (11, 16, 1), (25, 30, 1)]),
    ],
)
def test_windows_without_keys_are_reduced_in_one_partition(window: Any, expected: Any) -> None:
    def program(builder: Builder) -> None:
        clicks = builder.new_source(given([1000, 2000, 11_000, 25_000])).set_num_partitions(1)
        ones = clicks.with_event_time(int).window(window)
        ones.aggregate(Count()).consume(nothing)

    with running(program) as tester:
        tester.run_spouts()
        tester.finish()
        found = [
            (*vars(each).values(), number) for each, number in elements(tester, "eventwindow-1")
        ]
        assert found == expected


def test_a_reduce_by_processing_time_with_the_testers_clock() -> None:
    def program(builder: Builder) -> None:
        words = builder.new_source(given(["x", "y"])).key_by(len).window(Tumbling(2000))
        words.reduce(lambda left, right: left + right).consume(nothing)

    with running(program) as tester:
        tester.run_spouts(2)
        assert elements(tester, "eventwindow-1") == []
        tester.advance(3)
        (each,) = elements(tester, "eventwindow-1")
        assert each[1] == "xy"


def test_early_results_and_a_watermark_of_the_test() -> None:
    def program(builder: Builder) -> None:
        clicks = (
            builder.new_source(given(CLICKS[:2])).with_event_time(time_of).key_by(lambda _: "k")
        )
        counts = clicks.window(Tumbling(10_000), Trigger(early_count=1), allowed_lateness_ms=5)
        counts.aggregate(Count()).consume(nothing)

    with running(program) as tester:
        tester.run_spouts(2)
        assert [each for _, each in elements(tester, "eventwindow-1")] == [1, 2]
        tester.advance_watermark("eventwindow-1", 10_000)
        assert [each for _, each in elements(tester, "eventwindow-1")] == [1, 2, 2]
        with pytest.raises(UsageError, match="consume-1 is not a window bolt"):
            tester.advance_watermark("consume-1", 0)


VIEWS = [("ad", 1000), ("ad", 6000), ("other", 1000)]
BUYS = [("ad", 2000, "buy"), ("ad", 15_000, "buy"), ("none", 3000, "buy")]


def pair(left: Any, right: Any) -> Any:
    return (left and left[1], right and right[1])


def joined(builder: Builder) -> tuple[Any, Any]:
    views = builder.new_source(given(VIEWS)).with_event_time(time_of, lag_ms=20_000)
    buys = builder.new_source(given(BUYS)).with_event_time(time_of, lag_ms=20_000)
    return views.key_by(key), buys.key_by(key)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("inner", []),
        ("left", [(1000, None)]),
        ("right", [(None, 3000), (None, 15_000)]),
        ("outer", [(1000, None), (None, 3000), (None, 15_000)]),
    ],
)
def test_window_joins(kind: str, more: list[Any]) -> None:
    def program(builder: Builder) -> None:
        views, buys = joined(builder)
        views.window_join(buys, Tumbling(10_000), pair, kind=kind).consume(nothing)

    with running(program) as tester:
        tester.run_spouts()
        tester.finish()
        found = [each for _, each in elements(tester, "windowjoin-1")]
        expected = [(1000, 2000), (6000, 2000), *more]
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_interval_joins_and_their_acks() -> None:
    """A purchase up to 10 s after a view; everything is acked in the end."""

    def program(builder: Builder) -> None:
        views, buys = joined(builder)
        views.interval_join(buys, 0, 10_000, pair).consume(nothing)

    with running(program, {"topology.reliability.mode": "ATLEAST_ONCE"}) as tester:
        tester.run_spouts(3)
        found = elements(tester, "intervaljoin-1")
        assert sorted(found) == [("ad", (1000, 2000)), ("ad", (6000, 15_000))]
        assert len(tester.acked("intervaljoin-1")) == 0
        tester.advance_watermark("intervaljoin-1", 12_000)
        assert len(tester.acked("intervaljoin-1")) == 4
        tester.finish()
        assert len(tester.acked("intervaljoin-1")) == 6


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda one, two: one.window(7), "a window is Tumbling, Sliding, Session or Global, not 7"),
        (lambda one, two: one.window(Global()).aggregate(7), r"aggregate has no create\(\)"),
        (lambda one, two: one.window(Global()).reduce(7), "reduce takes a function"),
        (lambda one, two: one.window(Global(), trigger=7), "window takes a Trigger"),
        (lambda one, two: one.window_join(two, Tumbling(1), pair, kind="cross"), "not 'cross'"),
        (lambda one, two: one.window_join(one, Tumbling(1), pair), "its own partner"),
        (lambda one, two: one.interval_join(7, 0, 1, pair), "after key_by, not 7"),
        (
            lambda one, two: one.interval_join(two.timed.streamlet.key_by(key), 0, 1, pair),
            "with_event_time is missing on one side",
        ),
    ],
)
def test_what_cannot_be_built(wrong: Callable[[Any, Any], Any], message: str) -> None:
    with pytest.raises(StreamletError, match=message):
        wrong(*joined(Builder()))


@pytest.mark.parametrize("is_keyed", [True, False])
def test_partial_values_of_three_partitions_are_the_windows_of_one(is_keyed: bool) -> None:
    def program(builder: Builder) -> None:
        for partials in (None, 3):
            clicks = builder.new_source(given(CLICKS[:-1])).with_event_time(time_of, lag_ms=3000)
            windowed = (clicks.key_by(key) if is_keyed else clicks).window(Sliding(10_000, 5000))
            windowed.aggregate(Clicks(), partials=partials).consume(nothing)

    with running(program) as tester:
        tester.run_spouts()
        tester.finish()
        one, merged = elements(tester, "eventwindow-1"), elements(tester, "merged-1")
        assert len(one) == len(merged) > 5
        assert sorted(map(repr, merged)) == sorted(map(repr, one))


def test_an_element_is_late_at_the_partition_where_it_comes_in() -> None:
    """The click of 3 s comes behind that of 25 s."""

    def program(builder: Builder) -> None:
        clicks = builder.new_source(given(CLICKS)).with_event_time(time_of, lag_ms=3000)
        counts = clicks.key_by(key).window(Tumbling(10_000)).aggregate(Clicks(), partials=1)
        counts.consume(nothing)
        counts.late_elements().set_name("late").consume(nothing)

    with running(program) as tester:
        tester.run_spouts()
        tester.finish()
        assert elements(tester, "partial-1", "late") == [("b", 3000)]
        assert sum(number for _, number in elements(tester, "merged-1")) == len(CLICKS) - 1


class Clicks(Monoid[list[int]]):
    """How many, in a value that changes in place."""

    def zero(self) -> list[int]:
        return [0]

    def add(self, value: list[int], element: Any) -> list[int]:
        value[0] += 1
        return value

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        left[0] += right[0]
        return left

    def estimate(self, value: list[int]) -> int:
        return value[0]


def test_partials_say_what_they_need() -> None:
    clicks = Builder().new_source(given([]))
    timed = clicks.with_event_time(time_of)
    with pytest.raises(StreamletError, match="partials need a Monoid"):
        timed.window(Tumbling(1000)).aggregate(Count(), partials=2)
    with pytest.raises(StreamletError, match="partials need with_event_time"):
        clicks.key_by(key).window(Tumbling(1000)).aggregate(Clicks(), partials=2)
    with pytest.raises(StreamletError, match="group by the key instead"):
        timed.window(Session(1000)).aggregate(Clicks(), partials=2)
    with pytest.raises(StreamletError, match="a number of partitions, not 0"):
        timed.window(Tumbling(1000)).aggregate(Clicks(), partials=0)
