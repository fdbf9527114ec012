"""The stream manager when its topology is scaled: who stays notices nothing."""

from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.wire import messages
from heron_core.wire.frames import ROOT_COUNTER_BITS, FrameKind, parse_header, u64_array
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    HIGH_BYTES,
    Manager,
    ack,
    batch,
    causes_told,
    fanout,
    init,
    of_type,
    packing_of,
    pauses,
    physical,
    topology_of,
)

SPOUT, NEAR, FAR, FAR_TOO, NEW = 1, 2, 3, 4, 5
ROOT = (SPOUT << ROOT_COUNTER_BITS) | 5
TOPOLOGY = topology_of({"spout": [], "near": ["spout"], "far": ["spout", "near"]})
PACKED = packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "far"})
MORE = packing_of({SPOUT: "spout", NEAR: "near", NEW: "near"}, {FAR: "far", FAR_TOO: "far"},
                  {6: "far"})  # fmt: skip
ALONE = packing_of({SPOUT: "spout", FAR: "far", NEAR: "near"})
ELSEWHERE = packing_of({SPOUT: "spout"}, {FAR: "far", FAR_TOO: "far", NEAR: "near"})


def manager() -> Manager:
    """The stream manager of container 1, its instances there."""
    made = Manager(TOPOLOGY, PACKED)
    made.hello(SPOUT)
    made.hello(NEAR)
    return made


def scale(made: Manager, packing: PackingPlan, epoch: int = 2) -> list[events.Instruction]:
    """The plan with another packing arrives."""
    return made.handle(events.FromMaster(physical(packing, epoch)))


def failed(instructions: list[events.Instruction]) -> list[int]:
    """The roots that the spout is told have failed."""
    return [
        root
        for each in of_type(events.ToLocal, instructions)
        if parse_header(each.frames[0]).kind == FrameKind.FAILED
        for root in u64_array(each.frames[1])
    ]


def test_trees_of_who_stays_go_on_and_batches_of_the_plan_before_arrive() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    out = scale(made, MORE)
    assert of_type(events.ApplyPacking, out) == [events.ApplyPacking(MORE)]
    assert of_type(events.ConnectPeers, out) == [events.ConnectPeers({2: "tcp://2", 3: "tcp://3"})]
    assert not failed(out)
    assert [each.task for each in of_type(events.ToLocal, made.data(batch(NEAR)))] == [NEAR]
    out = made.peer(ack(SPOUT, ROOT, 7))
    assert [parse_header(each.frames[0]).kind for each in of_type(events.ToLocal, out)] == [
        FrameKind.ACKED
    ]
    assert made.core.state.counters["fenced"] == 0


def test_what_is_added_is_served_at_once() -> None:
    made = manager()
    scale(made, MORE)
    assert of_type(events.ToPeer, made.data(batch(6, epoch=2)))[0].container == 3
    assert not of_type(events.ToLocal, made.data(batch(NEW, epoch=2))), "it is not there yet"
    out = made.hello(NEW)
    assert [each.task for each in of_type(events.ToLocal, out)] == [NEW]
    assert any(isinstance(each.message, messages.Plan)
               for each in of_type(events.ToLocalControl, out))  # fmt: skip


def test_what_was_still_on_its_way_to_a_removed_task_fails() -> None:
    # The drain took too long.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    assert failed(scale(made, ELSEWHERE)) == [ROOT]
    assert made.core.state.counters["lost"] == 1
    assert NEAR not in made.core.statistics()["waiting_bytes"]


def test_what_waited_for_a_removed_container_fails() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7, ROOT + 1, 8))
    made.refused(batch(FAR, roots=[ROOT]))
    made.data(fanout(2, [FAR, FAR_TOO], roots=[ROOT + 1]))
    assert sorted(failed(scale(made, ALONE))) == [ROOT, ROOT + 1]
    assert made.core.blocked_peers() == []


