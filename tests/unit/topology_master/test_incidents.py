"""An incident of a topology is reported once, with time, instance, event and reason, and is not
lost."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from heron_core.instance_report import NOTHING_REPORTED, to_wire
from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    Resource,
    TopologyState,
)
from heron_core.records import replace
from heron_core.stats import TopologyStats
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.topology_events import EVENTS_MAX, TopologyEvent, log_line
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.core import TopologyMaster
from heron_engine.topology_master.options import MasterOptions

NOTHING = Resource(0.0, 0, 0)
TOPOLOGY = TopologySpec(
    "t", (ComponentSpec("lines", True, "m.S", 1), ComponentSpec("count", False, "m.B", 1))
)
LINES, COUNT = 1, 2
PACKED = PackingPlan(
    "t",
    (
        ContainerPlan(1, (InstancePlan(LINES, "lines", 0, NOTHING),), NOTHING),
        ContainerPlan(2, (InstancePlan(COUNT, "count", 0, NOTHING),), NOTHING),
    ),
)
MORNING = 1_000_000.0
"""Seconds since 1970 when the core's clock stood at zero."""


def snapshot(at: float, incarnation: int = 1, **numbers: Any) -> dict[str, Any]:
    """Report of an instance, as sent."""
    who = {"at": at, "incarnation": incarnation, "pid": 7}
    return {**to_wire(NOTHING_REPORTED), **who, **numbers}


class Made:
    """A master with both stream managers."""

    def __init__(self, statistics: Any = None, tracked: bool = False) -> None:
        options = replace(MasterOptions(TopologyState.RUNNING), tracked=tracked)
        self.core = TopologyMaster(
            TOPOLOGY, PACKED, options, statistics=statistics, wall_clock_secs=MORNING
        )
        self.now = 100.0
        self.told: list[TopologyEvent] = []
        self.kept: Any = None
        for container in (1, 2):
            self.register(container)

    def handle(self, event: events.Event) -> None:
        """One step, after which the invariants hold."""
        for each in self.core.handle(event, self.now):
            if isinstance(each, events.WriteEvent):
                self.told.append(each.event)
            elif isinstance(each, events.StoreStatistics):
                self.kept = json.loads(json.dumps(each.statistics))
        self.core.validate()

    def register(self, container: int, predecessor: str = "", process: int = 1) -> None:
        """A stream manager comes."""
        who = messages.RegisterStreamManager(
            container=container,
            incarnation=process,
            address=f"tcp://{container}-{process}",
            host="here",
            pid=70,
            epoch=0,
            predecessor=predecessor,
        )
        self.handle(events.MasterReceived(b"%d-%d" % (container, process), who))

    def heartbeat(
        self, container: int, instances: dict[int, Any], paused: dict[int, Any] | None = None
    ) -> None:
        """A stream manager's heartbeat."""
        beat = messages.Heartbeat(container, {"waiting_bytes": {}}, instances, paused or {})
        self.handle(events.MasterReceived(b"%d-1" % container, beat))

    def passes(self, secs: float) -> None:
        """Time goes by."""
        self.now += secs
        self.handle(events.MasterTimer())

    def stats(self) -> TopologyStats:
        """The present answer of `stats`."""
        return TopologyStats.from_json(self.core.stats(None, self.now).to_json())

    def replaced(self, reason: str, lost: int = 0, failed: int = 0) -> None:
        """The bolt's process is another one."""
        message = messages.InstanceReplaced(COUNT, reason, lost, failed)
        self.handle(events.MasterReceived(b"2-1", message))


def kinds(told: Sequence[TopologyEvent]) -> list[str]:
    """Of each event."""
    return [each.kind for each in told]


def test_a_crash_is_told_with_what_it_cost() -> None:
    """kill -9 of a bolt at most once."""
    made = Made()
    made.replaced("was killed by signal 9 (SIGKILL)", lost=1234)
    (crash,) = made.told
    assert (crash.kind, crash.container, crash.task, crash.instance) == ("crash", 2, 2, "count[0]")
    assert crash.at == MORNING + 100.0
    assert log_line(crash).partition(" ")[2] == (
        "crash: count[0] (task 2, container 2) was killed by signal 9 (SIGKILL): up to 1,234 "
        "received deliveries are lost"
    )
    assert made.stats().events == (crash,)
    assert made.stats().lost == 1234


def test_an_orderly_restart_is_no_crash() -> None:
    made = Made()
    made.replaced("ended in order: SIGTERM")
    made.register(1, "ended in order: SIGTERM", process=2)
    made.passes(1.0)  # the one before does not answer
    assert kinds(made.told) == ["restart", "restart"]
    assert not made.stats().lost_uncounted


def test_of_a_stream_managers_queues_nobody_knows_how_much_they_held() -> None:
    made = Made()
    made.register(2, "was killed by signal 9 (SIGKILL)", process=2)
    made.passes(1.0)
    assert kinds(made.told) == ["crash"]
    assert made.stats().lost_uncounted
    tracked = Made(tracked=True)
    tracked.register(2, "was killed by signal 9 (SIGKILL)", process=2)
    tracked.passes(1.0)
    assert not tracked.stats().lost_uncounted, "its trees fail, and are replayed"


def test_an_instance_that_does_nothing_is_not_taken_for_dead() -> None:
    """The instance reports every ten seconds, and its stream manager forwards the report every
    second."""
    made = Made()
    made.heartbeat(2, {COUNT: snapshot(0.0)})
    for _ in range(12):
        made.passes(1.0)
        made.heartbeat(2, {})
    assert made.stats().components["count"].up == 1
    for _ in range(5):
        made.passes(1.0)
        made.heartbeat(2, {})
    assert made.stats().components["count"].up == 0


