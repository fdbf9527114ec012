"""Window bolts: tuples of a window, the time of their acks, and the config."""

import time
from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout
from heron_api.state.state import HashMapState
from heron_api.topology import TopologyBuilder
from heron_api.tuple import Tuple
from heron_api.windows.window_bolt import (
    SlidingWindowBolt,
    TumblingWindowBolt,
    WindowContext,
)
from heron_core.errors import ComponentError, StateError
from tests.unit.local_cluster import LocalCluster, submitted

DURATION = SlidingWindowBolt.WINDOW_DURATION_SECS
SLIDE = SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS
TUMBLING = TumblingWindowBolt.WINDOW_DURATION_SECS
TICK = "topology.tick.tuple.freq.secs"


class Numbers(Spout):
    outputs = ["number"]

    def initialize(self, config: Any, context: Any) -> None:
        self.waiting: list[int] = []
        self.acked: list[int] = []
        self.failed: list[int] = []

    def next_tuple(self) -> None:
        if self.waiting:
            number = self.waiting.pop(0)
            self.emit([number], tup_id=number)

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.failed.append(tup_id)


class _Recorded:
    """Keeps (window, its numbers); raises for a window with a 13."""

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        found = [tup.values[0] for tup in tuples]
        if 13 in found:
            raise ValueError("a 13")
        self.__dict__.setdefault("windows", []).append((tuple(window_info), found))


class Sliding(_Recorded, SlidingWindowBolt):
    pass


class Tumbling(_Recorded, TumblingWindowBolt):
    pass


class Windows:
    """A spout, a window bolt behind it, and time."""

    def __init__(self, bolt: type, config: dict[str, Any], mode: str = "ATLEAST_ONCE") -> None:
        builder = TopologyBuilder("windows")
        numbers = builder.add_spout("numbers", Numbers, 1)
        builder.add_bolt("window", bolt, 1, inputs=[numbers], config=config)
        topology = submitted(builder.build_and_submit)
        self.cluster = LocalCluster(topology, topology_reliability_mode=mode)
        self.spout = self.cluster.component("numbers")
        self.bolt = self.cluster.component("window")
        self.core = self.cluster.instances[2].driver

    def take(self, *numbers: int) -> None:
        """Tuples arrive now."""
        self.spout.waiting.extend(numbers)
        for _ in numbers:
            self.cluster.turn()

    @property
    def windows(self) -> list[Any]:
        windows: list[Any] = self.bolt.__dict__.get("windows", [])
        return windows


def test_names_of_heronpy() -> None:
    assert DURATION == "slidingwindowbolt_duration_secs"
    assert SLIDE == "slidingwindowbolt_slideinterval_secs"
    assert TUMBLING == "tumblingwindowbolt_duration_secs"
    assert WindowContext._fields == ("start", "end")


def test_the_tick_interval_that_a_window_bolt_requests_is_the_one_that_counts() -> None:
    """The component's config says a tick every 50 s, and goes on to say so."""
    run = Windows(Sliding, {DURATION: 16, SLIDE: "8", TICK: 50})
    assert run.cluster.instances[2].context.get_cluster_config()[TICK] == 50
    run.cluster.tick(0.9)
    assert run.core.metrics.ticks == 0
    run.cluster.tick(0.1)
    assert run.core.metrics.ticks == 1  # eight times in a slide


class SetsTicks(Bolt):
    """Asks for ticks as heronpy's own window bolts do: in the config that `initialize` gets."""

    def initialize(self, config: Any, context: Any) -> None:
        config[TICK] = "3"

    def process(self, tup: Any) -> None:
        self.ack(tup)


class WrapsWindow(Bolt):
    """Runs a window bolt with itself as the delegate, and hands ticks on."""

    def initialize(self, config: Any, context: Any) -> None:
        self.inner = Sliding(delegate=self)
        self.inner.initialize(config, context)

    def process(self, tup: Any) -> None:
        self.inner.process(tup)

    def process_tick(self, tup: Any) -> None:
        self.inner.process_tick(tup)


@pytest.mark.parametrize(("bolt", "interval_secs"), [(SetsTicks, 3.0), (WrapsWindow, 0.25)])
def test_ticks_that_users_ask_for_in_initialize(bolt: type, interval_secs: float) -> None:
    run = Windows(bolt, {DURATION: 4, SLIDE: 2, TICK: 50})
    assert run.cluster.instances[2].context.tick_secs == interval_secs


