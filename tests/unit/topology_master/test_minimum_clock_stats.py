"""The minimum clock in the master's statistics: known after all have reported, with its holder."""

from typing import Any

from heron_core.clock_stats import MinimumClockStats
from heron_core.wire import messages
from heron_engine.topology_master import events
from tests.unit.topology_master.test_incidents import COUNT, LINES, MORNING, Made, snapshot


def report(made: Made, container: int, instances: Any = None, **ages: Any) -> None:
    """A stream manager's heartbeat with its ages."""
    metrics = {"waiting_bytes": {}, "oldest_link_secs": {3 - container: 0.0}, **ages}
    beat = messages.Heartbeat(container, metrics, instances or {}, {})
    made.handle(events.MasterReceived(b"%d-1" % container, beat))


def clock_of(made: Made) -> MinimumClockStats:
    """The clock now."""
    found = made.stats().minimum_clock
    assert found is not None
    return found


def test_a_root_waits_in_the_oldest_queue() -> None:
    made = Made(tracked=True)
    report(made, 1, oldest_root_secs={LINES: 5.0})
    assert made.stats().minimum_clock is None, "the bolt's container has not reported"
    report(made, 2, oldest_message_secs={COUNT: 4.0})
    found = clock_of(made)
    assert (found.clock_ms, found.behind_secs) == ((MORNING + 95.0) * 1000, 5.0)
    assert (found.location, found.holder) == ("trees", "count[0]")
    assert found.components == {"lines": 5.0, "count": 4.0}
    made.now += 2.0
    assert clock_of(made).clock_ms == found.clock_ms
    assert clock_of(made).behind_secs == 7.0
    report(made, 1, oldest_root_secs={LINES: 9.0})
    assert clock_of(made).clock_ms == found.clock_ms, "it never falls"


def test_a_root_in_no_queue_is_held_by_the_bolt_that_has_not_acked() -> None:
    made = Made(tracked=True)
    report(made, 1, oldest_root_secs={LINES: 30.0})
    held = {COUNT: snapshot(1.0, executed=7, acked=4)}
    report(made, 2, held, oldest_message_secs={COUNT: 0.0})
    assert clock_of(made).holder == "count"
    settled = {COUNT: snapshot(2.0, executed=7, acked=7)}
    report(made, 2, settled, oldest_message_secs={COUNT: 0.0})
    assert (clock_of(made).location, clock_of(made).holder) == ("trees", "")


def test_without_acks_queues_and_links_are_the_clock() -> None:
    made = Made()
    report(made, 1, oldest_root_secs={LINES: 30.0}, oldest_link_secs={2: 3.0})
    report(made, 2, oldest_message_secs={COUNT: 1.0})
    found = clock_of(made)
    assert (found.location, found.holder, found.behind_secs) == ("links", "container 1", 3.0)
    assert found.components == {"count": 1.0}
    report(made, 1, oldest_root_secs={LINES: 0.0}, oldest_link_secs={2: 0.0})
    assert (clock_of(made).location, clock_of(made).holder) == ("queue", "count[0]")


def test_an_engine_without_ages_has_no_clock() -> None:
    made = Made(tracked=True)
    for container in (1, 2):
        made.heartbeat(container, {})
    assert made.stats().minimum_clock is None


def test_ages_that_are_no_numbers_are_refused() -> None:
    made = Made(tracked=True)
    report(made, 2, oldest_message_secs={COUNT: "old"})
    assert made.core.counters["malformed"] == 1
