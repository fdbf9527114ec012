"""Windows behind a bolt that keeps its tuples until a tick: the last watermark does not overtake
kept tuples, so each window is complete once, right after the tick."""

from typing import Any

import pytest

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.api.bolt.window_bolt import SlidingWindowBolt, TumblingWindowBolt
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import (
    BatchWindowBolt,
    KeyedProcessBolt,
    KeyedWindowBolt,
    Session,
    Tumbling,
    WindowedBolt,
)

MODE = "topology.reliability.mode"
TICK_SECS = 2
TIMES_MS = [1, 4, 7, 11, 14, 17]
EVENT_TIME = {"topology.bolts.tuple.timestamp.field.name": "time_ms"}
LENGTH_MS = "topology.bolts.window.length.duration.ms"
SLIDE_MS = "topology.bolts.window.sliding.interval.duration.ms"
LENGTH_COUNT = "topology.bolts.window.length.count"
SLIDE_COUNT = "topology.bolts.window.sliding.interval.count"
AN_HOUR = 3600
ODD_MS = 3_600_001
"""The virtual clock begins at a full hour, at which a window of Storm ends."""
LONG = {"topology.message.timeout.secs": 3 * AN_HOUR}


class Clicks(Spout):
    outputs = {"ad": "string", "time_ms": "bigint"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(TIMES_MS)

    def next_tuple(self) -> None:
        if self.left:
            time_ms = self.left.pop(0)
            self.emit(["a", time_ms], tup_id=time_ms)
        else:
            self.finish()


class Keeps(Bolt):
    """Emits its input at the next tick, the first half earlier, unasked."""

    outputs = {"ad": "string", "time_ms": "bigint"}
    acks_later = True

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.kept: list[Any] = []
        self.passed = 0

    def process(self, tup: Any) -> None:
        self.kept.append(tup)
        if self.passed < len(TIMES_MS) // 3:
            self.passed += 1
            self.process_tick(None)

    def process_tick(self, tup: Any) -> None:
        for each in self.kept:
            self.emit(each.values, anchors=[each])
            self.ack(each)
        self.kept.clear()


class OfStorm(WindowedBolt):
    outputs = ["number"]

    def execute(self, window: Any) -> None:
        self.emit([len(window.get())])


class Tumbles(TumblingWindowBolt):
    outputs = ["number"]

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        if tuples:
            self.emit([len(tuples)], anchors=tuples)


class Slides(SlidingWindowBolt):
    outputs = ["number"]

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        if tuples:
            self.emit([len(tuples)], anchors=tuples)


class Keyed(KeyedWindowBolt):
    outputs = ["number"]
    timestamp_field: str | None = "time_ms"
    window: Any = Tumbling(10)

    def values(self, result: Any) -> Any:
        return [result.value]


class Sessions(Keyed):
    window = Session(5)


class ByArrival(Keyed):
    timestamp_field = None
    window = Tumbling(AN_HOUR * 1000)


class Batches(BatchWindowBolt):
    outputs = {"number": "bigint"}
    timestamp_field = "time_ms"
    window = Tumbling(10)
    aggregates = {"number": "count"}


class Timers(KeyedProcessBolt):
    """A timer for each ten milliseconds, which counts their tuples."""

    outputs = ["number"]
    timestamp_field = "time_ms"

    def init_state(self, state: Any) -> None:
        super().init_state(state)
        self.tuples: list[Any] = []

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        self.tuples.append(tup)
        assert timestamp_ms is not None
        self.timers.register_event_time_timer(timestamp_ms // 10 * 10 + 9)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        inside = [each for each in self.tuples if each.values[1] <= timestamp_ms]
        self.emit([len(inside)], anchors=inside)
        for each in inside:
            self.ack(each)
            self.tuples.remove(each)


STORM = {LENGTH_MS: 10, SLIDE_MS: 10}
DURATION, SLIDE = SlidingWindowBolt.WINDOW_DURATION_SECS, "slidingwindowbolt_slideinterval_secs"
TUMBLING_SECS = TumblingWindowBolt.WINDOW_DURATION_SECS
SIX = [len(TIMES_MS)]
FORMS: list[tuple[Any, dict[str, Any], list[int]]] = [
    (Keyed, {}, [3, 3]),
    (Sessions, {}, SIX),
    (ByArrival, LONG, SIX),
    (Batches, {}, [3, 3]),
    (Timers, {}, [3, 3]),
    (OfStorm, STORM | EVENT_TIME, [3, 3]),
    (OfStorm, {LENGTH_COUNT: 4, SLIDE_COUNT: 4} | EVENT_TIME, [4, 2]),
    (OfStorm, {LENGTH_MS: ODD_MS, SLIDE_MS: ODD_MS} | LONG, SIX),
    (OfStorm, {LENGTH_COUNT: 4, SLIDE_COUNT: 4}, [4, 2]),
    (Tumbles, {TUMBLING_SECS: AN_HOUR} | LONG, SIX),
    (Tumbles, {TUMBLING_SECS: AN_HOUR} | EVENT_TIME, SIX),
    (Slides, {DURATION: AN_HOUR, SLIDE: AN_HOUR} | LONG, SIX),
    (Slides, {DURATION: AN_HOUR, SLIDE: AN_HOUR} | EVENT_TIME, SIX),
]


@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "ATMOST_ONCE", "EFFECTIVELY_ONCE"])
@pytest.mark.parametrize(("windows", "config", "numbers"), FORMS)
def test_windows_behind_a_bolt_that_keeps_its_tuples_are_complete_with_its_tick(
    windows: Any, config: dict[str, Any], numbers: list[int], mode: str
) -> None:
    class Kept(Topology):
        clicks = Clicks.spec()
        keeps = Keeps.spec(inputs=[clicks], config={"topology.tick.tuple.freq.secs": TICK_SECS})
        counts = windows.spec(inputs={keeps: Grouping.fields("ad")})

    with TopologyTester(Kept, config={MODE: mode, **LONG, **config}) as tester:
        tester.run_spouts()
        tester.advance(TICK_SECS)
        assert [number for (number,) in tester.values("counts")] == numbers
        if mode == "ATLEAST_ONCE":
            assert sorted(tester.acked("clicks")) == TIMES_MS
        tester.finish()
        assert len(tester.values("counts")) == len(numbers)


