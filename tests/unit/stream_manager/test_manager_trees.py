"""Trees of tuples in the stream manager: they end once, expire, and fail with what died.

Many of these were found by tests/sim.
"""

from array import array
from itertools import chain

import pytest

from heron_core import config as keys
from heron_core.wire import message_codec
from heron_core.wire.frames import (
    EVERY_OWNER,
    ROOT_COUNTER_BITS,
    FrameKind,
    header,
    header_of,
    u64_array,
    with_consumed,
)
from heron_core.wire.messages import TreesLost
from heron_core.wire.packets import decode_control, decode_roots, encode_consumed
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    FAR,
    NEAR,
    ROOT,
    SPOUT,
    TOPOLOGY,
    Manager,
    ack,
    batch,
    init,
    manager,
    of_type,
    packing_of,
    physical,
    results,
    to_peer,
)


def test_a_tree_ends_once() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == [(FrameKind.ACKED, [ROOT])]
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []
    assert made.core.statistics()["unknown_roots"] == 1


def test_acks_find_the_owner() -> None:
    # The tree of a far spout is not here.
    made = manager()
    told = ack(FAR, FAR << ROOT_COUNTER_BITS, 7)
    assert to_peer(made.data(told, NEAR)) == [[(0, told)]]


def test_trees_expire_between_t_and_a_fifth_more() -> None:
    # topology.message.timeout.secs is 5: a replay comes after 5 s at the earliest, 6 at the latest.
    made = manager()
    made.handle(events.StreamManagerTimer())
    made.now = 0.5
    made.data(init(SPOUT, ROOT, 7))
    expired_at = []
    for tenth in range(6, 80):
        made.now = tenth / 10
        expired_at += [made.now for kind, _ in results(made.handle(events.StreamManagerTimer()))
                       if kind is FrameKind.EXPIRED]  # fmt: skip
    assert len(expired_at) == 1
    assert 5.5 <= expired_at[0] <= 6.5 + 0.1


def test_what_a_dead_instance_took_along_fails_at_once() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    assert results(made.hello(NEAR, incarnation=2)) == [(FrameKind.FAILED, [ROOT])]


def test_what_was_processed_before_the_death_does_not_fail() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    made.consumed(NEAR, 1)
    assert results(made.hello(NEAR, incarnation=2)) == []


def test_what_a_dead_instance_had_processed_and_not_acked_fails_as_well() -> None:
    """A bolt with coroutines or an open window: the roots of its tuples are unknown here, and
    without message timeouts no event would free the trees."""
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    made.data(encode_consumed(1, NEAR, 1, 0.0, retains=True), NEAR)
    out = made.hello(NEAR, incarnation=2)
    assert results(out) == [(FrameKind.FAILED, [ROOT])]
    (lost,) = [frames for _, frames in chain.from_iterable(to_peer(out))]
    assert decode_control(lost) == TreesLost(NEAR)
    assert results(made.hello(NEAR, incarnation=3)) == []  # no report of the successor yet


def test_what_an_instance_acks_in_the_end_does_not_fail_when_it_dies() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    for retains in (True, False):
        made.data(encode_consumed(1, NEAR, 1, 0.0, retains), NEAR)
    out = made.hello(NEAR, incarnation=2)
    assert (results(out), to_peer(out)) == ([], [])


def test_trees_fail_that_may_have_come_to_a_dead_process_elsewhere() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    head = header(FrameKind.CONTROL, 1, 2, FAR, 1)
    for task, failed in ((SPOUT, []), (NEAR, [(FrameKind.FAILED, [ROOT])])):
        lost = message_codec.encode(TreesLost(task))
        assert results(made.peer([head, lost])) == failed


def test_a_dead_spouts_trees_are_forgotten() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.hello(SPOUT, incarnation=2)
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []


def test_trees_that_begin_before_the_first_hello_stay() -> None:
    # Found by tests/sim: a spout outlives its stream manager and emits at once to the new one; its
    # Hello goes over another connection and comes later. The roots were never settled.
    made = manager(introduced=False)
    made.data(init(SPOUT, ROOT, 7))
    made.hello(SPOUT)
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == [(FrameKind.ACKED, [ROOT])]


def test_results_from_before_the_first_hello_are_told_with_it() -> None:
    # A tree ends before the Hello: the receiver of its result is unknown?
    made = manager(introduced=False)
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []
    assert results(made.hello(SPOUT)) == [(FrameKind.ACKED, [ROOT])]
    assert results(made.hello(SPOUT, incarnation=2)) == []


def test_a_lost_stream_manager_fails_all_trees() -> None:
    # A stream manager held unknown tuples and acks: replay now, not after the message timeout.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.plan(2, c2="tcp://new")) == [(FrameKind.FAILED, [ROOT])]
    made.data(init(SPOUT, ROOT + 1, 7, epoch=2))
    assert results(made.plan(2, c2="tcp://new")) == []


def test_acks_on_their_way_to_a_dead_stream_manager_go_to_its_successor() -> None:
    """The successor may have had the plan first: then its spouts have emitted to instances here,
    and no other message than this ack ends those trees (a line failed by the timeout, after 35 s).
    """
    made = manager()
    root = FAR << ROOT_COUNTER_BITS
    told = ack(FAR, root, 7)
    assert to_peer(made.data(told, NEAR)) == [[(0, told)]]
    out = to_peer(made.plan(2, c2="tcp://new"))
    assert (0, told) in list(chain.from_iterable(out))


