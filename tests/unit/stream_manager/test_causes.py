"""Pauses and their causes: only the stage above, until the last naming manager lifts the pause."""

import pytest

from heron_core.config import DROP, SPOUT
from heron_engine.stream_manager.backpressure import BackPressure, QueueOrigin
from heron_engine.stream_manager.upstream import upstream_of
from tests.unit.stream_manager.manager_support import packing_of, topology_of

DIAMOND = topology_of({"s": [], "a": ["s"], "b": ["s"], "sink": ["a", "b"], "other": ["s"]})
PACKED = packing_of({1: "s", 2: "a", 3: "b"}, {4: "sink", 5: "other", 6: "s"})


def test_only_the_stage_above_pauses() -> None:
    # The sink is slow: its two feeders pause, the spout goes on and serves the second branch.
    pressure = BackPressure(DIAMOND, PACKED, 1)
    assert pressure.on(QueueOrigin(2), {4}, 0.0) == [2, 3]
    assert [task for task in (1, 2, 3) if pressure.is_paused(task)] == [2, 3]


def test_instances_elsewhere_are_not_ours_to_pause() -> None:
    pressure = BackPressure(DIAMOND, PACKED, 2)
    assert pressure.on(QueueOrigin(1), {2}, 0.0) == [6]


def test_the_last_cause_decides() -> None:
    # Two queues are full; one drains first.
    pressure = BackPressure(DIAMOND, PACKED, 1)
    assert pressure.on(QueueOrigin(1), {2}, 0.0) == [1]
    assert pressure.on(QueueOrigin(1), {3}, 0.0) == []
    assert pressure.off(QueueOrigin(1), {2}, 0.0) == []
    assert pressure.off(QueueOrigin(1), {3}, 0.0) == [1]


def test_two_stream_managers_may_name_the_same_task() -> None:
    # The link to a task's container is full, and so is the task's own queue: when the link has
    # drained, the task is as slow as before.
    pressure = BackPressure(DIAMOND, PACKED, 1)
    pressure.on(QueueOrigin(1), {4}, 0.0)
    pressure.on(QueueOrigin(2), {4}, 0.0)
    assert pressure.off(QueueOrigin(1), {4}, 0.0) == []
    assert pressure.is_paused(2)
    assert pressure.off(QueueOrigin(2), {4}, 0.0) == [2, 3]


def test_repeated_words_change_nothing() -> None:
    pressure = BackPressure(DIAMOND, PACKED, 1)
    assert pressure.off(QueueOrigin(1), {2}, 0.0) == []
    assert pressure.on(QueueOrigin(1), {2}, 0.0) == [1]
    assert pressure.on(QueueOrigin(1), {2}, 0.0) == []
    assert pressure.off(QueueOrigin(1), {2}, 0.0) == [1]
    assert pressure.off(QueueOrigin(1), {2}, 0.0) == []


def test_a_dead_stream_manager_takes_its_causes_along() -> None:
    # The causes would stay for ever.
    pressure = BackPressure(DIAMOND, PACKED, 1)
    pressure.on(QueueOrigin(2), {4}, 0.0)
    pressure.on(QueueOrigin(1), {3}, 0.0)
    assert pressure.forget(2, 1.0) == [2, 3]
    assert pressure.is_paused(1)


def test_times_add_up() -> None:
    # The screen shows for how long an instance was held back in all.
    pressure = BackPressure(DIAMOND, PACKED, 1)
    pressure.on(QueueOrigin(1), {2}, 10.0)
    pressure.off(QueueOrigin(1), {2}, 12.0)
    pressure.on(QueueOrigin(1), {2}, 20.0)
    pressure.on(QueueOrigin(1), {3}, 21.0)
    (paused,) = pressure.statistics(23.0).values()
    assert (paused.causes, paused.paused_secs, paused.this_pause_secs) == ((2, 3), 5.0, 3.0)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        # a and b feed each other: a pause inside would deadlock. The cycle's feeder pauses, for
        # either slow bolt.
        ({"s": [], "a": ["s", "b"], "b": ["a"]}, {"a": {"s"}, "b": {"s"}}),
        # A bolt that feeds itself.
        ({"s": [], "a": ["s", "a"]}, {"a": {"s"}}),
        # The cycle's exit is outside of the cycle: its reader pauses the cycle's member.
        ({"s": [], "a": ["s", "b"], "b": ["a"], "c": ["b"]}, {"a": {"s"}, "c": {"b"}}),
    ],
)
def test_cycles_drain(edges: dict[str, list[str]], expected: dict[str, set[str]]) -> None:
    found = upstream_of(topology_of(edges))
    assert {name: set(found[name]) for name in expected} == expected


def test_a_cycle_whose_way_out_is_slow_still_drains() -> None:
    # spout -> a <-> b -> c: c's queue is full, b pauses. Then b's own queue fills and pauses only
    # the spout, outside of the cycle.
    found = upstream_of(topology_of({"s": [], "a": ["s", "b"], "b": ["a"], "c": ["b"]}))
    assert found["c"] == {"b"}
    assert found["b"] == {"s"}


def test_herons_way_pauses_all_spouts() -> None:
    pressure = BackPressure(DIAMOND, PACKED, 1, SPOUT)
    assert pressure.on(QueueOrigin(2), {5}, 0.0) == [1]
    assert not pressure.is_paused(2)


def test_mode_drop_pauses_nobody() -> None:
    assert BackPressure(DIAMOND, PACKED, 1, DROP).on(QueueOrigin(2), {4}, 0.0) == []
