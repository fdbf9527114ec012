"""Windows go on with another number of instances: each opens the windows of its keys."""

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heron_api.windows.batch_window_bolt import BatchWindowBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.algorithms.event_windows.assigners import Session, Sliding, Tumbling
from heron_core.errors import StateError
from heron_core.state.description import contents_of
from heron_core.state.parts import KeyRange, Parts, StatePart, encode_parts
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Count

CONFIG = {
    "topology.reliability.mode": "EFFECTIVELY_ONCE",
    "topology.bolts.watermark.event.interval.ms": 0,
    "topology.streamlet.fusion": False,
}
TRACKED = {"topology.reliability.mode": "ATLEAST_ONCE"}
LAG = 20
LAG_KEY = "topology.bolts.tuple.timestamp.max.lag.ms"
BY_TIME = {"topology.bolts.tuple.timestamp.field.name": "time_ms"}
KEYS = [f"ad {number}" for number in range(8)]
Events = Sequence[tuple[str, int]]


def events_of(seed: int, number: int = 60) -> list[tuple[str, int]]:
    """Random keys and times, without late ones."""
    rng, time_ms, events = Random(seed), 1000, []
    for _ in range(number):
        time_ms += rng.choice([0, 1, 3, 9, 40])
        events.append((rng.choice(KEYS), time_ms - rng.randint(0, LAG)))
    return events


class Source(Spout):
    outputs = ["ad", "time_ms"]

    def next_tuple(self) -> None:
        """The test feeds it."""


class ByAd(KeyedWindowBolt):
    outputs = ["ad", "start_ms", "end_ms", "clicks"]
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window: Any = Tumbling(50)
    lag_ms = LAG
    aggregate = Count()


class SlidingByAd(ByAd):
    window = Sliding(100, 30)


class SessionsByAd(ByAd):
    window = Session(60)


class BatchesByAd(BatchWindowBolt):
    outputs = {"ad": "string", "start_ms": "bigint", "end_ms": "bigint", "clicks": "bigint"}
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window: Any = Sliding(100, 30)
    lag_ms = LAG
    aggregates = {"clicks": "count"}


class KeptOpen(SlidingByAd):
    allowed_lateness_ms = 500


class ShowsKeys(Bolt):
    outputs = ["ad", "end", "times"]

    def show(self, end: int, tuples: Any) -> None:
        """One row for each key of a window."""
        found: dict[str, list[int]] = {}
        for tup in tuples:
            found.setdefault(tup.values[0], []).append(tup.values[1])
        for key, times in found.items():
            self.emit([key, end, sorted(times)])


class Slid(SlidingWindowBolt, ShowsKeys):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.show(window_info.end, tuples)


class Tumbled(TumblingWindowBolt, ShowsKeys):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.show(0, tuples)


class Storms(WindowedBolt, ShowsKeys):
    def execute(self, window: Any) -> None:
        self.show(window.get_end_timestamp(), window.get())


SLID = {Slid.WINDOW_DURATION_SECS: 3, Slid.WINDOW_SLIDEINTERVAL_SECS: 1}
TUMBLED = Tumbled.WINDOW_DURATION_SECS
STORMS = {
    "topology.bolts.window.length.duration.ms": 100,
    "topology.bolts.window.sliding.interval.duration.ms": 30,
}


def topology(bolt: Any, parallelism: int, config: Any, grouping: Any = None) -> Any:
    class Windows(Topology):
        source = Source.spec()
        windows = bolt.spec(
            par=parallelism, inputs={source: grouping or Grouping.fields("ad")}, config=config
        )

    return Windows


def saved(bolt: Any) -> bytes:
    bolt.pre_save("1")
    state: bytes = bolt.saved_state.snapshot()
    return state


def take_over(states: Sequence[bytes], bolts: Sequence[Any]) -> None:
    """As with a savepoint: each gets the states with possible keys of its own."""
    ranges = [KeyRange(number, len(states)) for number in range(len(states))]
    assert all(contents_of(each, "a savepoint").may_be_divided for each in states)
    for index, each in enumerate(bolts):
        now = KeyRange(index, len(bolts))
        parts = [
            StatePart(*pair) for pair in zip(ranges, states, strict=True) if pair[0].overlaps(now)
        ]
        each.saved_state.restore(encode_parts(Parts(now, tuple(parts))))
        each.restore_windows()


