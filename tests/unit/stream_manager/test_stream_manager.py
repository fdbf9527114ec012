"""The stream manager's decisions: routing, fencing, trees, causes, and who has died meanwhile.

Many of these were found by tests/sim; the seeds named here fail again without the cure.
"""

from array import array
from dataclasses import replace
from typing import Any

from manager_support import (
    HIGH_BYTES,
    WINDOW_BYTES,
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

from heron_core import config as keys
from heron_core.story import STEPS_MAX
from heron_core.wire import messages
from heron_core.wire.frames import (
    ROOT_COUNTER_BITS,
    Kind,
    header,
    parse_header,
    u64_array,
    with_consumed,
)
from stream_manager import events

SPOUT, NEAR, FAR, FAR_TOO = 1, 2, 3, 4
ROOT = (SPOUT << ROOT_COUNTER_BITS) | 5
TOPOLOGY = topology_of({"spout": [], "near": ["spout"], "far": ["spout", "near"]})
PACKED = packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "far"})


def manager(planned: bool = True, introduced: bool = True) -> Manager:
    """The stream manager of container 1, its instances there."""
    made = Manager(TOPOLOGY, PACKED, planned)
    if introduced:
        made.hello(SPOUT)
        made.hello(NEAR)
    return made


def results(instructions: list[events.Instruction]) -> list[tuple[Kind, list[int]]]:
    """What spouts are told: (kind, roots)."""
    return [
        (Kind(parse_header(each.frames[0]).kind), list(u64_array(each.frames[1])))
        for each in of_type(events.ToLocal, instructions)
        if each.task == SPOUT
    ]


# --- routing ------------------------------------------------------------------------------------


def test_batches_go_where_their_task_is() -> None:
    made = manager()
    near, far = batch(NEAR), batch(FAR)
    assert made.data(near) == [events.ToLocal(NEAR, 1, near)]
    assert made.data(far) == [events.ToPeer(2, [(FAR, far)])]


def test_what_nobody_has_is_counted() -> None:
    made = manager()
    assert made.data(batch(99)) == []
    assert made.core.state.counters["unroutable"] == 1


def test_garbage_is_counted_and_survived() -> None:
    # A stranger that got through, a cut message, a peer of another release.
    made = manager()
    for frames in (
        [],
        [b""],
        [b"x" * 24],
        [header(77, 1, 1, 1, 1)],
        [header(Kind.INIT, 1, 1, 1, 1)],
    ):
        made.peer(frames)
    made.peer([header(Kind.ACK, 1, 9, 99, 1), b"1234567812345678"])
    assert made.core.state.counters["malformed"] == 5
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
        assert (head.kind, head.destination, head.items) == (Kind.DATA, each.task, 2)
        assert list(u64_array(each.frames[2])) == [ROOT, 10 * each.task, 0, 10 * each.task + 1]


def test_a_full_socket_keeps_the_order() -> None:
    # The socket takes one of three, then a fourth comes, then it takes messages again.
    made = manager()
    first, second, third, fourth = (batch(FAR, size) for size in range(4))
    made.handle(events.PeerBlocked(2, [(FAR, second), (FAR, third)]))
    assert made.data(fourth) == []
    assert made.core.blocked_peers() == [2]
    sent = of_type(events.ToPeer, made.handle(events.PeerWritable(2)))
    assert [each.waiting for each in sent] == [[(FAR, second), (FAR, third), (FAR, fourth)]]
    assert made.data(first) == [events.ToPeer(2, [(FAR, first)])]


# --- epochs ------------------------------------------------------------------------------------


def test_leftovers_of_an_older_plan_are_dropped_and_their_roots_fail() -> None:
    made = manager()
    made.plan(2, c2="tcp://new")
    made.data(init(SPOUT, ROOT, 1, epoch=2))
    out = made.data(batch(NEAR, roots=[ROOT], epoch=1))
    assert results(out) == [(Kind.FAILED, [ROOT])]
    assert not [each for each in of_type(events.ToLocal, out) if each.task == NEAR]
    assert made.core.state.counters["fenced"] == 1