def test_roots_of_others_in_batches_to_a_dead_stream_manager_fail() -> None:
    """A bolt here has emitted for a root of a third container, begun after its spouts had failed
    all roots of before."""
    made = manager()
    root = FAR << ROOT_COUNTER_BITS
    made.data(batch(FAR, roots=[root]))
    out = list(chain.from_iterable(to_peer(made.plan(2, c2="tcp://new"))))
    failed = [frames for _, frames in out if header_of(frames).kind == FrameKind.FAIL]
    assert [decode_roots(header_of(frames), frames).tolist() for frames in failed] == [[root]]


def test_only_the_registered_process_reports_what_it_processed() -> None:
    # A foreign report would mark waiting tuples of this instance as processed.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    report = with_consumed(header(FrameKind.CONSUMED, 1, NEAR, 0, 0), 1)
    made.data([report], NEAR, incarnation=9)
    assert results(made.hello(NEAR, incarnation=2)) == [(FrameKind.FAILED, [ROOT])]


def test_further_roots_of_a_lost_batch_fail_too() -> None:
    # A join's tuple has two roots: the second root is in the extras.
    other = ROOT + 1
    made = manager()
    made.data(init(SPOUT, ROOT, 7, other, 7))
    head = header(FrameKind.DATA, 1, SPOUT, NEAR, 1, 0, 1 | 4)
    ids, extras = array("Q", [ROOT, 9]).tobytes(), array("Q", [0, other]).tobytes()
    made.data([head, b"body", ids, extras])
    ((kind, roots),) = results(made.hello(NEAR, incarnation=2))
    assert kind is FrameKind.FAILED
    assert sorted(roots) == [ROOT, other]


def test_lost_packets_with_nonsense_flags_fail_nothing() -> None:
    # A container goes while a waiting ACK has the flags of a tracked batch: its roots were searched
    # in a missing frame.
    made = Manager(TOPOLOGY, packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", 9: "spout"}))
    odd = [
        header(FrameKind.ACK, 1, 2, 9, 1, 0, 5),
        array("Q", [9 << ROOT_COUNTER_BITS, 7]).tobytes(),
    ]
    made.handle(events.PeerBlocked(2, 0))
    assert made.data(odd, NEAR) == []
    made.handle(
        events.FromMaster(physical(packing_of({SPOUT: "spout", NEAR: "near", FAR: "far"}), 2))
    )
    assert made.core.statistics()["lost"] == 0, "it is no batch"


def test_a_spout_that_has_much_to_hear_of_its_roots_is_no_cause_of_back_pressure() -> None:
    # Found by simulation (seed 70227): a spout has no feeders, so pauses for a spout are
    # impossible.
    made = manager()
    made.handle(events.StreamManagerTimer())
    roots = [ROOT + number for number in range(160)]
    made.data(init(SPOUT, *(each for root in roots for each in (root, 7))))
    for first, end in ((0, 60), (60, 100)):  # the spout works on the first of these
        made.peer(ack(SPOUT, *(each for root in roots[first:end] for each in (root, 7))))
    made.now = 20.0
    assert results(made.handle(events.StreamManagerTimer())) == []
    assert results(made.consumed(SPOUT, 1)) == [(FrameKind.ACKED, roots[60:100])]
    assert made.core.statistics()["causes"] == []
    assert results(made.consumed(SPOUT, 1)) == [(FrameKind.EXPIRED, roots[100:])]


SPOUT_THERE = 9
ROOT_THERE = SPOUT_THERE << ROOT_COUNTER_BITS | 1
ROOT_OF_NONE = NEAR << ROOT_COUNTER_BITS | 1
ROOT_OF_UNKNOWN = 99 << ROOT_COUNTER_BITS | 1


@pytest.mark.parametrize("consumed", [0, 1])
@pytest.mark.parametrize("mode", [keys.STAGE, keys.DROP])
def test_acks_of_several_spouts_reach_the_owner_of_each(mode: str, consumed: int) -> None:
    # Of a spout here, of two roots there, of a task other than a spout, and of an unknown task.
    packing = packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", SPOUT_THERE: "spout"})
    made = Manager(TOPOLOGY, packing, mode=mode)
    made.hello(SPOUT)
    made.hello(NEAR)
    made.data(init(SPOUT, ROOT, 7))
    pairs = (ROOT_THERE, 5, ROOT, 7, ROOT_OF_NONE, 1, ROOT_OF_UNKNOWN, 1, ROOT_THERE + 1, 6)
    head, words = ack(EVERY_OWNER, *pairs)
    out = made.data([with_consumed(head, consumed), words], NEAR)
    assert results(out) == [(FrameKind.ACKED, [ROOT])]
    (sent,) = of_type(events.ToPeer, out)
    ((_, frames),) = sent.waiting
    assert header_of(frames).destination == EVERY_OWNER
    assert list(u64_array(frames[1])) == [ROOT_THERE, 5, ROOT_THERE + 1, 6]
    assert made.core.state.counters["unroutable"] == 2
    others = {SPOUT: "spout", NEAR: "near"}
    there = Manager(TOPOLOGY, packing_of({SPOUT_THERE: "spout", FAR: "far"}, others), mode=mode)
    there.hello(SPOUT_THERE)
    there.data(init(SPOUT_THERE, ROOT_THERE, 5, ROOT_THERE + 1, 6), SPOUT_THERE)
    (acked,) = of_type(events.ToLocal, there.peer(frames))
    assert header_of(acked.frames).kind == FrameKind.ACKED
    assert list(u64_array(acked.frames[1])) == [ROOT_THERE, ROOT_THERE + 1]