def test_sliding_windows_overlap_and_ack_what_has_left_them() -> None:
    """4 s every 2 s. 1 arrives at 1000, 2 at 1002, 3 at 1004; each is in two windows."""
    run = Windows(Sliding, {DURATION: 4, SLIDE: 2})
    run.take(1)
    run.cluster.tick(2)
    assert (run.windows[-1], run.spout.acked) == (((998, 1002), [1]), [])
    run.take(2)
    run.cluster.tick(2)
    assert (run.windows[-1], run.spout.acked) == (((1000, 1004), [1, 2]), [1])
    run.take(3)
    run.cluster.tick(2)
    assert (run.windows[-1], run.spout.acked) == (((1002, 1006), [2, 3]), [1, 2])
    run.cluster.tick(2)
    assert (run.windows[-1], run.spout.acked) == (((1004, 1008), [3]), [1, 2, 3])


def test_the_slide_interval_is_the_duration_if_it_is_not_given() -> None:
    """Then no tuple is in two windows, and each is acked behind its own."""
    run = Windows(Sliding, {DURATION: 2})
    run.take(1, 2)
    run.cluster.tick(2)
    assert run.spout.acked == [1, 2]
    run.cluster.tick(2)
    assert run.windows == [((1000, 1002), [1, 2]), ((1002, 1004), [])]


def test_a_late_tick_leaves_no_tuple_out() -> None:
    """The process was busy for 9 s: earlier tuples are in their own windows only."""
    run = Windows(Sliding, {DURATION: 4, SLIDE: 2})
    run.take(1)
    run.cluster.tick(9)
    assert run.windows == [
        ((998, 1002), [1]),
        ((1000, 1004), [1]),
        ((1002, 1006), []),
        ((1004, 1008), []),
    ]
    assert run.spout.acked == [1]


def test_tumbling_windows_end_with_acks() -> None:
    """Of whole seconds since 1970, wherever the run begins."""
    run = Windows(Tumbling, {TUMBLING: "3"})
    run.take(1, 2)
    run.cluster.tick(3)
    run.take(3)
    assert (run.windows, run.spout.acked) == ([((999, 1002), [1, 2])], [1, 2])
    run.cluster.tick(3)
    assert (run.windows[1:], run.spout.acked) == ([((1002, 1005), [3])], [1, 2, 3])


@pytest.mark.parametrize(
    ("bolt", "config"), [(Sliding, {DURATION: 4, SLIDE: 2}), (Tumbling, {TUMBLING: 2})]
)
def test_an_error_in_a_window_fails_its_tuples(bolt: type, config: dict[str, Any]) -> None:
    """The bolt does not retry for ever: the spout gets the failure."""
    run = Windows(bolt, config)
    run.take(1, 13)
    run.cluster.tick(2)
    assert (run.spout.acked, run.spout.failed) == ([], [1, 13])
    assert "ValueError: a 13" in run.cluster.errors[0]
    run.take(2)
    run.cluster.tick(2)
    assert run.windows[-1][1] == [2]


@pytest.mark.parametrize(
    ("bolt", "config"), [(Sliding, {DURATION: 40, SLIDE: 20}), (Tumbling, {TUMBLING: 40})]
)
def test_the_end_of_a_finite_run_is_the_end_of_the_window(
    bolt: type, config: dict[str, Any]
) -> None:
    """Held tuples do not keep a run alive; their windows are processed when it ends."""
    run = Windows(bolt, config, mode="ATMOST_ONCE")
    run.take(1, 2)
    assert run.core.counts()[2]
    run.cluster.finish()
    assert [found for _, found in run.windows] == [[1, 2]] * (2 if bolt is Sliding else 1)
    assert not run.bolt.current_tuples
    assert run.core.statistics().acked == 2


def test_at_the_end_each_tuple_has_been_in_all_of_its_sliding_windows() -> None:
    run = Windows(Sliding, {DURATION: 4, SLIDE: 2}, mode="ATMOST_ONCE")
    run.take(1)
    run.cluster.tick(2)
    run.cluster.finish()
    assert run.windows == [((998, 1002), [1]), ((1000, 1004), [1])]


@pytest.mark.parametrize(
    ("bolt", "config", "message"),
    [
        (Sliding, {}, f"bolt 'window': its config needs {DURATION}, the seconds of a window"),
        (Tumbling, {}, f"bolt 'window': its config needs {TUMBLING}, the seconds of a window"),
        (
            Sliding,
            {DURATION: 1.5},
            f"bolt 'window': {DURATION} must be a whole number of at least 1, not 1.5",
        ),
        (
            Sliding,
            {DURATION: 2, SLIDE: 4},
            rf"bolt 'window': {SLIDE} \(4\) must not be longer than {DURATION} \(2\)",
        ),
    ],
)
def test_a_wrong_window_is_named(bolt: type, config: dict[str, Any], message: str) -> None:
    """heronpy logs "fatal" and goes on without an attribute."""
    with pytest.raises(ComponentError, match=message):
        Windows(bolt, config)