class AcksFirst(Keeps):
    """Acks tuples before the emits of the results."""

    acks_later = False

    def process(self, tup: Any) -> None:
        self.kept.append(tup)
        self.ack(tup)

    def process_tick(self, tup: Any) -> None:
        for each in self.kept:
            self.emit(each.values)
        self.kept.clear()


class Endless(Clicks):
    """An endless source, to show tuples held back by the second source."""

    def next_tuple(self) -> None:
        pass


@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "ATMOST_ONCE", "EFFECTIVELY_ONCE"])
def test_a_finished_source_whose_bolt_emits_later_holds_no_other_back(mode: str) -> None:
    class Both(Topology):
        clicks = Clicks.spec()
        keeps = AcksFirst.spec(inputs=[clicks], config={"topology.tick.tuple.freq.secs": TICK_SECS})
        endless = Endless.spec()
        counts = Keyed.spec(
            inputs={keeps: Grouping.fields("ad"), endless: Grouping.fields("ad")},
            config={"topology.bolts.watermark.event.interval.ms": 0},
        )

    with TopologyTester(Both, config={MODE: mode}) as tester:
        tester.run_spouts()
        tester.advance(TICK_SECS)
        assert tester.values("counts") == []
        tester.feed("endless", ["b", 25])
        tester.run()
        assert tester.values("counts") == [[3], [3]]


class NeverAcks(Keeps):
    acks_later = False

    def process(self, tup: Any) -> None:
        self.emit(tup.values)


@pytest.mark.parametrize(
    ("mode", "waits_secs"), [("ATLEAST_ONCE", 30), ("ATMOST_ONCE", 0), ("EFFECTIVELY_ONCE", 0)]
)
def test_a_bolt_that_forgets_its_acks_withholds_the_end_for_a_message_timeout_at_most(
    mode: str, waits_secs: int
) -> None:
    class Forgets(Topology):
        clicks = Clicks.spec()
        forgets = NeverAcks.spec(inputs=[clicks], config={"topology.tick.tuple.freq.secs": 1})
        counts = Keyed.spec(inputs={forgets: Grouping.fields("ad")})

    with TopologyTester(Forgets, config={MODE: mode}) as tester:
        tester.run_spouts()
        if waits_secs:
            tester.advance(waits_secs - 2)
            assert tester.values("counts") == [[3]]  # the second one is open
        tester.advance(4)
        assert tester.values("counts") == [[3], [3]]
