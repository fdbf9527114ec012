"""When sources have finished their windows are complete at once, in every reliability mode; and the
watermarks that spouts give travel behind their tuples."""

from random import Random
from typing import Any

import pytest

from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.windowed_bolt import WindowedBolt
from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")
MODE = "topology.reliability.mode"
LAG = "topology.bolts.tuple.timestamp.max.lag.ms"
CLICKS = [("a", 1), ("b", 3), ("a", 11)]
COUNTED = [["a", 0, 10, 1], ["a", 10, 20, 1], ["b", 0, 10, 1]]


class Clicks(Spout):
    """Tracked, and emitted again when they fail."""

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
    """Its tuples come from a source that had finished: they are not late."""
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
    """Its state is how far it is."""

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
    """What has come of each window, in keyed state: twice if it came twice."""

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
        # Both are at 11 ms, and only one of them may send something older.
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
    """Says itself how far it is: a number below zero is a watermark."""

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


def test_a_watermark_of_a_spout_comes_in_order_and_never_goes_back() -> None:
    with TopologyTester(Heard) as tester:
        tester.run_spouts(7)
        assert tester.component("hears")[0].heard == [
            ("tuple", 5), ("watermark", 3), ("tuple", 7), ("watermark", 6),
        ]  # fmt: skip


class OfTheUsers(Hears):
    """Its methods have names that ours have."""

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