Feed = Callable[[TopologyTester, Any], None]


def feed_source(tester: TopologyTester, event: tuple[str, int]) -> None:
    tester.feed("source", list(event))
    tester.run()


def results(
    make: Callable[[int], Any],
    numbers: Sequence[int],
    events: Events,
    feed: Feed = feed_source,
    shown: tuple[str, str] = ("windows", "default"),
) -> Counter[str]:
    """With the given numbers of instances in turn, each for a part of the events."""
    found: Counter[str] = Counter()
    states: list[bytes] = []
    length = -(-len(events) // len(numbers))
    for at, number in enumerate(numbers):
        with TopologyTester(make(number), config=CONFIG) as tester:
            bolts = tester.component(shown[0])
            assert len(bolts) == number
            if states:
                take_over(states, bolts)
            for event in events[at * length : (at + 1) * length]:
                feed(tester, event)
            states = [saved(each) for each in bolts]
            if at == len(numbers) - 1:
                tester.finish()
            found.update(map(repr, tester.values(*shown)))
    return found


KINDS = pytest.mark.parametrize(
    ("bolt", "config", "stretch"),
    [
        (ByAd, {}, 1),
        (SlidingByAd, {}, 1),
        (SessionsByAd, {}, 1),
        (KeptOpen, {}, 1),
        (BatchesByAd, {}, 1),
        (Slid, {**SLID, **BY_TIME}, 30),
        (Storms, {**STORMS, **BY_TIME}, 1),
    ],
)


@KINDS
def test_no_window_is_lost_or_shown_twice(bolt: Any, config: Any, stretch: int) -> None:
    """The instances are not equally far in event time when their number changes, twice."""
    lag = {LAG_KEY: LAG * stretch} if config else {}
    for seed in range(2):
        events = [(key, time_ms * stretch) for key, time_ms in events_of(seed)]

        def make(number: int) -> Any:
            return topology(bolt, number, {**config, **lag})

        expected = results(make, [1], events)
        assert len(expected) > 10
        assert results(make, [2, 3, 1], events) == expected, seed


def replayed(make: Callable[[int], Any], numbers: Sequence[int], events: Events) -> Counter[str]:
    """As `results`, at least once: held tuples fail with each update, and are replayed."""
    found: Counter[str] = Counter()
    states: list[bytes] = []
    again: list[int] = []
    length = -(-len(events) // len(numbers))
    for at, number in enumerate(numbers):
        with TopologyTester(make(number), config=CONFIG | TRACKED) as tester:
            bolts = tester.component("windows")
            if states:
                take_over(states, bolts)
            for number_of in [*again, *range(at * length, min(len(events), (at + 1) * length))]:
                tester.feed("source", list(events[number_of]), tup_id=number_of)
                tester.run()
            assert not tester.failed("source")
            if at < len(numbers) - 1:
                for each in bolts:
                    assert each.fail_retained()
                tester.advance(1.0)  # what they fail is sent with the next tick
                again = sorted(tester.failed("source"))
                assert again
            states = [saved(each) for each in bolts]
            if at == len(numbers) - 1:
                tester.finish()
            found.update(map(repr, tester.values("windows")))
    return found


@KINDS
def test_an_update_fails_what_open_windows_hold_and_each_is_whole_where_its_key_is(
    bolt: Any, config: Any, stretch: int
) -> None:
    lag = {LAG_KEY: LAG * stretch} if config else {}
    events = [(key, time_ms * stretch) for key, time_ms in events_of(5)]

    def make(number: int) -> Any:
        return topology(bolt, number, {**config, **lag})

    expected, divided = replayed(make, [1], events), replayed(make, [1, 3], events)
    assert not expected - divided
    assert divided == expected or bolt in (KeptOpen, Storms), "they are shown again, and whole"
    # Of several instances the slowest one's watermark counts: sliding windows may be shown again.
    assert not expected - replayed(make, [2, 3, 1], events)


@pytest.mark.parametrize(("bolt", "config"), [(Tumbled, {TUMBLED: 60}), (Slid, SLID)])
def test_windows_by_processing_time_keep_their_tuples(bolt: Any, config: Any) -> None:
    """Heronpy's own, which hold the tuples of all keys that an instance has, in order."""
    events = [(key, number) for number, key in enumerate(KEYS * 2)]
    found: dict[str, list[int]] = {}
    for key, number in events:
        found.setdefault(key, []).append(number)
    shown = results(lambda number: topology(bolt, number, config), [2, 3], events)
    assert {(row[0], tuple(row[2])) for row in map(ast.literal_eval, shown)} == {
        (key, tuple(numbers)) for key, numbers in found.items()
    }


@pytest.mark.parametrize("name", ["eventwindow", "windowjoin", "intervaljoin"])
def test_streamlets_by_key(name: str) -> None:
    """Elements go where fields grouping would send their keys."""

    def make(number: int) -> TopologyBuilder:
        builder, made = Builder(), TopologyBuilder("Timed")
        clicks, views = (
            builder.new_source(lambda: None).set_num_partitions(1).set_name(each)
            .with_event_time(lambda event: event[1], lag_ms=LAG).key_by(lambda event: event[0])
            for each in ("clicks", "views")
        )  # fmt: skip
        if name == "eventwindow":
            stage = clicks.window(Sliding(100, 30)).aggregate(Count())
        elif name == "windowjoin":
            stage = clicks.window_join(views, Tumbling(50), lambda *pair: pair, kind="outer")
        else:
            stage = clicks.interval_join(views, -30, 30, lambda *pair: pair)
        stage.set_num_partitions(number).set_name("windows").consume(lambda element: None)
        builder.build(made)
        return made

    def feed(tester: TopologyTester, event: tuple[str, int]) -> None:
        sources = ["clicks", "views"] if name != "eventwindow" else ["clicks"]
        for each in sources:
            tester.feed(each, [event], stream="output")
        tester.run()

    events, shown = events_of(7), ("windows", "output")
    expected = results(make, [1], events, feed, shown)
    assert len(expected) > 10
    assert results(make, [2, 3], events, feed, shown) == expected


class ByAnything(ByAd):
    def key(self, tup: Any) -> Any:
        return (tup["time_ms"] % 2,)


@pytest.mark.parametrize(
    ("bolt", "grouping", "config"),
    [
        (ByAnything, Grouping.fields("ad"), {}),
        (ByAd, Grouping.fields("time_ms"), {}),
        (ByAd, Grouping.SHUFFLE, {}),
        (Slid, Grouping.SHUFFLE, {**SLID, **BY_TIME}),
        (Storms, Grouping.fields("ad"), {"topology.bolts.window.length.count": 3}),
    ],
)
def test_windows_that_no_key_divides_go_on_with_as_many_instances(
    bolt: Any, grouping: Any, config: Any
) -> None:
    """A changed number is refused, as for any state of an instance."""
    with TopologyTester(topology(bolt, 1, config, grouping), config=CONFIG) as tester:
        (one,) = tester.component("windows")
        for event in events_of(3, 5):
            feed_source(tester, event)
        state = saved(one)
        assert not contents_of(state, "a savepoint").may_be_divided
        one.saved_state.restore(state)
        one.restore_windows()
        tester.finish()
        rows = tester.values("windows")
        assert rows
    with pytest.raises(StateError, match="had 1 instances and has 2 now"):
        one.saved_state.restore(
            encode_parts(Parts(KeyRange(0, 2), (StatePart(KeyRange(0, 1), state),)))
        )


def test_windows_by_key_are_not_forgotten_when_the_grouping_changes() -> None:
    with TopologyTester(topology(ByAd, 1, {}), config=CONFIG) as tester:
        feed_source(tester, ("ad", 1))
        (state,) = map(saved, tester.component("windows"))
    other = topology(ByAd, 1, {}, Grouping.SHUFFLE)
    with TopologyTester(other, config=CONFIG) as tester:
        (bolt,) = tester.component("windows")
        bolt.saved_state.restore(state)
        with pytest.raises(StateError, match="restore the grouping"):
            bolt.restore_windows()
