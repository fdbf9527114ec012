"""How often masters are asked, and what is shown of one that does not answer."""

from heron_core.records import replace
from heron_tracker.model.core import Tracker
from heron_tracker.model.snapshot import TopologySnapshot, ended_snapshot
from heron_tracker.model.tracker_problem import ProblemKind
from heron_tracker.options import TrackerOptions
from tests.unit.heron_tracker.tracker_support import SUBMITTED_SECS, snapshot, stats

OPTIONS = TrackerOptions()
AT = SUBMITTED_SECS + 60.0


def named(name: str, found: TopologySnapshot | None = None) -> TopologySnapshot:
    """A topology of that name."""
    return replace(found or snapshot(stats(), AT), name=name)


def test_a_topology_is_asked_about_once_at_a_time() -> None:
    tracker = Tracker(OPTIONS)
    tracker.found(["b", "a"], 0.0)
    assert tracker.due(0.0) == ["a", "b"]
    assert tracker.due(100.0) == [], "both are being asked"
    assert not tracker.is_complete
    tracker.answered(named("a"), 100.0, AT)
    assert tracker.due(100.0) == []
    assert tracker.due(100.0 + OPTIONS.idle_secs) == ["a"]


def test_a_thousand_requests_ask_a_master_as_often_as_one() -> None:
    """Whoever looks makes the pace quicker, down to two seconds and no further."""
    tracker, asked = Tracker(OPTIONS), 0
    tracker.found(["a"], 0.0)
    for tick in range(240):
        now = tick * 0.25
        for _ in range(5):
            tracker.watch("a", now)
            tracker.snapshot("a")
        for name in tracker.due(now):
            asked += 1
            tracker.answered(named(name), now, AT + now)
    assert asked == 60 / OPTIONS.watched_secs
    later = 60.0 + OPTIONS.watched_for_secs + OPTIONS.idle_secs
    assert tracker.due(later) == ["a"]
    tracker.answered(named("a"), later, AT)
    assert tracker.due(later + OPTIONS.watched_secs) == [], "nobody looks any more"


def test_fifty_topologies_on_the_front_page_are_asked_ten_times_a_second() -> None:
    """In all: what the page costs does not grow with them."""
    tracker, asked = Tracker(OPTIONS), 0
    names = [f"topology-{number}" for number in range(50)]
    tracker.found(names, 0.0)
    for tick in range(241):
        now = tick * 0.25
        for name in names:
            tracker.watch(name, now)
        for name in tracker.due(now):
            asked += 1
            tracker.answered(named(name), now, AT + now)
    assert asked == 50 + 60 * OPTIONS.watched_per_sec_max


def test_a_master_that_does_not_answer_is_asked_more_and_more_rarely() -> None:
    tracker, asked, now = Tracker(OPTIONS), 0, 0.0
    tracker.found(["a"], now)
    while now < 300.0:
        tracker.watch("a", now)
        for _ in tracker.due(now):
            asked += 1
            tracker.answered(snapshot(), now, AT + now)
            tracker.answered(named("a", snapshot()), now, AT + now)
        now += 0.5
    assert 10 <= asked <= 15


def test_the_last_numbers_stay_for_a_while() -> None:
    """A master that is restarted is back in a second: pages do not go empty for that."""
    tracker = Tracker(OPTIONS)
    tracker.found(["words"], 0.0)
    for secs, silent in ((0.0, False), (10.0, True), (19.0, True)):
        tracker.due(secs * 10)
        found = snapshot() if silent else snapshot(stats(), AT)
        tracker.answered(replace(found, trouble="gone" if silent else ""), secs, AT + secs)
        shown = tracker.snapshot("words")
        assert shown is not None
        assert shown.stats is not None
        assert shown.stats_at == AT
    tracker.answered(snapshot(), 30.0, AT + OPTIONS.stale_secs + 1)
    shown = tracker.snapshot("words")
    assert shown is not None
    assert shown.stats is None


def test_another_run_of_the_same_name_does_not_inherit_numbers() -> None:
    tracker = Tracker(OPTIONS)
    tracker.found(["words"], 0.0)
    tracker.answered(snapshot(stats(), AT), 0.0, AT)
    again = replace(snapshot(), execution={"submitted_at": "2026-11-23T13:00:00+0000"})
    tracker.answered(again, 1.0, AT + 1)
    shown = tracker.snapshot("words")
    assert shown is not None
    assert shown.stats is None


def test_topologies_come_and_go() -> None:
    """An answer about one that has gone meanwhile is dropped."""
    tracker = Tracker(OPTIONS)
    assert tracker.found(["words", "other"], 0.0) == []
    tracker.due(0.0)
    tracker.answered(named("other"), 0.0, AT)
    assert tracker.found(["words"], 1.0) == ["other"]
    tracker.answered(named("other"), 1.0, AT)
    assert tracker.snapshot("other") is None
    assert [each.name for each in tracker.snapshots()] == []


def test_a_problem_has_the_time_when_it_was_seen_first() -> None:
    tracker = Tracker(OPTIONS)
    tracker.found(["words"], 0.0)
    stuck = stats(stuck={"count[0]": 6.0})
    for secs, found in ((0.0, stats()), (10.0, stuck), (20.0, stuck)):
        tracker.answered(snapshot(found, AT + secs), secs, AT + secs)
    ((problem, since),) = tracker.problems("words")
    assert problem.instance == "count[0]"
    assert since == AT + 10.0
    tracker.answered(snapshot(stats(), AT + 30.0), 30.0, AT + 30.0)
    assert tracker.problems("words") == []
    assert tracker.problems("no such") == []


def test_one_that_has_failed_is_a_problem_since_its_end() -> None:
    tracker = Tracker(OPTIONS)
    tracker.found(["a"], 0.0)
    tracker.answered(named("a"), 0.0, AT)
    record = {"state": "FAILED", "reason": "no source", "at": AT + 1.0, "user": "ada"}
    tracker.answered(ended_snapshot("a", record), 1.0, AT + 5.0)
    snapshot = tracker.snapshot("a")
    assert snapshot is not None
    assert (snapshot.state, snapshot.stats, snapshot.role) == ("FAILED", None, "ada")
    ((problem, since),) = tracker.problems("a")
    assert (problem.kind, since) == (ProblemKind.OVER, AT + 1.0)
    assert problem.what == "the topology has failed: no source"
