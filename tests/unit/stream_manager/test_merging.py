"""Idle: at once; busy: merged. What a stream manager sends and refuses together."""

import pytest

from heron_core.wire.frames import (
    ROOT_COUNTER_BITS,
    FrameKind,
    Frames,
    header,
    header_of,
    with_consumed,
)
from heron_core.wire.merged import merge, split
from heron_core.wire.packets import decode_roots
from heron_engine.stream_manager import events
from heron_engine.stream_manager.queues import UNKNOWN_TUPLES_MAX
from tests.unit.stream_manager.manager_support import (
    Manager,
    ack,
    batch,
    init,
    of_type,
    packing_of,
    to_peer,
    topology_of,
)

SPOUT, NEAR, FAR, FAR_TOO = 1, 2, 3, 4
TOPOLOGY = topology_of({"spout": [], "near": ["spout"], "far": ["spout", "near"]})
PACKED = packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "far"})
ROOTS = [(SPOUT << ROOT_COUNTER_BITS) | number for number in range(1, 5)]


def manager() -> Manager:
    """The stream manager of container 1, which merges for instances that are busy."""
    made = Manager(TOPOLOGY, PACKED, pipelined_bytes=10_000)
    made.hello(SPOUT)
    made.hello(NEAR)
    return made


def handed(instructions: list[events.Instruction], task: int) -> list[list[Frames]]:
    """For each message to a local task those that are merged in it."""
    found = of_type(events.ToLocal, instructions)
    return [list(split(each.frames)) for each in found if each.task == task]


def test_what_arrives_together_leaves_together() -> None:
    made = manager()
    near, far, too = batch(NEAR), batch(FAR), batch(FAR_TOO)
    arrived = [events.FromInstance(SPOUT, 1, each) for each in (far, near, too, near)]
    out = made.handle(*arrived)
    assert handed(out, NEAR) == [[near, near]]
    assert to_peer(out) == [[(FAR, far), (FAR_TOO, too)]]


def test_a_merged_message_is_as_good_as_its_parts() -> None:
    made = manager()
    near, far = batch(NEAR), batch(FAR)
    out = made.data(merge([near, far, near]))
    assert handed(out, NEAR) == [[near, near]]
    assert to_peer(out) == [[(FAR, far)]]


def test_what_comes_for_a_busy_bolt_waits_until_it_reports() -> None:
    made = manager()
    first, second, third = (batch(NEAR, size) for size in (1, 2, 3))
    assert handed(made.data(first), NEAR) == [[first]]
    assert handed(made.data(second), NEAR) == []
    assert handed(made.data(third), NEAR) == []
    assert handed(made.consumed(NEAR, 1), NEAR) == [[second, third]]


def test_reports_ride_on_any_part_of_a_merged_message() -> None:
    made = manager()
    first, second = batch(NEAR, 1), batch(NEAR, 2)
    made.data(first)
    made.data(second)
    acks = ack(SPOUT, ROOTS[0], 9)
    acks[0] = with_consumed(acks[0], 1)
    assert handed(made.data(merge([acks, batch(FAR)]), NEAR), NEAR) == [[second]]


def test_a_spout_hears_in_one_message_what_became_of_its_tuples_while_it_was_busy() -> None:
    made = manager()
    made.data(init(SPOUT, *(number for root in ROOTS for number in (root, 7))))
    ((told,),) = handed(made.data(ack(SPOUT, ROOTS[0], 7), NEAR), SPOUT)
    assert list(decode_roots(header_of(told), told)) == ROOTS[:1]
    assert handed(made.data(ack(SPOUT, ROOTS[1], 7), NEAR), SPOUT) == []
    fail = [header(FrameKind.FAIL, 1, NEAR, SPOUT, 1), ROOTS[2].to_bytes(8, "little")]
    assert handed(made.data(merge([ack(SPOUT, ROOTS[3], 7), fail]), NEAR), SPOUT) == []
    (merged,) = handed(made.consumed(SPOUT, 1), SPOUT)
    results = [(header_of(each).kind, list(decode_roots(header_of(each), each))) for each in merged]
    assert results == [(FrameKind.ACKED, [ROOTS[1], ROOTS[3]]), (FrameKind.FAILED, [ROOTS[2]])]


def test_a_spout_of_unknown_speed_hears_of_all_its_tuples() -> None:
    # More acks than an instance is handed at first, and a fail behind (simulation seed 100876).
    made = Manager(TOPOLOGY, PACKED, window_bytes=10_000)
    made.hello(SPOUT)
    made.hello(NEAR)
    *done, lost = (
        (SPOUT << ROOT_COUNTER_BITS) | number for number in range(UNKNOWN_TUPLES_MAX + 9)
    )
    made.data(init(SPOUT, *(number for root in [*done, lost] for number in (root, 7))))
    fail = [header(FrameKind.FAIL, 1, NEAR, SPOUT, 1), lost.to_bytes(8, "little")]
    merged = merge([*(ack(SPOUT, root, 7) for root in done), fail])
    told = [each for parts in handed(made.data(merged, NEAR), SPOUT) for each in parts]
    assert [header_of(each).kind for each in told] == [FrameKind.ACKED, FrameKind.FAILED]
    made.core.validate()


def test_a_restarted_spout_does_not_wait_for_its_predecessors_reports() -> None:
    made = manager()
    made.data(init(SPOUT, ROOTS[0], 7, ROOTS[1], 7))
    made.data(ack(SPOUT, ROOTS[0], 7), NEAR)
    made.hello(SPOUT, incarnation=2)
    made.data(init(SPOUT, ROOTS[2], 7), incarnation=2)
    ((told,),) = handed(made.data(ack(SPOUT, ROOTS[2], 7), NEAR), SPOUT)
    assert list(decode_roots(header_of(told), told)) == [ROOTS[2]]
    assert made.core.state.counters["lost"] == 0, "what it was told is no batch"


@pytest.mark.parametrize(
    "bad",
    [
        [header(FrameKind.ACK, 1, NEAR, SPOUT, 1), b"short"],
        [header(FrameKind.ACK, 1, 9, NEAR, 0), b""],
        [header(FrameKind.INIT, 1, NEAR, NEAR, 0), b""],
        [header(FrameKind.DATA, 1, SPOUT, NEAR, 1)],
        [header(77, 1, 1, 1, 1)],
        [b"garbage"],
        merge([batch(NEAR), batch(NEAR)]),
    ],
    ids=["cut", "acks for a bolt", "roots of a bolt", "no body", "kind", "bytes", "nested"],
)
def test_of_a_merged_message_with_a_bad_part_nothing_happens(bad: Frames) -> None:
    made = manager()
    begun = init(SPOUT, ROOTS[0], 7)
    out = made.data(merge([begun, batch(NEAR), batch(FAR), bad]))
    assert not of_type(events.ToLocal, out) + of_type(events.ToPeer, out)
    assert made.core.state.counters["malformed"] == 1
    assert made.core.state.counters["forwarded"] == 0
    assert made.core.statistics()["trees"] == 0