def test_a_window_longer_than_the_message_timeout_is_told_of() -> None:
    """Its tuples would fail before they are acked, come again and fail again."""
    warnings = [
        Windows(Tumbling, {TUMBLING: duration}, mode=mode).cluster.errors
        for duration, mode in ((30, "ATLEAST_ONCE"), (29, "ATLEAST_ONCE"), (30, "ATMOST_ONCE"))
    ]
    told = "retains tuples for up to 30 s, but topology.message.timeout.secs fails them after 30"
    assert warnings == [[f"bolt 'window' {told}: raise the timeout"], [], []]


def test_a_window_without_process_window(bolt_delegate: Any) -> None:
    bolt = TumblingWindowBolt(delegate=bolt_delegate)
    bolt.initialize({TUMBLING: 1}, None)  # type: ignore[arg-type]
    bolt.process(Tuple("0", "numbers", "default", 1, [7]))
    bolt.window_clock = lambda: time.time() + 1
    with pytest.raises(NotImplementedError, match="TumblingWindowBolt must define processWindow"):
        bolt.process_tick(None)


@pytest.mark.parametrize(("bolt", "key"), [(Sliding, DURATION), (Tumbling, TUMBLING)])
def test_the_open_window_is_saved_and_restored(bolt: type, key: str, bolt_delegate: Any) -> None:
    """heronpy's window bolts raised on their own state."""
    state = HashMapState()
    first, second = bolt(delegate=bolt_delegate), bolt(delegate=bolt_delegate)
    for each in (first, second):
        each.init_state(state)
        each.initialize({key: 5}, None)
        each.window_clock = lambda: 100.0
        if each is first:
            each.process(Tuple("0", "numbers", "default", 1, [7]))
            each.pre_save("checkpoint 1")
    second.window_clock = lambda: 500.0  # so long has nothing run
    second.process_tick(None)
    assert second.windows == [((100, 105), [7])]


def test_a_window_that_was_shown_before_a_checkpoint_is_not_shown_again(bolt_delegate: Any) -> None:
    """7 is in two windows; the first one was shown before its process ended."""
    state = HashMapState()
    for now, expected in ((1002.5, [((998, 1002), [7])]), (1004.5, [((1000, 1004), [7])])):
        bolt: Any = Sliding(delegate=bolt_delegate)
        bolt.init_state(state)
        bolt.initialize({DURATION: 4, SLIDE: 2}, None)
        if now == 1002.5:
            bolt.window_clock = lambda: 1000.5
            bolt.process(Tuple("0", "numbers", "default", 1, [7]))
        bolt.window_clock = lambda now=now: now
        bolt.process_tick(None)
        bolt.pre_save("checkpoint 1")
        assert bolt.windows == expected


def test_a_state_with_one_more_number_of_an_earlier_version_is_read(bolt_delegate: Any) -> None:
    """It noted the end of the last window of a number of tuples, a value without readers."""
    state = HashMapState()
    position, retained = [0, 1002_000, None, 1000_000], [1000_500, True, 1000_000, False]
    item = Tuple("0", "numbers", "default", 1, [7])
    state.put("tuples", [0, [[item, [position, retained]]]])
    bolt: Any = Sliding(delegate=bolt_delegate)
    bolt.init_state(state)
    bolt.initialize({DURATION: 4, SLIDE: 2}, None)
    bolt.window_clock = lambda: 1002.5
    bolt.process_tick(None)
    assert bolt.windows == [((998, 1002), [7])]
    bolt.pre_save("checkpoint 1")
    assert state.get("tuples")[1][0][1][0] == [0, 1004_000, 1002_000]


def test_a_state_of_an_earlier_version_is_refused_in_one_line(bolt_delegate: Any) -> None:
    """It has no note of the windows that were shown."""
    state = HashMapState()
    state.put("tuples", [(Tuple("0", "numbers", "default", 1, [7]), 1000)])
    bolt: Any = Tumbling(delegate=bolt_delegate)
    bolt.init_state(state)
    with pytest.raises(StateError, match="another version of heronpy: start the topology without"):
        bolt.initialize({TUMBLING: 5}, None)