def test_a_container_that_comes_back_goes_on_with_its_numbers() -> None:
    # An update that takes it away is aborted: its stream manager has never heard of it, and what
    # we have acknowledged it does not keep.
    made = manager()
    made.peer(batch(NEAR, source=FAR))
    scale(made, ALONE)
    scale(made, PACKED, epoch=3)
    arrived = of_type(events.ToLocal, made.peer(batch(NEAR, source=FAR)))
    assert [each.task for each in arrived] == [NEAR]
    assert made.core.statistics()["gaps"] == 0


def test_late_batches_to_removed_tasks_fail_and_are_counted() -> None:
    made = manager()
    scale(made, ALONE)
    made.data(init(SPOUT, ROOT, 7, ROOT + 1, 8, epoch=2))
    assert failed(made.data(batch(FAR_TOO, roots=[ROOT]))) == [ROOT]
    assert failed(made.data(fanout(2, [FAR, FAR_TOO], roots=[ROOT + 1]))) == [ROOT + 1]
    assert made.core.state.counters["unroutable"] == 2
    assert made.core.state.counters["malformed"] == 0


def test_a_removed_instance_may_say_its_last_words() -> None:
    # It closes, acks what it kept, beats once more.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    scale(made, ELSEWHERE)
    out = made.data(ack(SPOUT, ROOT, 7), task=NEAR)
    assert [parse_header(each.frames[0]).kind for each in of_type(events.ToLocal, out)] == [
        FrameKind.ACKED
    ]
    assert made.control(NEAR, messages.InstanceHeartbeat(NEAR, {})) == []
    assert made.consumed(NEAR, 1) == []
    assert made.core.state.counters["malformed"] == 0


def test_a_cause_that_is_gone_pauses_nobody() -> None:
    made = manager()
    assert pauses(made.cause(2, FAR_TOO, True)) == [(SPOUT, True), (NEAR, True)]
    out = scale(made, packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far"}))
    assert pauses(out) == [(SPOUT, False), (NEAR, False)]


def test_a_cause_of_ours_that_moves_is_lifted_where_it_was_told() -> None:
    made = manager()
    while made.core.state.counters["forwarded"] < 10:
        made.data(batch(NEAR, HIGH_BYTES))
    assert made.core.statistics()["causes"] == [NEAR]
    out = scale(made, ELSEWHERE)
    assert causes_told(out) == [(2, NEAR, False)]
    assert made.core.statistics()["causes"] == []
    assert pauses(out) == [(SPOUT, False)]


def test_whoever_is_new_here_is_paused_by_a_cause_that_stands() -> None:
    made = manager()
    made.cause(2, FAR, True)
    scale(made, MORE)
    assert pauses(made.hello(NEW)) == [(NEW, True)]
    assert (NEW, False) in pauses(made.cause(2, FAR, False))


def test_a_new_peer_hears_of_the_causes_that_stand() -> None:
    made = manager()
    while made.core.state.counters["forwarded"] < 10:
        made.data(batch(NEAR, HIGH_BYTES))
    assert causes_told(scale(made, MORE)) == [(3, NEAR, True)]


def test_a_plan_without_this_container_is_not_taken() -> None:
    made = manager()
    others = replace(PACKED, containers=PACKED.containers[1:])
    assert not of_type(events.ConnectPeers, scale(made, others))
    assert made.core.state.counters["malformed"] == 1
    assert made.core.epoch == 1


def test_a_spout_that_is_removed_leaves_no_trees() -> None:
    more = packing_of({SPOUT: "spout", NEW: "spout", NEAR: "near"}, {FAR: "far"})
    made = Manager(TOPOLOGY, more)
    made.hello(NEW)
    made.data(init(NEW, (NEW << ROOT_COUNTER_BITS) | 5, 7), NEW)
    scale(made, packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far"}))
    assert made.core.state.trees.keys() == {SPOUT}
