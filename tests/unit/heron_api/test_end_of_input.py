"""When sources have finished their windows are complete at once, in every reliability mode; and the
watermarks that spouts give travel behind their tuples."""

from random import Random
from typing import Any, ClassVar

import pytest

from heron_api.state.component_state import ComponentState
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.saved_windows import FirstEnd
from heron_api.windows.window_bolt import TumblingWindowBolt
from heron_api.windows.windowed_bolt import WindowedBolt
from heron_core.state.codec import StateCodec
from heron_core.state.current_key import CurrentKey
from heron_core.state.memory import MemoryBackend
from heron_core.state.named_states import NamedStates
from heron_spark.worker.state_snapshot import StateSnapshot
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
MODE = "topology.reliability.mode"
LAG = "topology.bolts.tuple.timestamp.max.lag.ms"
CLICKS = [("a", 1), ("b", 3), ("a", 11)]
COUNTED = [["a", 0, 10, 1], ["a", 10, 20, 1], ["b", 0, 10, 1]]


class Clicks(Spout):
    """Tracked, and emitted again after a failure."""

    outputs = ["ad", "time_ms"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(range(len(CLICKS)))

    def next_tuple(self) -> None:
        if self.left:
            number = self.left.pop(0)
            self.emit(CLICKS[number], tup_id=number)
        else:
            self.finish()

    def fail(self, tup_id: Any) -> None:
        self.left.append(tup_id)


class Endless(Clicks):
    def next_tuple(self) -> None:
        if self.left:
            super().next_tuple()


class Pass(Bolt):
    outputs = ["ad", "time_ms"]
    auto_ack = auto_anchor = True

    def process(self, tup: Any) -> None:
        self.emit(tup.values)


class Counts(KeyedWindowBolt):
    outputs = ["ad", "start_ms", "end_ms", "clicks"]
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window = Tumbling(10)


class PerWindow(KeyedWindowBolt):
    outputs = ["start_ms", "end_ms", "ads"]
    timestamp_field = "start_ms"
    window = Tumbling(100)


class Show(Bolt):
    outputs: list[str] = []
    failed = False

    def process(self, tup: Any) -> None:
        first = tup.values[1] == 0 and not Show.failed
        if first and self.config_fails:
            Show.failed = True
            self.fail(tup)
        else:
            self.ack(tup)

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.config_fails = config.get("show.fails", False)


class TwoLevels(Topology):
    clicks = Clicks.spec()
    passed = Pass.spec(inputs=[clicks], par=2)
    counts = Counts.spec(inputs={passed: Grouping.fields("ad")}, par=2)
    per_window = PerWindow.spec(inputs={counts: Grouping.GLOBAL})
    show = Show.spec(inputs=[counts])


@pytest.mark.parametrize("mode", MODES)
def test_windows_of_a_finite_run_are_complete_at_once(mode: str) -> None:
    """Level by level, without a second of silence, and before on_finish."""
    with TopologyTester(TwoLevels, config={MODE: mode}) as tester:
        tester.run_spouts()
        assert sorted(tester.values("counts")) == COUNTED
        assert tester.values("per_window") == [[0, 100, 3]]
        assert len(tester.acked("clicks")) == (0 if mode == MODES[2] else 3)
        tester.finish()
        assert len(tester.values("per_window")) == 1


def test_a_result_that_fails_is_made_again_of_what_is_replayed() -> None:
    """Replayed tuples of a finished source are not late."""
    Show.failed = False
    config = {MODE: MODES[1], "show.fails": True, LAG: 100}
    with TopologyTester(TwoLevels, config=config) as tester:
        tester.run_spouts()
        tester.run_spouts()  # it is open again
        assert sorted(tester.values("counts")) in [
            sorted([*COUNTED, COUNTED[0]]), sorted([*COUNTED, COUNTED[2]])
        ]  # fmt: skip
        assert sorted(set(tester.acked("clicks"))) == [0, 1, 2]


class Positioned(Spout, StatefulComponent):
    """The state is the position."""

    outputs = ["ad", "time_ms"]

    def init_state(self, state: Any) -> None:
        self.state = state

    def next_tuple(self) -> None:
        at = self.state.get("at") or 0
        if at == len(CLICKS):
            self.finish()
        else:
            self.state.put("at", at + 1)
            self.emit(CLICKS[at])


class Totals(Bolt):
    """Results of each window, in keyed state: a repeated result counts twice."""

    outputs: list[str] = []
    total = value_state(default=0)

    def process(self, tup: Any) -> None:
        self.total.put(self.total.get() + tup.values[3])


class Exact(Topology):
    config = {MODE: MODES[2]}
    clicks = Positioned.spec()
    counts = Counts.spec(inputs={clicks: Grouping.fields("ad")}, par=2)
    totals = Totals.spec(inputs={counts: Grouping.fields("ad", "start_ms")}, par=2)


@pytest.mark.parametrize("seed", range(8))
def test_results_at_the_end_count_once_whatever_is_killed(seed: int) -> None:
    """Before the last watermark has come, between its hops, and after it."""
    with TopologyTester(Exact, order="random", seed=seed) as tester:
        rng = Random(seed)
        tester.run_spouts(rng.randrange(4))
        for _ in range(4):
            if rng.random() < 0.5:
                tester.checkpoint()
            tester.run_spouts(rng.randrange(5))
            tester.crash(rng.choice(["clicks", "counts", "totals"]))
        tester.run_spouts()
        found = [each for bolt in tester.component("totals") for each in bolt.total.all_items()]
        assert sorted(found) == [(("a", 0), 1), (("a", 10), 1), (("b", 0), 1)]


class Mixed(Topology):
    clicks = Clicks.spec()
    endless = Endless.spec()
    counts = Counts.spec(
        inputs={clicks: Grouping.fields("ad"), endless: Grouping.fields("ad")},
        config={"topology.bolts.watermark.event.interval.ms": 0},
    )


def test_a_source_that_has_finished_holds_no_other_back() -> None:
    with TopologyTester(Mixed) as tester:
        tester.run_spouts()
        # Both are at 11 ms, and only one may send older tuples.
        assert sorted(tester.values("counts")) == [["a", 0, 10, 2], ["b", 0, 10, 2]]
        tester.feed("endless", ["a", 25])
        tester.run()
        assert tester.values("counts")[2:] == [["a", 10, 20, 2]]


class Storms(WindowedBolt):
    outputs = ["number"]

    def execute(self, window: Any) -> None:
        self.emit([len(window.get())])


class StormsWindows(Topology):
    clicks = Clicks.spec(par=2)
    counts = Storms.spec(
        inputs=[clicks],
        config={
            "topology.bolts.window.length.duration.ms": 10,
            "topology.bolts.window.sliding.interval.duration.ms": 10,
            "topology.bolts.tuple.timestamp.field.name": "time_ms",
        },
    )


def test_storms_windows_end_with_all_tasks_of_their_spout() -> None:
    with TopologyTester(StormsWindows, config={MODE: MODES[1]}) as tester:
        tester.run_spouts()
        assert tester.values("counts") == [[4], [2]]
        assert len(tester.acked("clicks")) == 6


class Timed(Spout):
    """Emits watermarks: a number below zero is a watermark."""

    outputs = ["kind", "number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.steps = [5, -3, 7, -2, -6]

    def next_tuple(self) -> None:
        if not self.steps:
            return
        step = self.steps.pop(0)
        if step < 0:
            self.emit_watermark(-step)
        else:
            self.emit(["tuple", step])


class Hears(Bolt):
    outputs: list[str] = []

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.heard: list[Any] = []

    def process(self, tup: Any) -> None:
        self.heard.append(tuple(tup.values))
        self.ack(tup)

    def on_watermark(self, watermark_ms: int) -> None:
        self.heard.append(("watermark", watermark_ms))


class Heard(Topology):
    timed = Timed.spec()
    between = Pass.spec(inputs=[timed])
    hears = Hears.spec(inputs=[between])


def test_a_watermark_of_a_spout_comes_in_order_and_never_falls() -> None:
    with TopologyTester(Heard) as tester:
        tester.run_spouts(7)
        assert tester.component("hears")[0].heard == [
            ("tuple", 5), ("watermark", 3), ("tuple", 7), ("watermark", 6),
        ]  # fmt: skip


class OfTheUsers(Hears):
    """Its methods share names with the engine's."""

    def clock_state(self, more: Any) -> None:
        raise AssertionError

    def source_watermark(self) -> None:
        raise AssertionError


class Named(Topology):
    clicks = Clicks.spec()
    hears = OfTheUsers.spec(inputs=[clicks])


def test_methods_of_the_users_that_are_called_like_ours_are_left_alone() -> None:
    with TopologyTester(Named) as tester:
        tester.run_spouts()
        assert tester.metrics("hears")["executed"] == 3
        assert tester.component("hears")[0].heard[-1] == ("watermark", 2**63 - 1)
        tester.finish()
        assert len(tester.component("hears")[0].heard) == 4, "it hears of the end once"


class InOneWindow(Bolt):
    """Windows of the tuples behind the end of its sources: the number of tuples in each."""

    shown: ClassVar[list[int]] = []


class Together(KeyedWindowBolt, InOneWindow):
    key_fields = ["ad"]
    timestamp_field = "time_ms"
    window = Tumbling(10)

    def values(self, result: Any) -> Any:
        self.shown.append(result.value)


class StormsTogether(WindowedBolt, InOneWindow):
    def execute(self, window: Any) -> None:
        self.shown.append(len(window.get()))


class ByTheClock(TumblingWindowBolt, InOneWindow):
    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        if tuples:  # windows by the clock are shown without any as well
            self.shown.append(len(tuples))


class Timers(KeyedProcessBolt, InOneWindow):
    count = value_state(default=0)
    timestamp_field = "time_ms"

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        self.count.put(self.count.get() + 1)
        self.timers.register_event_time_timer(109)

    def on_timer(self, timestamp_ms: int, timer: Any) -> None:
        self.shown.append(self.count.get())
        self.count.put(0)


STORMS_10_MS = {
    "topology.bolts.window.length.duration.ms": 10,
    "topology.bolts.window.sliding.interval.duration.ms": 10,
    "topology.bolts.tuple.timestamp.field.name": "time_ms",
}
A_MINUTE = {TumblingWindowBolt.WINDOW_DURATION_SECS: 60}


@pytest.mark.parametrize(
    ("kind", "config"),
    [(Together, {}), (StormsTogether, STORMS_10_MS), (ByTheClock, A_MINUTE), (Timers, {})],
)
@pytest.mark.parametrize("is_restored", [False, True])
def test_what_comes_behind_the_end_of_its_sources_is_one_window_also_after_a_restore(
    kind: Any, config: dict[str, Any], is_restored: bool
) -> None:
    class Behind(Topology):
        clicks = Positioned.spec()
        behind = kind.spec(inputs={clicks: Grouping.fields("ad")}, config=config)

    with TopologyTester(Behind, config={MODE: MODES[2]}) as tester:
        tester.run_spouts()
        kind.shown.clear()
        tester.feed("clicks", ["a", 105])
        tester.run()
        if is_restored:
            assert tester.checkpoint()
            tester.crash("behind")
            tester.run_spouts()
        tester.feed("clicks", ["a", 106])
        tester.run()
        assert kind.shown == []
        tester.finish()
        assert kind.shown == [2]


def test_a_bolt_whose_attributes_spark_saves_knows_that_its_sources_have_finished() -> None:
    class Holder:
        def __init__(self, state: Any) -> None:
            self.first_end = FirstEnd(state)

    def memory(holder: Holder, state: Any) -> StateSnapshot:
        return StateSnapshot(holder, {"state": state}, set(), lambda line: None)

    for is_kept in (True, False):
        states = [of_engine() if is_kept else None for _ in range(2)]
        before, after = map(Holder, states)
        assert before.first_end.is_now()
        memory(after, states[1]).restore(memory(before, states[0]).save({}))
        if is_kept:
            assert after.first_end.is_now()  # the state itself has not been restored
        assert not after.first_end.is_now()


def of_engine() -> ComponentState:
    backend = MemoryBackend(StateCodec("behind"))
    return ComponentState(NamedStates(backend, CurrentKey("behind"), lambda: 0.0))