def test_an_older_plan_is_not_taken() -> None:
    # Two masters in a hand-over: the older one's last word comes late.
    made = manager()
    made.plan(2)
    assert made.plan(1) == []
    assert made.core.epoch == 2


# --- trees -------------------------------------------------------------------------------------


def test_a_tree_ends_once() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == [(Kind.ACKED, [ROOT])]
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []
    assert made.core.statistics()["unknown_roots"] == 1


def test_acks_find_the_owner() -> None:
    # The tree of a far spout is not here.
    made = manager()
    told = ack(FAR, FAR << ROOT_COUNTER_BITS, 7)
    assert made.data(told, NEAR) == [events.ToPeer(2, [(0, told)])]


def test_trees_expire_between_t_and_a_fifth_more() -> None:
    # topology.message.timeout.secs is 5: a replay comes after 5 s at the earliest, 6 at the latest.
    made = manager()
    made.handle(events.Timer())
    made.now = 0.5
    made.data(init(SPOUT, ROOT, 7))
    expired_at = []
    for tenth in range(6, 80):
        made.now = tenth / 10
        expired_at += [made.now for kind, _ in results(made.handle(events.Timer()))
                       if kind is Kind.EXPIRED]  # fmt: skip
    assert len(expired_at) == 1
    assert 5.5 <= expired_at[0] <= 6.5 + 0.1


def test_what_a_dead_instance_took_along_fails_at_once() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    assert results(made.hello(NEAR, incarnation=2)) == [(Kind.FAILED, [ROOT])]


def test_what_was_processed_before_the_death_does_not_fail() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    made.consumed(NEAR, 1)
    assert results(made.hello(NEAR, incarnation=2)) == []


def test_a_dead_spouts_trees_are_forgotten() -> None:
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.hello(SPOUT, incarnation=2)
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []


def test_trees_that_begin_before_the_first_hello_stay() -> None:
    # Found by tests/sim: a spout outlives its stream manager and emits at once to the new one; its
    # Hello goes over another connection and comes later. Nothing was ever heard of those roots.
    made = manager(introduced=False)
    made.data(init(SPOUT, ROOT, 7))
    made.hello(SPOUT)
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == [(Kind.ACKED, [ROOT])]


def test_results_from_before_the_first_hello_are_told_with_it() -> None:
    # The same, and the tree ends before the Hello: to whom shall the result go?
    made = manager(introduced=False)
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.peer(ack(SPOUT, ROOT, 7))) == []
    assert results(made.hello(SPOUT)) == [(Kind.ACKED, [ROOT])]
    assert results(made.hello(SPOUT, incarnation=2)) == []


def test_a_lost_stream_manager_fails_all_trees() -> None:
    # It held tuples and acks that nobody can name: replay now, not after the message timeout.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.plan(2, c2="tcp://new")) == [(Kind.FAILED, [ROOT])]
    made.data(init(SPOUT, ROOT + 1, 7, epoch=2))
    assert results(made.plan(2, c2="tcp://new")) == []


# --- back-pressure -----------------------------------------------------------------------------


