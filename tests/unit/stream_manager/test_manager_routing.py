"""The stream manager routes each batch to its task, and drops batches routed by an older plan."""

from heron_core.wire import messages
from heron_core.wire.frames import ROOT_COUNTER_BITS, FrameKind, header, parse_header, u64_array
from heron_core.wire.links import parse_link
from heron_core.wire.merged import MERGED_BYTES_MAX
from heron_engine.stream_manager import events
from heron_engine.stream_manager.link import ACK_SECS
from tests.unit.stream_manager.manager_support import (
    FAR,
    FAR_TOO,
    NEAR,
    ROOT,
    SPOUT,
    TOPOLOGY,
    Manager,
    batch,
    fanout,
    init,
    manager,
    of_type,
    packing_of,
    results,
    to_peer,
)


def test_batches_go_where_their_task_is() -> None:
    made = manager()
    near, far = batch(NEAR), batch(FAR)
    assert made.data(near) == [events.ToLocal(NEAR, 1, near)]
    assert to_peer(made.data(far)) == [[(FAR, far)]]


def test_what_nobody_has_is_counted() -> None:
    made = manager()
    assert made.data(batch(99)) == []
    assert made.core.state.counters["unroutable"] == 1


def test_the_roots_of_a_lost_batch_fail_at_their_spouts_wherever_those_are() -> None:
    made = Manager(TOPOLOGY, packing_of({NEAR: "near"}, {SPOUT: "spout", FAR: "far"}))
    of_nobody, of_a_bolt = 99 << ROOT_COUNTER_BITS, NEAR << ROOT_COUNTER_BITS
    out = made.peer(batch(99, roots=[ROOT, of_nobody, of_a_bolt]))
    (((_, fail),),) = to_peer(out)
    head = parse_header(fail[0])
    assert (head.kind, head.destination, list(u64_array(fail[1]))) == (
        FrameKind.FAIL,
        SPOUT,
        [ROOT],
    )
    assert made.core.statistics()["unroutable"] == 3


def test_garbage_is_counted_and_survived() -> None:
    # A stranger that got through, a cut message, a peer of another release.
    made = manager()
    made.handle(events.FromPeer([]))
    made.handle(events.FromPeer([b"no link frame", *batch(NEAR)]))
    for frames in (
        [b""],
        [b"x" * 24],
        [header(77, 1, 1, 1, 1)],
        [header(FrameKind.INIT, 1, 1, 1, 1)],
    ):
        made.peer(frames)
    made.peer([header(FrameKind.ACK, 1, 9, 99, 1), b"1234567812345678"])
    assert made.core.state.counters["malformed"] == 6
    assert made.core.state.counters["unroutable"] == 1
    assert made.data(batch(NEAR))


def test_fan_out_gives_each_target_its_own_edges() -> None:
    # An ALL grouping: the batch travels once, the edges are one block for each target in turn.
    made = Manager(TOPOLOGY, packing_of({SPOUT: "spout"}, {9: "near", 10: "near"}))
    there = Manager(TOPOLOGY, packing_of({FAR: "far", FAR_TOO: "far"}, {SPOUT: "spout"}))
    there.hello(FAR)
    there.hello(FAR_TOO)
    assert of_type(events.ToPeer, made.data(fanout(2, [9, 10])))
    sent = of_type(events.ToLocal, there.peer(fanout(1, [FAR, FAR_TOO], roots=[ROOT, 0])))
    assert [each.task for each in sent] == [FAR, FAR_TOO]
    for each in sent:
        head = parse_header(each.frames[0])
        assert (head.kind, head.destination, head.items) == (FrameKind.DATA, each.task, 2)
        assert list(u64_array(each.frames[2])) == [ROOT, 10 * each.task, 0, 10 * each.task + 1]


def test_a_full_socket_keeps_the_order() -> None:
    # The socket takes one of three messages, then a fourth arrives, then the socket takes messages
    # again.
    made = manager()
    first, second, third, fourth = (batch(FAR, size) for size in range(4))
    made.data(first)
    made.refused(second, third)
    assert made.data(fourth) == []
    assert made.core.blocked_peers() == [2]
    sent = of_type(events.ToPeer, made.handle(events.PeerWritable(2)))
    assert [each.number for each in sent] == [2, 3, 4]
    assert to_peer(sent) == [[(FAR, each)] for each in (second, third, fourth)]
    assert to_peer(made.data(first)) == [[(FAR, first)]]


def test_a_message_that_is_full_alone_goes_to_its_peer_at_once() -> None:
    made = manager()
    large = batch(FAR, MERGED_BYTES_MAX)
    (at_once,) = made.core.handle(events.FromInstance(SPOUT, 1, large), made.now)
    assert to_peer([at_once]) == [[(FAR, large)]]
    assert to_peer(made.handle()) == []


def test_an_acknowledgement_that_a_socket_did_not_take_is_said_when_it_does() -> None:
    # Else the peer keeps the messages, and asks.
    made = manager()
    made.peer(batch(NEAR))
    made.now += ACK_SECS
    (alone,) = of_type(events.ToPeer, made.handle(events.StreamManagerTimer()))
    made.handle(events.PeerBlocked(2, 0))
    assert of_type(events.ToPeer, made.handle(events.StreamManagerTimer())) == []
    (again,) = of_type(events.ToPeer, made.handle(events.PeerWritable(2)))
    assert [parse_link(each.frames).acked for each in (alone, again)] == [1, 1]


def test_leftovers_of_an_older_plan_are_dropped_and_their_roots_fail() -> None:
    made = manager()
    made.plan(2, c2="tcp://new")
    made.data(init(SPOUT, ROOT, 1, epoch=2))
    out = made.data(batch(NEAR, roots=[ROOT], epoch=1))
    assert results(out) == [(FrameKind.FAILED, [ROOT])]
    assert not [each for each in of_type(events.ToLocal, out) if each.task == NEAR]
    assert made.core.state.counters["fenced"] == 1


def test_an_older_plan_is_not_taken() -> None:
    # Two masters in a hand-over: the older one's last word comes late.
    made = manager()
    made.plan(2)
    assert made.plan(1) == []
    assert made.core.epoch == 2


def test_a_process_that_wakes_up_does_not_take_the_place_of_its_successor() -> None:
    # A process was stopped and replaced; then the informed stream manager died, and both register.
    made = manager(introduced=False)
    later = messages.RegisterInstance(task=NEAR, incarnation=2, pid=12, born_ms=2000)
    earlier = messages.RegisterInstance(task=NEAR, incarnation=1, pid=11, born_ms=1000)
    made.control(NEAR, later, 2)
    (refusal,) = of_type(events.ToLocalControl, made.control(NEAR, earlier, 1))
    assert (refusal.incarnation, type(refusal.message)) == (1, messages.Superseded)
    (sent,) = of_type(events.ToLocal, made.data(batch(NEAR)))
    assert sent.incarnation == 2
