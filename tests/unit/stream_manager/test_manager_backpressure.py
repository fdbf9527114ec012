"""The stream manager under back-pressure: paused instances, and the end of pauses.

Many cases were found by tests/sim; the seeds named here fail again without the cure.
"""

from heron_core import config as keys
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, size_of
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    FAR,
    FAR_TOO,
    HIGH_BYTES,
    LOW_BYTES,
    NEAR,
    PACKED,
    ROOT,
    SPOUT,
    TOPOLOGY,
    Manager,
    batch,
    causes_told,
    fanout,
    fill,
    init,
    manager,
    of_type,
    packing_of,
    pauses,
    results,
    topology_of,
)


def test_a_full_queue_pauses_its_feeders_and_an_empty_one_lets_them_go() -> None:
    made = manager()
    out = fill(made, NEAR)
    assert pauses(out) == [(SPOUT, True)]
    assert causes_told(out) == [(2, NEAR, True)]
    out = made.consumed(NEAR, 3)
    assert pauses(out) == []
    out = made.consumed(NEAR, 3)
    assert pauses(out) == [(SPOUT, False)]
    assert causes_told(out) == [(2, NEAR, False)]


def test_feeders_go_on_when_exactly_the_low_water_mark_is_left() -> None:
    made = Manager(TOPOLOGY, PACKED, window_bytes=1)
    made.hello(SPOUT)
    made.hello(NEAR)
    waiting = batch(NEAR, LOW_BYTES - size_of(batch(NEAR)))
    while not pauses(made.data(waiting)):
        assert made.core.state.queues[NEAR].queued_bytes <= HIGH_BYTES
    while not pauses(made.consumed(NEAR, 1)):
        assert made.core.state.queues[NEAR].queued_bytes > LOW_BYTES
    assert made.core.state.queues[NEAR].queued_bytes == LOW_BYTES


def test_who_comes_after_a_change_of_log_levels_has_them() -> None:
    """An instance restarted while its log is watched, with the remaining time."""
    made = manager()
    levels = messages.LogLevels((messages.SetLevel("count", "", 10, 60.0),))
    out = made.handle(events.FromMaster(levels))
    assert [each.levels for each in of_type(events.StreamManagerLogLevels, out)] == [levels]
    told = [each.task for each in of_type(events.ToLocalControl, out)]
    assert told == [SPOUT, NEAR]
    made.now += 45.0
    (later,) = [
        each.message
        for each in of_type(events.ToLocalControl, made.hello(NEAR, incarnation=2))
        if isinstance(each.message, messages.LogLevels)
    ]
    assert later.levels == (messages.SetLevel("count", "", 10, 15.0),)
    made.now += 20.0
    expired = of_type(events.ToLocalControl, made.hello(NEAR, incarnation=3))
    assert messages.LogLevels(()) in [each.message for each in expired]


def test_who_comes_during_back_pressure_is_paused_at_once() -> None:
    made = manager()
    fill(made, NEAR)
    assert pauses(made.hello(SPOUT, incarnation=2)) == [(SPOUT, True)]


def test_who_was_paused_by_the_one_before_us_is_let_go() -> None:
    # Seed 95: a stream manager dies during back-pressure, the new one knows no cause.
    made = manager(introduced=False)
    assert pauses(made.hello(SPOUT)) == [(SPOUT, False)]


def test_a_successor_that_takes_all_that_waits_ends_the_cause() -> None:
    # Seed 483: the queue is emptied by a Hello, and the process dies again before a report: the
    # cause would have stayed for ever.
    made = Manager(TOPOLOGY, PACKED)
    made.hello(SPOUT)
    out = []
    for _ in range(3):
        out += made.data(batch(NEAR, 150))
    assert pauses(out) == [(SPOUT, True)]
    assert pauses(made.hello(NEAR)) == [(NEAR, False)]
    assert made.core.statistics()["causes"] == [NEAR]
    made.consumed(NEAR, 1)
    assert made.core.statistics()["causes"] == []


def test_a_full_link_names_all_that_it_holds() -> None:
    made = manager()
    out = made.refused(batch(FAR, 250), batch(FAR_TOO, 250))
    assert pauses(out) == [(SPOUT, True), (NEAR, True)]
    assert made.core.causes() == {FAR, FAR_TOO}


def test_who_joins_a_full_link_later_is_named_too() -> None:
    # Seed 1: only the first instances were named, the rest went on filling the link.
    made = Manager(
        topology_of({"spout": [], "near": ["spout"], "far": ["spout"], "deep": ["near"]}),
        packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "deep"}),
    )
    made.hello(SPOUT)
    made.hello(NEAR)
    assert pauses(made.refused(batch(FAR, HIGH_BYTES))) == [(SPOUT, True)]
    assert pauses(made.data(batch(FAR_TOO, 10), NEAR)) == [(NEAR, True)]


def test_fan_outs_name_causes_as_well() -> None:
    # Seed 111: an ALL grouping to a slow container grew without any limit.
    made = manager()
    made.refused(batch(FAR, 1))
    out = made.data(fanout(2, [FAR, FAR_TOO], HIGH_BYTES))
    assert pauses(out) == [(SPOUT, True), (NEAR, True)]


def test_a_drained_link_lets_everyone_go() -> None:
    made = manager()
    made.refused(batch(FAR, HIGH_BYTES))
    out = made.handle(events.PeerWritable(2))
    assert pauses(out) == [(SPOUT, False), (NEAR, False)]
    assert made.core.causes() == set()


def test_the_link_drains_but_the_task_is_still_slow() -> None:
    # Both stream managers named the task; a lift by one of the two must not resume the feeders.
    made = manager()
    made.refused(batch(FAR, HIGH_BYTES))
    made.cause(2, FAR, True)
    assert pauses(made.handle(events.PeerWritable(2))) == []
    assert pauses(made.cause(2, FAR, False)) == [(SPOUT, False), (NEAR, False)]


def test_the_causes_of_a_dead_stream_manager_end() -> None:
    # The causes would stay: the spout would wait for ever.
    made = manager()
    assert pauses(made.cause(2, FAR, True)) == [(SPOUT, True), (NEAR, True)]
    assert pauses(made.plan(2, c2="tcp://new")) == [(SPOUT, False), (NEAR, False)]


def test_a_new_stream_manager_hears_of_the_causes_that_stand() -> None:
    # Its instances would go on filling our queue.
    made = manager()
    fill(made, NEAR)
    assert (2, NEAR, True) in causes_told(made.plan(2, c2="tcp://new"))


def test_mode_drop_loses_what_finds_the_queue_full_and_pauses_nobody() -> None:
    made = Manager(TOPOLOGY, PACKED, mode=keys.DROP)
    made.hello(SPOUT)
    made.hello(NEAR)
    assert pauses(fill(made, NEAR)) == []
    dropped = made.core.statistics()["dropped"]
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.data(batch(NEAR, 10, roots=[ROOT]))) == [(FrameKind.FAILED, [ROOT])]
    assert made.core.statistics()["dropped"] == dropped + 1
