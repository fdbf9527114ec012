"""Window bolts by the time of the events: results, acks, late tuples, and what is refused."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from heron_api.state.state import HashMapState
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.algorithms.event_windows.aggregates import Reduce
from heron_core.algorithms.event_windows.assigners import Session, Sliding, Tumbling
from heron_core.algorithms.event_windows.triggers import Trigger
from heron_core.errors import ComponentError, TopologyError
from heron_frontends.loading.component_checks import check_components
from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester

FIELD = "topology.bolts.tuple.timestamp.field.name"
LAG = "topology.bolts.tuple.timestamp.max.lag.ms"
LATE = "topology.bolts.late.tuple.stream"
EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}
CLICKS = {"clicks": ["ad", "time_ms"]}
LATE_STREAM = Stream(fields=["late_tuple"], name="late")


class ClicksByAd(KeyedWindowBolt):
    outputs = ["ad", "start_ms", "end_ms", "clicks", LATE_STREAM]
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window = Tumbling(10)
    lag_ms = 2
    late_stream: str | None = "late"


def values(emitted: Any) -> list[Any]:
    return [each.values for each in emitted]


def test_clicks_by_ad_and_window() -> None:
    """A result comes with the watermark, a late click goes to the late stream; then they are
    acked."""
    with ComponentTester(ClicksByAd, inputs=CLICKS, config=EVERY_TUPLE) as clicks:
        assert values(clicks.process(["a", 1])) == []
        clicks.process(["b", 3])
        clicks.process(["a", 11])
        assert clicks.acked == []
        assert values(clicks.process(["a", 12])) == [["a", 0, 10, 1], ["b", 0, 10, 1]]
        assert clicks.acked == [1, 2]
        (late,) = clicks.process(["b", 9])
        assert (late.stream, late.values) == ("late", [["b", 9]])
        assert clicks.acked == [1, 2, 5]
        assert values(clicks.finish()) == [["a", 10, 20, 2]]
        assert sorted(clicks.acked) == [1, 2, 3, 4, 5]


def test_a_watermark_is_due_each_second_unless_told_otherwise() -> None:
    with ComponentTester(ClicksByAd, inputs=CLICKS) as clicks:
        clicks.process(["a", 1])
        assert clicks.process(["a", 50]) == []
        assert values(clicks.advance(1.1)) == [["a", 0, 10, 1]]


def test_untracked_clicks_are_not_held() -> None:
    config = {**EVERY_TUPLE, "topology.reliability.mode": "ATMOST_ONCE"}
    with ComponentTester(ClicksByAd, inputs=CLICKS, config=config) as clicks:
        clicks.process(["a", 1])
        assert clicks.metrics()["acked"] == 1
        assert values(clicks.finish()) == [["a", 0, 10, 1]]


class Visits(KeyedWindowBolt):
    """Values, triggers and keys of its own; early and late results are marked."""

    outputs = ["user", "pages", "firing"]
    window = Session(10)
    trigger = Trigger(early_count=2)
    aggregate = Reduce(lambda left, right: left + right)
    allowed_lateness_ms = 100

    def timestamp(self, tup: Any) -> int:
        return int(tup["time"])

    def key(self, tup: Any) -> Any:
        return tup["user"].lower()

    def value(self, tup: Any, timestamp_ms: int) -> int:
        return 1

    def values(self, result: Any) -> Any:
        return [result.key, result.value, str(result.firing)]


def test_sessions_with_early_and_late_results() -> None:
    inputs = {"pages": ["user", "time"]}
    with ComponentTester(Visits, inputs=inputs, config=EVERY_TUPLE) as visits:
        visits.process(["Ann", "1"])
        assert values(visits.process(["ann", "5"])) == [["ann", 2, "early"]]
        assert values(visits.process(["bob", "30"])) == [["ann", 2, "on time"]]
        assert values(visits.process(["ANN", "9"])) == [["ann", 3, "late"]]
        assert values(visits.finish()) == [["bob", 1, "on time"]]


def test_windows_by_processing_time_need_no_timestamps() -> None:
    class ByClock(KeyedWindowBolt):
        outputs = ["ad", "start_ms", "end_ms", "clicks"]
        key_fields = ["ad"]
        window = Tumbling(2000)

    with ComponentTester(ByClock, inputs=CLICKS, start_time=100.0) as clicks:
        clicks.process(["a", None])
        assert values(clicks.advance(3)) == [["a", 100_000, 102_000, 1]]


def test_an_idle_source_holds_nothing_back() -> None:
    """Two streams, one silent: left out after 5 s."""
    inputs: dict[str, Any] = {"clicks": ["ad", "time_ms"], "other": ["ad", "time_ms"]}
    idle = {"topology.bolts.watermark.idle.ms": 5000}
    with ComponentTester(ClicksByAd, inputs=inputs, config=idle) as clicks:
        clicks.process(["a", 1])
        clicks.process(["a", 50])
        assert clicks.advance(4) == []
        clicks.process(["a", 51])
        assert values(clicks.advance(2)) == [["a", 0, 10, 1]]


def test_an_aggregate_that_raises_fails_the_tuples_of_its_window() -> None:
    class Fails(ClicksByAd):
        def values(self, result: Any) -> Any:
            raise ValueError("no result")

    with ComponentTester(Fails, inputs=CLICKS) as clicks:
        clicks.process(["a", 1])
        with pytest.raises(ValueError, match="no result"):
            clicks.finish()
        assert clicks.failed == [1]


@pytest.mark.parametrize(
    ("click", "message"),
    [
        (["a", None], r"a tuple of clicks, stream 'default', field 'time_ms': .* not None"),
        (
            ["a", "12"],
            r"a timestamp is a datetime or a whole number of milliseconds since 1970, not '12'",
        ),
        (["a", True], r"not True"),
        (
            ["a", 2_000_000_000_000],
            r"ahead of the clock, more than the 86400000 of topology\.bolts",
        ),
    ],
)
def test_a_click_without_a_usable_timestamp_fails(click: Any, message: str) -> None:
    with ComponentTester(ClicksByAd, inputs=CLICKS) as clicks:
        with pytest.raises(ComponentError, match=message):
            clicks.process(click)
        assert (clicks.failed, clicks.component.time_runner.operator.open_windows) == ([1], 0)


def test_a_timestamp_field_that_a_stream_lacks() -> None:
    with ComponentTester(ClicksByAd, inputs={"clicks": ["ad", "time"]}) as clicks:
        with pytest.raises(ComponentError, match=r"not a field of clicks, stream 'default'.*did "):
            clicks.process(["a", 1])
        assert clicks.errors


class Clicks(Spout):
    outputs = ["ad", "time_ms"]

    def next_tuple(self) -> None:
        self.finish()


class Undeclared(ClicksByAd):
    outputs = ["ad", "start_ms", "end_ms", "clicks"]


class NoWindow(KeyedWindowBolt):
    outputs = ["ad"]


class Plain(TumblingWindowBolt):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        self.__dict__.setdefault("windows", []).append((*window_info, values(tuples)))


class Average(WindowedBolt):
    outputs = ["average", "new", LATE_STREAM]

    def execute(self, window: Any) -> None:
        if any(tup["ad"] == "bad" for tup in window.get()):
            raise ValueError("bad")
        times = [tup["time_ms"] for tup in window.get()]
        self.emit([sum(times) / len(times), len(window.get_new())])


LENGTH = "topology.bolts.window.length.duration.ms"
SLIDE = "topology.bolts.window.sliding.interval.duration.ms"
STORM = {LENGTH: 20, SLIDE: 10, FIELD: "time_ms", LAG: 5}
UNTRACKED = {"topology.reliability.mode": "ATMOST_ONCE"}
ACKED = {"topology.reliability.mode": "ATLEAST_ONCE"}


def load_with(bolt: type[Bolt], config: dict[str, Any], mode: dict[str, Any]) -> None:
    class Wrong(Topology):
        clicks = Clicks.spec()
        windows = bolt.spec(inputs=[clicks], config=config)

    check_components(Wrong.to_spec().with_config(mode), runs_here=True)


@pytest.mark.parametrize(
    ("bolt", "config", "message"),
    [
        (Undeclared, {}, r"late tuples go to stream 'late', which is not declared: add"),
        (NoWindow, {}, "class NoWindow has no window"),
        (ClicksByAd, {LAG: -1}, f"{LAG} must be a whole number of at least 0, not -1"),
        (Plain, {Plain.WINDOW_DURATION_SECS: 5, FIELD: 7}, f"{FIELD} must be a name, not 7"),
        (Average, {}, f"its config needs the length of a window: {LENGTH}"),
        (Average, {LENGTH: 0}, f"{LENGTH} must be a whole number of at least 1, not 0"),
        (Average, {**STORM, LATE: "lost"}, "stream 'lost', which is not declared"),
        (Average, {LENGTH: 5, LATE: "late"}, f"no tuple is late by processing time: set {FIELD}"),
        (Average, {LENGTH: 40_000, **ACKED}, "topology.message.timeout.secs fails its tuples"),
        (Average, {LENGTH: 5, "topology.bolts.window.length.count": 5}, "both .*: choose one"),
    ],
)
def test_a_wrong_window_is_refused_when_the_topology_is_loaded(
    bolt: type[Bolt], config: dict[str, Any], message: str
) -> None:
    mode = {key: config[key] for key in ACKED if key in config}  # the whole topology's
    with pytest.raises(TopologyError, match=f"^(config of )?bolt 'windows': .*{message}"):
        load_with(bolt, config, mode)


def test_heronpys_windows_by_event_time() -> None:
    """Whole seconds, in order of time whatever the order of arrival."""
    config = {Plain.WINDOW_DURATION_SECS: 2, FIELD: "time_ms", LAG: 500, **EVERY_TUPLE}
    with ComponentTester(Plain, inputs=CLICKS, config=config) as bolt:
        for number, at in enumerate((1500, 1200, 2100, 2600, 1900)):
            bolt.process([str(number), at])
        assert bolt.component.windows == [(0, 2, [["1", 1200], ["0", 1500]])]
        assert sorted(bolt.acked) == [1, 2, 5]  # the last one was late, and only logged
        assert "a late tuple of clicks is dropped" in bolt.logs[-1].text
        bolt.finish()
        assert bolt.component.windows[1:] == [(2, 4, [["2", 2100], ["3", 2600]])]
        assert sorted(bolt.acked) == [1, 2, 3, 4, 5]


def test_heronpys_sliding_windows_by_event_time() -> None:
    class Slides(SlidingWindowBolt):
        processWindow = Plain.processWindow  # noqa: N815

    config = {Slides.WINDOW_DURATION_SECS: 2, Slides.WINDOW_SLIDEINTERVAL_SECS: 1, FIELD: "time_ms"}
    with ComponentTester(Slides, inputs=CLICKS, config=config) as bolt:
        bolt.process(["a", 1500])
        bolt.process(["b", 3000])
        bolt.advance(1)
        assert bolt.component.windows == [(0, 2, [["a", 1500]]), (1, 3, [["a", 1500]])]
        assert bolt.acked == [1]


def test_storms_window_bolt() -> None:
    with ComponentTester(Average, inputs=CLICKS, config={**STORM, LATE: "late"}) as bolt:
        for at in (3, 5, 18):
            bolt.process(["a", at])
        bolt.process(["a", 31])
        shown = bolt.advance(1)
        assert values(shown) == [[4.0, 2], [26 / 3, 1]]
        assert bolt.acked == []
        assert values(bolt.process(["a", 25])) == [[["a", 25]]]
        assert bolt.process(["a", 26]) == []
        assert bolt.acked == [5]
        bolt.finish()
        assert sorted(bolt.acked) == [1, 2, 3, 4, 5, 6]


def test_a_window_of_storms_that_raises_fails_what_is_held() -> None:
    with ComponentTester(Average, inputs=CLICKS, config=STORM) as bolt:
        bolt.process(["bad", 3])
        bolt.process(["a", 50])
        with pytest.raises(ValueError, match="bad"):
            bolt.advance(1)
        assert sorted(bolt.failed) == [1, 2]


def test_storms_windows_of_counts_and_of_the_clock() -> None:
    counts = {"topology.bolts.window.length.count": 2}
    with ComponentTester(Average, inputs=CLICKS, config=counts) as bolt:
        shown = [values(bolt.process(["a", at])) for at in (2, 4, 6)]
        assert shown == [[[2.0, 1]], [[3.0, 1]], [[5.0, 1]]]
        assert bolt.acked == [1]
    clock = {LENGTH: 2500, SLIDE: 1000}
    with ComponentTester(Average, inputs=CLICKS, config=clock) as bolt:
        bolt.process(["a", 8])
        # The tuple arrives in the last millisecond of a window, and is in the next two.
        assert values(bolt.advance(3.5)) == [[8.0, 1], [8.0, 0], [8.0, 0]]
        assert bolt.acked == [1]


def test_open_windows_are_saved_and_restored(bolt_delegate: Any) -> None:
    """With the accumulators of what came before the checkpoint."""
    from heron_api.tuple import Tuple

    class Click(Tuple):
        schema = {("clicks", "default"): ("ad", "time_ms")}

    state = HashMapState()
    first, second = (ClicksByAd(delegate=bolt_delegate) for _ in range(2))
    for each in (first, second):
        each.init_state(state)
        each.initialize({}, None)  # type: ignore[arg-type]
        each.process(Click("0", "clicks", "default", 1, ["a", 3]))
        each.pre_save("checkpoint")
    second.on_finish()
    assert bolt_delegate.emitted[-1].values == ["a", 0, 10, 2]


class Joined(Topology):
    clicks = Clicks.spec(par=2)
    by_ad = ClicksByAd.spec(inputs={clicks: Grouping.fields("ad")}, par=2, config=EVERY_TUPLE)


def test_a_topology_waits_for_the_slowest_task() -> None:
    """Each task of the spout is a source: its own highest timestamp counts."""
    with TopologyTester(Joined) as tester:
        ahead, behind = tester.tasks("clicks")
        tester.feed("clicks", ["a", 50], task=ahead)
        tester.feed("clicks", ["a", 4], task=behind)
        tester.run()
        assert tester.values("by_ad") == []
        tester.feed("clicks", ["a", 13], task=behind)
        tester.run()
        assert tester.values("by_ad") == [["a", 0, 10, 1]]
        tester.finish()
        assert len(tester.values("by_ad")) == 3


def test_sliding_windows_by_key() -> None:
    class Slides(ClicksByAd):
        window = Sliding(10, 5)  # type: ignore[assignment]

    with ComponentTester(Slides, inputs=CLICKS) as bolt:
        bolt.process(["a", 7])
        assert values(bolt.finish()) == [["a", 0, 10, 1], ["a", 5, 15, 1]]
        assert bolt.acked == [1]


@pytest.mark.parametrize(
    ("kind", "config", "shown"),
    [(ClicksByAd, {}, [["a", 0, 10, 1]]), (Average, STORM, [[3.0, 1], [3.0, 0]])],
)
def test_tracked_tuples_do_not_wait_for_input_that_does_not_come(
    kind: type, config: dict[str, Any], shown: Any
) -> None:
    """After half of the message timeout results are shown and tuples acked: a finite run has an
    end. The windows stay open: later tuples are not late."""
    with ComponentTester(kind, inputs=CLICKS, config=config) as bolt:
        bolt.process(["a", 3])
        assert bolt.advance(14) == []
        assert values(bolt.advance(2)) == shown
        assert bolt.acked == [1]
        assert bolt.advance(600) == []
        bolt.process(["a", 4])
        last = [["a", 0, 10, 2]] if kind is ClicksByAd else [[4.0, 1], [4.0, 0]]
        assert values(bolt.finish()) == last
        assert bolt.acked == [1, 2]
        assert late_dropped(bolt) == 0
    with ComponentTester(kind, inputs=CLICKS, config=config) as bolt:
        bolt.process(["a", 3])
        assert values(bolt.advance(16)) == shown
        assert bolt.finish() == []  # nothing has come since


@pytest.mark.parametrize(
    ("kind", "config", "shown"),
    [(ClicksByAd, {}, [["a", 0, 10, 1]]), (Average, STORM, [[3.0, 1], [3.0, 0]])],
)
def test_silence_closes_windows_if_somebody_asks_for_it(
    kind: type, config: dict[str, Any], shown: Any
) -> None:
    asked = {**config, "topology.bolts.watermark.end.after.ms": 15_000}
    with ComponentTester(kind, inputs=CLICKS, config=asked) as bolt:
        bolt.process(["a", 3])
        assert bolt.advance(14) == []
        assert values(bolt.advance(2)) == shown
        assert bolt.acked == [1]
        assert "no tuple has come for 15000 ms" in bolt.logs[-1].text
        if kind is ClicksByAd:
            assert values(bolt.process(["a", 4])) == [[["a", 4]]]
        bolt.process(["a", 30])
        assert len(bolt.finish()) == (1 if kind is ClicksByAd else 2)


def test_untracked_tuples_wait_for_ever() -> None:
    for kind, config in ((ClicksByAd, {}), (Average, STORM)):
        wait_for_ever(kind, config)


def wait_for_ever(kind: type, config: dict[str, Any]) -> None:
    with ComponentTester(kind, inputs=CLICKS, config={**config, **UNTRACKED}) as bolt:
        bolt.process(["a", 3])
        assert bolt.advance(600) == []


def late_dropped(bolt: ComponentTester) -> Any:
    return bolt.metrics()["user"].get("numLateRecordsDropped", 0)


class Unlisted(ClicksByAd):
    """A bolt without a stream for late tuples."""

    late_stream = None


def test_dropped_late_tuples_are_counted() -> None:
    with ComponentTester(Unlisted, inputs=CLICKS) as bolt:
        bolt.process(["a", 100_000])
        bolt.advance(2)
        for at in (1, 2, 3):
            bolt.process(["a", at])
        assert late_dropped(bolt) == 3
        assert bolt.acked[-3:] == [2, 3, 4]


@pytest.mark.parametrize(
    "time",
    [
        datetime(1970, 1, 1, 0, 0, 0, 3999),
        datetime(1970, 1, 1, 5, 30, 0, 3000, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_a_datetime_is_an_event_time(time: datetime) -> None:
    """One without a time zone is UTC."""
    with ComponentTester(ClicksByAd, inputs=CLICKS) as bolt:
        bolt.process(["a", time])
        assert values(bolt.finish()) == [["a", 0, 10, 1]]
    with ComponentTester(Ends, inputs=CLICKS, config=STORM) as bolt:
        bolt.process(["a", time])
        assert values(bolt.finish())[0] == [10]
    with ComponentTester(Seen, inputs={"clicks": ["ad", "time_ms"]}) as bolt:
        assert values(bolt.process(["a", time])) == [[3]]


class Ends(WindowedBolt):
    outputs = ["end_ms"]

    def execute(self, window: Any) -> None:
        self.emit([window.get_end_timestamp()])


class Seen(KeyedProcessBolt):
    outputs = ["timestamp_ms"]
    auto_ack = True
    timestamp_field = "time_ms"

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        self.emit([timestamp_ms])