def fill(made: Manager, task: int) -> list[events.Instruction]:
    """Send until the task's queue is over its mark."""
    out = []
    for _ in range((HIGH_BYTES + WINDOW_BYTES) // 100 + 2):
        out += made.data(batch(task, 100), SPOUT)
    return out


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


def test_who_comes_during_back_pressure_is_paused_at_once() -> None:
    made = manager()
    fill(made, NEAR)
    assert pauses(made.hello(SPOUT, incarnation=2)) == [(SPOUT, True)]


def test_who_was_paused_by_the_one_before_us_is_let_go() -> None:
    # Seed 95: a stream manager dies during back-pressure, the new one knows no cause.
    made = manager(introduced=False)
    assert pauses(made.hello(SPOUT)) == [(SPOUT, False)]


def test_the_master_hears_how_a_process_ended_and_what_it_took_along() -> None:
    """kill -9 of a bolt: its successor knows the signal, its stream manager what it had."""
    made = Manager(TOPOLOGY, PACKED)
    made.hello(NEAR)
    made.data(batch(NEAR))
    made.consumed(NEAR, 1)
    made.data(batch(NEAR, roots=[(SPOUT << 44) + 1]))
    hello = messages.RegisterInstance(NEAR, 2, 1, "was killed by signal 9 (SIGKILL)")
    made.now += 10.0
    made.handle(events.Timer())
    assert not to_master(made.control(NEAR, hello, 2)), "there is no master yet"
    told = to_master(made.handle(events.MasterConnected()))
    assert told[1:] == [messages.InstanceReplaced(NEAR, hello.predecessor, 0, 1)]
    made.data(batch(NEAR))
    (replaced,) = to_master(made.control(NEAR, replace(hello, incarnation=3), 3))
    assert (replaced.lost, replaced.failed) == (1, 0)
    again = to_master(made.handle(events.MasterConnected()))
    assert len(again) == 1, "it is told once"


def to_master(out: list[events.Instruction]) -> list[Any]:
    """What the master is told."""
    return [each.message for each in out if isinstance(each, events.ToMaster)]


def test_a_successor_that_takes_all_that_waits_ends_the_cause() -> None:
    # Seed 483: the queue is emptied by a Hello, and the process dies again before it reports
    # anything: no report would ever have lifted the cause.
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


def blocked(
    made: Manager, *frames: list[bytes], destination: int = FAR
) -> list[events.Instruction]:
    """The socket of container 2 refused these."""
    return made.handle(events.PeerBlocked(2, [(destination, each) for each in frames]))


def test_a_full_link_names_all_that_it_holds() -> None:
    made = manager()
    refused = [(FAR, batch(FAR, 250)), (FAR_TOO, batch(FAR_TOO, 250))]
    out = made.handle(events.PeerBlocked(2, refused))
    assert pauses(out) == [(SPOUT, True), (NEAR, True)]
    assert made.core.causes() == {FAR, FAR_TOO}


def test_who_joins_a_full_link_later_is_named_too() -> None:
    # Seed 1: only those of the first moment were named, the others went on filling the link.
    made = Manager(
        topology_of({"spout": [], "near": ["spout"], "far": ["spout"], "deep": ["near"]}),
        packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", FAR_TOO: "deep"}),
    )
    made.hello(SPOUT)
    made.hello(NEAR)
    assert pauses(blocked(made, batch(FAR, HIGH_BYTES))) == [(SPOUT, True)]
    assert pauses(made.data(batch(FAR_TOO, 10), NEAR)) == [(NEAR, True)]


def test_fan_outs_name_causes_as_well() -> None:
    # Seed 111: an ALL grouping to a slow container grew without any limit.
    made = manager()
    blocked(made, batch(FAR, 1))
    out = made.data(fanout(2, [FAR, FAR_TOO], HIGH_BYTES))
    assert pauses(out) == [(SPOUT, True), (NEAR, True)]


def test_a_drained_link_lets_everyone_go() -> None:
    made = manager()
    blocked(made, batch(FAR, HIGH_BYTES))
    out = made.handle(events.PeerWritable(2))
    assert pauses(out) == [(SPOUT, False), (NEAR, False)]
    assert made.core.causes() == set()


def test_the_link_drains_but_the_task_is_still_slow() -> None:
    # Both stream managers named the task; one of them lifting it must not let the feeders go.
    made = manager()
    blocked(made, batch(FAR, HIGH_BYTES))
    made.cause(2, FAR, True)
    assert pauses(made.handle(events.PeerWritable(2))) == []
    assert pauses(made.cause(2, FAR, False)) == [(SPOUT, False), (NEAR, False)]


def test_the_causes_of_a_dead_stream_manager_end() -> None:
    # Nobody would lift them any more: the spout would wait for ever.
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
    made.data(init(SPOUT, ROOT, 7))
    assert results(made.data(batch(NEAR, 10, roots=[ROOT]))) == [(Kind.FAILED, [ROOT])]


# --- control -----------------------------------------------------------------------------------


def control(instructions: list[events.Instruction], task: int) -> list[object]:
    """The messages sent to one instance."""
    sent = of_type(events.ToLocalControl, instructions)
    return [each.message for each in sent if each.task == task]


def test_a_newcomer_gets_the_plan_and_a_stranger_nothing() -> None:
    made = Manager(TOPOLOGY, PACKED)
    told = control(made.hello(SPOUT), SPOUT)
    assert [type(each) for each in told] == [messages.Pause, messages.Plan]
    assert made.hello(SPOUT) == []
    assert of_type(events.ToLocalControl, made.hello(99)) == []


def test_who_was_served_by_a_dead_stream_manager_is_asked_for_its_name() -> None:
    made = manager(introduced=False)
    beat = messages.InstanceHeartbeat(SPOUT, {"incarnation": 5})
    out = made.control(SPOUT, beat, 5)
    assert out == [events.ToLocalControl(SPOUT, 5, messages.Resync())]
    made.hello(SPOUT, incarnation=5)
    assert made.control(SPOUT, beat, 5) == []


def test_of_two_processes_of_a_task_one_ends_also_at_a_new_stream_manager() -> None:
    # Found by the simulation (seed 10052): a process that was stopped and replaced under the stream
    # manager before this one was not known as superseded here, and sent tuples for ever.
    made = manager(introduced=False)
    made.hello(SPOUT, incarnation=6)
    beat = messages.InstanceHeartbeat(SPOUT, {"incarnation": 5})
    assert made.control(SPOUT, beat, 5) == [events.ToLocalControl(SPOUT, 5, messages.Resync())]
    made.hello(SPOUT, incarnation=5)
    (order,) = made.control(SPOUT, beat, 6)
    assert isinstance(order, events.ToLocalControl)
    assert type(order.message) is messages.Superseded
    assert order.incarnation == 6


def test_only_the_registered_process_reports_what_it_processed() -> None:
    # Another one's report would say that what waits in this one is processed.
    made = manager()
    made.data(init(SPOUT, ROOT, 7))
    made.data(batch(NEAR, roots=[ROOT]))
    report = with_consumed(header(Kind.CONSUMED, 1, NEAR, 0, 0), 1)
    made.data([report], NEAR, incarnation=9)
    assert results(made.hello(NEAR, incarnation=2)) == [(Kind.FAILED, [ROOT])]


def test_its_story_says_what_happened() -> None:
    # Somebody asks why an instance was held back: registrations, plans and causes are there.
    made = manager()
    fill(made, NEAR)
    steps = made.core.story().steps
    assert [step.cause.partition(" ")[0] for step in steps] == [
        "plan", "registered", "registered", "cause",
    ]  # fmt: skip
    assert str(steps[-1]) == f"0.000 cause task={NEAR}"


def test_a_story_is_bounded() -> None:
    made = manager()
    for epoch in range(2, 2 * STEPS_MAX):
        made.plan(epoch)
    assert len(made.core.story().steps) == STEPS_MAX


def test_a_packet_of_another_kind_is_refused_and_counted() -> None:
    # ACKED goes to spouts only.
    made = manager()
    (log,) = made.peer([header(Kind.ACKED, 1, 1, 1, 0), b""])
    assert isinstance(log, events.Log)
    assert made.core.statistics()["malformed"] == 1


def test_lost_packets_with_nonsense_flags_fail_nothing() -> None:
    # A container goes while an ACK waits for it whose flags say that it were a tracked batch: its
    # roots were looked for in a frame that it does not have.
    made = Manager(TOPOLOGY, packing_of({SPOUT: "spout", NEAR: "near"}, {FAR: "far", 9: "spout"}))
    odd = [header(Kind.ACK, 1, 2, 9, 1, 0, 5), array("Q", [9 << ROOT_COUNTER_BITS, 7]).tobytes()]
    made.handle(events.PeerBlocked(2, []))
    assert made.data(odd, NEAR) == []
    made.handle(
        events.FromMaster(physical(packing_of({SPOUT: "spout", NEAR: "near", FAR: "far"}), 2))
    )
    assert made.core.statistics()["lost"] == 0, "it is no batch"


def test_a_newcomer_answers_the_wave_and_finishes_like_the_others() -> None:
    # A bolt is replaced while the end of the run is near: the master must not wait for ever.
    made = manager()
    made.handle(events.FromMaster(messages.QuiescenceProbe(4)))
    made.handle(events.FromMaster(messages.FinishBolts((NEAR, FAR))))
    told = control(made.hello(NEAR, incarnation=2), NEAR)
    assert messages.QuiescenceProbe(4) in told
    assert messages.FinishBolts((NEAR,)) in told
    made.control(NEAR, messages.BoltFinished(NEAR), 2)
    assert messages.FinishBolts((NEAR,)) not in control(made.hello(NEAR, incarnation=3), NEAR)


def test_a_silent_master_is_looked_up_again() -> None:
    made = manager(planned=False)
    assert made.handle(events.MasterConnected()) == [events.ToMaster(made.identity)]
    made.now = 2.9
    assert not of_type(events.FindMaster, made.handle(events.Timer()))
    made.now = 3.1
    assert of_type(events.FindMaster, made.handle(events.Timer()))
    made.now = 9.0
    assert not of_type(events.FindMaster, made.handle(events.Timer()))


def test_a_refusal_ends_the_process_with_its_reason() -> None:
    (told,) = manager().handle(
        events.FromMaster(messages.RegistrationRejected("pid 7 on host has it"))
    )
    assert isinstance(told, events.Exit)
    assert "pid 7 on host has it" in told.reason


def test_further_roots_of_a_lost_batch_fail_too() -> None:
    # A join's tuple has two roots: the second one stands in the extras.
    other = ROOT + 1
    made = manager()
    made.data(init(SPOUT, ROOT, 7, other, 7))
    head = header(Kind.DATA, 1, SPOUT, NEAR, 1, 0, 1 | 4)
    ids, extras = array("Q", [ROOT, 9]).tobytes(), array("Q", [0, other]).tobytes()
    made.data([head, b"body", ids, extras])
    ((kind, roots),) = results(made.hello(NEAR, incarnation=2))
    assert kind is Kind.FAILED
    assert sorted(roots) == [ROOT, other]


def test_a_zombie_is_told_to_end_and_not_listened_to() -> None:
    # A process that was stopped (SIGSTOP, a sleeping laptop) wakes up after it was replaced.
    made = manager()
    made.hello(NEAR, incarnation=2)
    out = made.data(batch(FAR), NEAR, incarnation=1)
    assert [type(each.message) for each in of_type(events.ToLocalControl, out)] == [
        messages.Superseded
    ]
    assert not of_type(events.ToPeer, out)
    assert made.data(batch(FAR), NEAR, incarnation=2)
    assert made.hello(NEAR, incarnation=1) == out


def test_consumed_reports_ride_on_any_message() -> None:
    made = manager()
    for _ in range(2):
        made.data(batch(NEAR, 100), SPOUT)
    told = ack(SPOUT, ROOT, 1)
    told[0] = with_consumed(told[0], 2)
    made.data(told, NEAR)
    assert made.core.statistics()["waiting_bytes"][NEAR] == 0