def test_a_dead_container_is_shown_as_down_within_seconds() -> None:
    """A machine is gone, and the cluster has no room for another container."""
    made = Made()
    for secs in range(7):
        made.heartbeat(1, {LINES: snapshot(secs)})
        if secs == 0:
            made.heartbeat(2, {COUNT: snapshot(secs, executed=5)})
        made.passes(1.0)
    stats = made.stats()
    assert (stats.containers, stats.containers_expected) == ((1,), (1, 2))
    assert list(stats.registered) == [1]
    assert (stats.components["count"].up, stats.components["count"].executed) == (0, 5)
    assert stats.components["lines"].up == 1
    (down,) = made.told
    assert (down.kind, down.container) == ("down", 2)
    assert "count[0]" in down.what
    made.heartbeat(2, {COUNT: snapshot(9.0)})
    made.passes(0.1)
    assert kinds(made.told) == ["down", "up"]
    assert made.stats().containers == (1, 2)


def test_a_call_that_does_not_return_is_told_once_and_its_end_too() -> None:
    made = Made()
    for secs in (5.0, 6.0):
        made.heartbeat(2, {COUNT: snapshot(secs, stuck_secs=secs)})
    assert made.stats().stuck == {"count[0]": 6.0}
    made.heartbeat(2, {COUNT: snapshot(7.0)})
    assert kinds(made.told) == ["stuck", "returned"]
    assert made.stats().stuck == {}


def test_a_pause_that_lasts_is_an_event_and_a_short_one_is_none() -> None:
    made = Made()
    for secs in (1.0, 4.9, 5.0, 6.0):
        paused = messages.PauseStatistics((COUNT,), secs, secs, 0.5)
        made.heartbeat(1, {LINES: snapshot(secs)}, {LINES: paused})
        made.passes(0.1)
    (pause,) = made.told
    assert (pause.kind, pause.instance) == ("pause", "count[0]")
    assert pause.what == "cannot keep up: it pauses lines[0]"
    made.heartbeat(1, {LINES: snapshot(9.0)}, {LINES: messages.PauseStatistics((), 6.0, 0.0, 0.5)})
    made.passes(0.1)
    assert kinds(made.told) == ["pause", "resume"]


def test_an_instance_that_cannot_start_is_told_with_its_error() -> None:
    made = Made()
    made.handle(events.MasterReceived(b"2-1", messages.InstanceFailed(COUNT, "no database")))
    (failed,) = made.told
    assert (failed.kind, failed.instance, failed.why) == ("start failed", "count[0]", "no database")
    assert made.stats().errors == {COUNT: "no database"}
    made.heartbeat(2, {COUNT: snapshot(1.0)})
    assert made.stats().errors == {}, "it has started since"


def test_the_next_try_of_an_instance_that_keeps_ending_counts_down_in_seconds() -> None:
    made = Made()
    message = messages.InstanceReplaced(COUNT, "was killed by signal 9 (SIGKILL)", 0, 0, 6400)
    made.handle(events.MasterReceived(b"2-1", message))
    (count,) = made.core.stats("count", made.now + 0.4).instances or ()
    assert count.next_try_secs == pytest.approx(6.0)


def test_the_totals_do_not_fall_when_another_master_takes_over() -> None:
    """The bolt died and came back; then the master dies, and the bolt once more, before the next
    master has heard of it."""
    made = Made()
    made.heartbeat(2, {COUNT: snapshot(1.0, 1, executed=100, emitted={"a": 7})})
    made.replaced("was killed by signal 9 (SIGKILL)", lost=3)
    made.heartbeat(2, {COUNT: snapshot(2.0, 2, executed=20, user_totals={"seen": 5})})
    made.passes(1.1)
    after = Made(made.kept)
    assert after.stats().components["count"].executed == 120, "before any heartbeat"
    assert after.stats().events == made.stats().events
    assert after.stats().lost == 3
    after.heartbeat(2, {COUNT: snapshot(3.0, 2, executed=30, user_totals={"seen": 6})})
    count = after.stats().components["count"]
    assert (count.executed, count.emitted, count.user_totals) == (130, 7, {"seen": 6})
    replaced_since = Made(made.kept)
    replaced_since.heartbeat(2, {COUNT: snapshot(1.0, 3, executed=1)})
    assert replaced_since.stats().components["count"].executed == 121


def test_the_counts_are_not_written_when_nothing_has_changed() -> None:
    made = Made()
    made.heartbeat(2, {COUNT: snapshot(1.0, executed=1)})
    made.passes(1.1)
    made.kept = None
    made.passes(1.1)
    assert made.kept is None


def test_the_newest_events_are_kept_and_no_more() -> None:
    made = Made()
    for number in range(EVENTS_MAX + 5):
        made.replaced(f"ended with exit code {number + 1}")
    told = made.stats().events
    assert len(told) == EVENTS_MAX
    assert told[-1].what == f"ended with exit code {EVENTS_MAX + 5}"


def test_what_was_sent_and_is_not_processed_is_in_flight() -> None:
    made = Made()
    assert made.stats().in_flight is None
    made.heartbeat(1, {LINES: snapshot(1.0, sent=50, processed=0)})
    made.heartbeat(2, {COUNT: snapshot(1.0, 1, sent=0, processed=20)})
    assert made.stats().in_flight == 30
    made.heartbeat(2, {COUNT: snapshot(2.0, 2, sent=0, processed=25)})
    assert made.stats().in_flight == 5, "what the one before had processed stays processed"
