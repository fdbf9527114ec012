"""Timers of bolts and streamlets: due by event time and by the clock, kept in state, once each."""

from typing import Any

import pytest

from heron_api.state.keyed_state import value_state
from heron_core.errors import ComponentError, StateError
from heron_core.state.timer_service import TimeDomain
from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester
from heronpy_compat.windows import KeyedProcessBolt, Timer

EVERY_TUPLE = {"topology.bolts.watermark.event.interval.ms": 0}
MODE = "topology.reliability.mode"


class Visits(Spout):
    outputs = ["user", "time_ms"]

    def next_tuple(self) -> None:
        pass


class Inactive(KeyedProcessBolt):
    """Who has not been seen for 100 ms, each once; and an alarm of the clock, a second later."""

    outputs = ["what", "user", "time_ms"]
    auto_ack = True
    timestamp_field = "time_ms"
    lag_ms = 10
    last = value_state(default=0)

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        if tup.user == "gone":
            self.timers.delete_event_time_timer(timestamp_ms + 100)
            return
        self.last.put(max(timestamp_ms, self.last.get()))
        for _ in range(2):  # the second one is the same timer
            self.timers.register_event_time_timer(timestamp_ms + 100)
        if tup.user == "clock":
            due = self.timers.current_processing_time() + 1000
            self.timers.register_processing_time_timer(due)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        if timer.domain is TimeDomain.PROCESSING_TIME:
            self.emit(["clock", timer.key, self.last.get()])
        elif self.last.get() == timestamp_ms - 100:
            self.emit(["inactive", timer.key, timestamp_ms])
            self.last.clear()


class Watched(Topology):
    visits = Visits.spec()
    inactive = Inactive.spec(inputs={visits: Grouping.fields("user")}, par=2, config=EVERY_TUPLE)


def fed(tester: TopologyTester, *visits: Any) -> None:
    for visit in visits:
        tester.feed("visits", list(visit))
    tester.run()


def test_a_timer_is_due_once_the_watermark_has_passed_it() -> None:
    """For its own key, with that key's state; the one that was registered twice comes once."""
    with TopologyTester(Watched) as tester:
        fed(tester, ("a", 1000), ("b", 1050))
        tester.advance_watermark("inactive", 1100)
        assert tester.values("inactive") == [], "an event of 1100 may still come"
        tester.advance_watermark("inactive", 1101)
        assert tester.values("inactive") == [["inactive", "a", 1100]]
        fed(tester, ("b", 1140))
        tester.advance_watermark("inactive", 1500)
        assert tester.values("inactive")[1:] == [["inactive", "b", 1240]]
        tester.finish()
        assert len(tester.values("inactive")) == 2


def test_a_timer_by_the_clock_and_one_that_is_deleted() -> None:
    with TopologyTester(Watched) as tester:
        fed(tester, ("clock", 1000), ("gone", 1000))
        tester.advance(0.9)
        assert tester.values("inactive") == []
        tester.advance(0.3)
        assert tester.values("inactive") == [["clock", "clock", 1000]]
        tester.finish()
        assert tester.values("inactive")[1:] == [["inactive", "clock", 1100]]


def test_timers_are_in_the_state_and_survive_a_crash() -> None:
    with TopologyTester(Watched, config={MODE: "EFFECTIVELY_ONCE"}) as tester:
        fed(tester, ("a", 1000), ("b", 2000))
        assert tester.checkpoint()
        fed(tester, ("a", 1060))  # void: nobody replays it
        tester.crash("inactive")
        tester.advance_watermark("inactive", 5000)
        assert sorted(tester.values("inactive")) == [
            ["inactive", "a", 1100],
            ["inactive", "b", 2100],
        ]
        tester.crash("inactive")
        tester.advance_watermark("inactive", 5000)
        assert len(tester.values("inactive")) == 4, "back at the checkpoint, both are due again"


class Endless(KeyedProcessBolt):
    """Registers another timer whenever one is due."""

    outputs = ["time_ms"]
    auto_ack = True
    timestamp_field = "time_ms"

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        self.timers.register_event_time_timer(timestamp_ms + 10)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        self.timers.register_event_time_timer(timestamp_ms + 10)
        self.emit([timestamp_ms])


VISITS = {"visits": ["user", "time_ms"]}


class Ticking(Topology):
    visits = Visits.spec()
    endless = Endless.spec(inputs={visits: Grouping.fields("user")}, config=EVERY_TUPLE)


def test_timers_that_register_others_come_in_order_and_end_with_the_input() -> None:
    with TopologyTester(Ticking) as tester:
        fed(tester, ("a", 5), ("a", 36))
        assert tester.values("endless") == [[15], [25], [35]]
        tester.finish()
        assert tester.values("endless")[3:] == [[45], [46]]


class Raises(Endless):
    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        self.emit([timestamp_ms])
        if timestamp_ms == 11:
            raise ValueError("eleven")


class Raising(Topology):
    visits = Visits.spec()
    raises = Raises.spec(inputs={visits: Grouping.fields("user")})


def test_one_that_raises_keeps_no_other_from_being_called() -> None:
    with TopologyTester(Raising) as tester:
        fed(tester, ("a", 1), ("a", 2), ("b", 7))
        tester.advance_watermark("raises", 100)
        assert tester.values("raises") == [[11], [12], [17]]
        (error,) = tester.errors("raises")
        assert "eleven" in str(error)


class Given(KeyedProcessBolt):
    """Has no timestamps: the watermark is what the spout gives."""

    outputs = ["due", "watermark"]
    auto_ack = True

    def process_element(self, tup: Any, timestamp_ms: Any) -> None:
        assert timestamp_ms is None
        self.timers.register_event_time_timer(tup.values[1])

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        self.emit([timestamp_ms, self.timers.current_watermark()])


class Gives(Spout):
    outputs = ["user", "time_ms"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.steps = [7, -5, 9, -8, None]

    def next_tuple(self) -> None:
        step = self.steps.pop(0) if self.steps else 0
        if step is None:
            self.finish()
        elif step > 0:
            self.emit(["a", step])
        elif step < 0:
            self.emit_watermark(-step)


class ByGiven(Topology):
    gives = Gives.spec()
    given = Given.spec(inputs={gives: Grouping.fields("user")})


def test_timers_by_the_watermarks_of_a_spout() -> None:
    with TopologyTester(ByGiven) as tester:
        tester.run_spouts(4)
        assert tester.values("given") == [[7, 8]]
        tester.run_spouts(1)
        assert tester.values("given") == [[7, 8], [9, 8]], "it has finished: the rest is due"


@pytest.mark.parametrize("wrong", [1.5, True, "soon", 2**63])
def test_a_timer_of_no_time(wrong: Any) -> None:
    class Wrong(Endless):
        def process_element(self, tup: Any, timestamp_ms: Any) -> None:
            with pytest.raises(StateError, match="a timer is a whole number of milliseconds"):
                self.timers.register_event_time_timer(wrong)

    with ComponentTester(Wrong, inputs=VISITS) as bolt:
        bolt.process(["a", 1])


def test_a_class_without_process_element_is_refused_when_it_is_loaded() -> None:
    class Nothing(KeyedProcessBolt):
        outputs = ["x"]

    assert "must define process_element" in str(Nothing.load_problem({}, True))
    with pytest.raises(ComponentError, match="has no timers"):
        Nothing(delegate=_Delegate()).init_state({})  # type: ignore[arg-type]


class _Delegate:
    logger = None
