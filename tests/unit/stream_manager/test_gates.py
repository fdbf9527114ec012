"""Aligned barriers: an instance gets one, in exactly the right position of its data."""

from typing import Any

import pytest

from heron_core import config as keys
from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_to_json
from heron_core.records import replace
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, header, header_of
from heron_core.wire.merged import merge, split
from heron_core.wire.packets import check_barrier, checkpoint_of, encode_barrier, encode_consumed
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.gates import DATA, TRANSITIONS, InstanceGate
from heron_engine.stream_manager.options import StreamManagerOptions
from tests.transitions_seen import arrows, transitions_seen
from tests.unit.stream_manager.manager_support import Manager, packing_of, physical, topology_of
from tests.unit.stream_manager.manager_support import batch as full_batch

A, B, C = 1, 2, 3


def batch(source: int, name: str) -> Frames:
    return [header(FrameKind.DATA, 1, source, 9, 1), name.encode()]


class Passing:
    """A gate, and all passed items: names of batches and numbers of barriers."""

    def __init__(self, *sources: int) -> None:
        self.gate = InstanceGate(frozenset(sources))
        self.passed: list[str | int] = []

    def data(self, source: int, *names: str) -> None:
        for name in names:
            self._take(self.gate.take(source, DATA, batch(source, name)))

    def barrier(self, source: int, number: int) -> None:
        self._take(self.gate.take(source, number, encode_barrier(1, source, 9, number)))

    def abort(self) -> None:
        self._take(self.gate.abort())

    def _take(self, passed: object) -> None:
        for number, frames in passed:  # type: ignore[attr-defined]
            self.passed.append(number or frames[1].decode())
        self.gate.validate()


def test_what_comes_behind_a_barrier_waits_for_those_of_the_others() -> None:
    passing = Passing(A, B)
    passing.data(A, "a1")
    passing.barrier(A, 1)
    passing.data(A, "a2", "a3")
    passing.data(B, "b1")
    assert passing.passed == ["a1", "b1"]
    assert passing.gate.blocked_tuples == 2
    passing.barrier(B, 1)
    passing.data(B, "b2")
    assert passing.passed == ["a1", "b1", 1, "a2", "a3", "b2"]
    assert passing.gate.blocked_bytes == 0


def test_a_single_source_is_never_held_back() -> None:
    passing = Passing(A)
    passing.barrier(A, 1)
    passing.data(A, "a1")
    passing.barrier(A, 2)
    assert passing.passed == [1, "a1", 2]


def test_a_source_that_is_two_checkpoints_ahead_keeps_its_order() -> None:
    passing = Passing(A, B)
    passing.barrier(A, 1)
    passing.data(A, "a1")
    passing.barrier(A, 2)
    passing.data(A, "a2")
    passing.barrier(B, 1)
    passing.data(B, "b1")
    passing.barrier(B, 2)
    assert passing.passed == [1, "a1", "b1", 2, "a2"]


def test_a_later_barrier_aborts_one_that_its_source_never_sent() -> None:
    # The master died after a trigger of checkpoint 1 at some spouts.
    passing = Passing(A, B, C)
    passing.barrier(A, 1)
    passing.data(A, "a1")
    passing.barrier(A, 2)
    passing.data(A, "a2")
    passing.barrier(B, 2)
    assert passing.passed == ["a1"]
    passing.barrier(B, 1)  # late, and of no use any more
    passing.barrier(C, 2)
    assert passing.passed == ["a1", 2, "a2"]


def test_an_alignment_that_is_aborted_lets_all_pass_and_ignores_the_rest_of_it() -> None:
    passing = Passing(A, B)
    passing.barrier(A, 1)
    passing.data(A, "a1")
    passing.abort()
    passing.barrier(B, 1)
    passing.data(B, "b1")
    assert passing.passed == ["a1", "b1"]
    passing.barrier(A, 2)
    passing.barrier(B, 2)
    assert passing.passed[-1] == 2


def test_a_restore_forgets_what_was_held_back() -> None:
    passing = Passing(A, B)
    passing.barrier(A, 1)
    passing.data(A, "a1")
    passing.gate.reset()
    passing.data(A, "a2")
    passing.data(B, "b1")
    assert passing.passed == ["a2", "b1"]


# --- in a stream manager: spouts 1 here and 2 elsewhere feed 3 here and 4 elsewhere -------------

EDGES = {"one": (), "two": (), "reads": ("one", "two"), "far": ("one",)}
PACKED = packing_of({1: "one", 3: "reads"}, {2: "two", 4: "far"})


def data(epoch: int, destination: int) -> Frames:
    return full_batch(destination, size=40, epoch=epoch)


def exactly(manager: Manager, epoch: int, members: dict[int, int] | None) -> None:
    plan = PhysicalPlan(
        "t", epoch, TopologyState.RUNNING, PACKED, {1: "tcp://1", 2: "tcp://2"}, Restore(0, members)
    )
    manager.handle(events.FromMaster(messages.Plan(physical_to_json(plan))))


def without_plan(**changed: Any) -> Manager:
    """A stream manager with registered instances."""
    topology = topology_of(EDGES, **{keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})
    made = Manager(topology, PACKED, planned=False)
    options = replace(
        StreamManagerOptions.of(topology.config),
        aligned_bytes_max=200,
        pipelined_bytes=0,
        window_bytes=600,
    )
    options = replace(options, **changed)
    made.core = StreamManager(topology, PACKED, made.identity, options)
    for task in (1, 3):
        register = messages.RegisterInstance(task=task, incarnation=70 + task, pid=5)
        made.handle(events.FromInstanceControl(task, 70 + task, register))
    return made


@pytest.fixture
def manager() -> Manager:
    made = without_plan()
    exactly(made, 1, None)
    return made


def delivered(out: list[events.Instruction]) -> list[Frames]:
    return [each for x in out if isinstance(x, events.ToLocal) for each in split(x.frames)]


def to_peer(out: list[events.Instruction]) -> list[Frames]:
    return [each for x in out if isinstance(x, events.ToPeer) for _, each in x.waiting]


def test_a_barrier_goes_once_to_each_container_behind_the_data(manager: Manager) -> None:
    local = [data(1, 3), data(1, 4), encode_barrier(1, 1, 0, 7)]
    out = manager.handle(*(events.FromInstance(1, 71, each) for each in local))
    assert [header_of(each).kind for each in to_peer(out)] == [FrameKind.DATA, FrameKind.BARRIER]
    assert checkpoint_of(to_peer(out)[1]) == 7
    assert [header_of(each).kind for each in delivered(out)] == [FrameKind.DATA]
    out = manager.peer(encode_barrier(1, 2, 1, 7))
    (barrier,) = delivered(out)
    check_barrier(header_of(barrier), barrier)
    assert (header_of(barrier).destination, checkpoint_of(barrier)) == (3, 7)


def test_what_travels_with_a_barrier_and_behind_it_waits(manager: Manager) -> None:
    # As sent by the instance in a burst; messages for remote tasks wait.
    local = [data(1, 3), encode_barrier(1, 1, 0, 7), data(1, 3), data(1, 4)]
    out = manager.handle(events.FromInstance(1, 71, merge(local)))
    assert [header_of(each).kind for each in delivered(out)] == [FrameKind.DATA]
    assert [header_of(each).kind for each in to_peer(out)] == [FrameKind.BARRIER, FrameKind.DATA]
    assert manager.core.state.queues[1].fan_out.sent == {3: 2, 4: 1}
    assert delivered(manager.handle(events.FromInstance(1, 71, data(1, 3)))) == []
    out = manager.peer(encode_barrier(1, 2, 1, 7))
    kinds = [header_of(each).kind for each in delivered(out)]
    assert kinds == [FrameKind.BARRIER, FrameKind.DATA, FrameKind.DATA]
    assert len(delivered(manager.handle(events.FromInstance(1, 71, data(1, 3))))) == 1


def test_a_barrier_of_a_newer_plan_keeps_its_epoch(manager: Manager) -> None:
    # A peer may have the next plan already, and an instance drops a barrier of an older one.
    manager.handle(events.FromInstance(1, 71, encode_barrier(1, 1, 0, 7)))
    (barrier,) = delivered(manager.peer(encode_barrier(2, 2, 1, 7)))
    assert header_of(barrier).epoch == 2


def test_the_master_hears_how_long_a_gate_was_closed_for_each_checkpoint(manager: Manager) -> None:
    def barrier(source: int, number: int) -> None:
        message = encode_barrier(1, source, 0 if source == 1 else 1, number)
        manager.handle(
            events.FromInstance(1, 71, message) if source == 1 else manager.from_peer(message)
        )

    def stored(task: int, number: int) -> int:
        message = messages.CheckpointStored(task, number, 100)
        (sent,) = manager.handle(events.FromInstanceControl(task, 70 + task, message))
        assert isinstance(sent, events.ToMaster)
        assert isinstance(sent.message, messages.CheckpointStored)
        assert (sent.message.task, sent.message.size_bytes) == (task, 100)
        return sent.message.aligned_ms

    barrier(1, 7)
    manager.now += 0.25
    barrier(1, 8)  # it waits behind the gate, and begins the next alignment when that opens
    manager.now += 0.5
    barrier(2, 7)
    assert (stored(3, 7), stored(1, 7)) == (750, 0)
    manager.now += 0.125
    barrier(2, 8)
    assert stored(3, 8) == 125
    assert stored(3, 7) == 0


@pytest.mark.parametrize(
    "broken",
    [
        encode_barrier(1, 2, 1, 7)[:1],
        [*encode_barrier(1, 2, 1, 7)[:1], b"\7"],
        encode_barrier(1, 99, 1, 7),
    ],
    ids=["without a number", "with half a number", "of no task of the plan"],
)
def test_a_broken_barrier_is_counted_and_changes_nothing(manager: Manager, broken: Frames) -> None:
    assert delivered(manager.peer(broken)) == []
    assert manager.core.statistics()["malformed"] == 1
    manager.handle(events.FromInstance(1, 71, encode_barrier(1, 1, 0, 7)))
    (barrier,) = delivered(manager.peer(encode_barrier(1, 2, 1, 7)))
    assert checkpoint_of(barrier) == 7


def test_too_much_behind_a_barrier_gives_the_checkpoint_up_and_the_master_hears_why(
    manager: Manager,
) -> None:
    manager.handle(events.FromInstance(1, 71, encode_barrier(1, 1, 0, 7)))
    out = [
        each for _ in range(8) for each in manager.handle(events.FromInstance(1, 71, data(1, 3)))
    ]
    (failed,) = [
        each.message
        for each in out
        if isinstance(each, events.ToMaster) and isinstance(each.message, messages.CheckpointFailed)
    ]
    assert (failed.task, failed.checkpoint) == (3, 7)
    assert manager.core.statistics()["waiting_tuples"][3] == 8
    assert manager.core.statistics()["waiting_bytes"][3] > 200


def test_nothing_of_before_passes_once_the_topology_is_restored(manager: Manager) -> None:
    manager.handle(events.FromInstance(1, 71, encode_barrier(1, 1, 0, 7)))
    manager.handle(events.FromInstance(1, 71, data(1, 3)))
    exactly(manager, 2, None)
    old = [data(1, 3), encode_barrier(1, 1, 0, 8)]
    out = manager.handle(*(events.FromInstance(1, 71, each) for each in old))
    assert not delivered(out)
    assert manager.core.statistics()["fenced"] == 2
    out = manager.handle(events.FromInstance(1, 71, data(2, 3)))
    assert [header_of(each).epoch for each in delivered(out)] == [2]


def test_what_waits_for_an_instance_is_dropped_at_once_when_the_topology_is_restored(
    manager: Manager,
) -> None:
    # Otherwise the instance gets the data in many small messages, and ignores each (seed 70280).
    old = [data(1, 3)] * 20
    handed = len(delivered(manager.handle(*(events.FromInstance(1, 71, each) for each in old))))
    assert 0 < handed < len(old)
    exactly(manager, 2, None)
    statistics = manager.core.statistics()
    assert (statistics["waiting_tuples"][3], statistics["fenced"]) == (handed, len(old) - handed)
    assert statistics["causes"] == []
    assert not delivered(manager.handle(events.FromInstance(1, 71, data(2, 3))))
    processed = events.FromInstance(3, 73, encode_consumed(2, 3, handed, 0.0))
    (fresh,) = delivered(manager.handle(processed))
    assert header_of(fresh).epoch == 2


def test_a_successor_passes_nothing_on_before_it_has_a_plan() -> None:
    # Messages of its predecessor are lost: a barrier behind the loss would complete a checkpoint of
    # inconsistent states (seeds 401132 and 400322 of the simulation).
    successor = without_plan()
    early = [data(1, 3), encode_barrier(1, 1, 0, 7)]
    assert not delivered(successor.handle(*(events.FromInstance(1, 71, each) for each in early)))
    exactly(successor, 2, None)
    assert not delivered(successor.handle(events.FromInstance(1, 71, data(1, 3))))
    out = successor.handle(events.FromInstance(1, 71, data(2, 3)))
    assert [header_of(each).epoch for each in delivered(out)] == [2]


def test_triggers_go_to_those_whom_no_barrier_reaches(manager: Manager) -> None:
    out = manager.handle(events.FromMaster(messages.TriggerCheckpoint(7, 1)))
    orders = [each for each in out if isinstance(each, events.ToLocalControl)]
    assert [(each.task, each.message) for each in orders] == [(1, messages.TriggerCheckpoint(7, 1))]
    out = manager.handle(events.FromMaster(messages.CheckpointCompleted(7, 1)))
    assert {each.task for each in out if isinstance(each, events.ToLocalControl)} == {1, 3}


@pytest.mark.parametrize(
    "restored", [messages.Restored(3, 73, 1), messages.RestoreFailed(3, 1, "it is lost")]
)
def test_a_new_master_is_told_again_who_has_its_state(
    manager: Manager, restored: messages.Restored | messages.RestoreFailed
) -> None:
    manager.handle(events.FromInstanceControl(3, 73, restored))
    out = manager.handle(events.MasterConnected())
    assert events.ToMaster(restored) in out
    # A replaced process is silent.
    manager.handle(
        events.FromInstanceControl(
            3, 99, messages.RegisterInstance(task=3, incarnation=99, pid=6, predecessor="died")
        )
    )
    assert events.ToMaster(restored) not in manager.handle(events.MasterConnected())


def test_a_plan_of_another_reliability_mode_is_refused(manager: Manager) -> None:
    manager.handle(events.FromMaster(physical(PACKED, 2)))
    assert manager.core.epoch == 1
    assert manager.core.statistics()["malformed"] == 1


def overtaking(timeout_secs: float | None) -> Manager:
    """A stream manager that hands over little, so that most input waits."""
    made = without_plan(window_bytes=1, aligned_timeout_secs=timeout_secs)
    exactly(made, 1, None)
    return made


def aligned_behind_data(manager: Manager, *aligned: int) -> list[events.Instruction]:
    """Three batches for task 3, one handed over, and barriers of all its sources."""
    sent = [data(1, 3), data(1, 3), data(1, 3), encode_barrier(1, 1, 0, 7, aligned)]
    for each in sent:
        manager.handle(events.FromInstance(1, 71, each), events.InputTaken())
    return manager.peer(encode_barrier(1, 2, 1, 7, aligned))


def told(out: list[events.Instruction]) -> list[messages.OvertakeInput]:
    return [
        each.message
        for each in out
        if isinstance(each, events.ToLocalControl)
        and isinstance(each.message, messages.OvertakeInput)
    ]


def test_a_barrier_that_has_waited_too_long_is_handed_over_with_all_in_front_of_it() -> None:
    manager = overtaking(1.0)
    assert told(aligned_behind_data(manager)) == []
    manager.now += 0.9
    assert told(manager.handle(events.StreamManagerTimer())) == []
    manager.now += 0.2
    out = manager.handle(events.StreamManagerTimer())
    assert [header_of(each).kind for each in delivered(out)] == [
        FrameKind.DATA,
        FrameKind.DATA,
        FrameKind.BARRIER,
    ]
    assert told(out) == [messages.OvertakeInput(7, 1)]
    queue = manager.core.state.queues[3]
    assert not queue.waiting
    assert queue.queued_bytes > 0, "it counts for back-pressure as if it waited"
    assert told(manager.handle(events.StreamManagerTimer())) == [], "it is told once"
    manager.handle(events.FromInstance(3, 73, encode_consumed(1, 3, 4, 0.0)))
    assert (queue.queued_bytes, queue.queued_tuples, queue.handed_bytes) == (0, 0, 0)


def test_a_barrier_that_the_instance_is_done_with_overtakes_nothing() -> None:
    manager = overtaking(1.0)
    aligned_behind_data(manager)
    for _ in range(4):
        consumed = encode_consumed(1, 3, 1, 0.0)
        manager.handle(events.FromInstance(3, 73, consumed), events.InputTaken())
    manager.now += 2.0
    assert told(manager.handle(events.StreamManagerTimer())) == []


def test_a_timeout_of_nothing_overtakes_at_once_and_none_never() -> None:
    assert told(aligned_behind_data(overtaking(0.0))) == [messages.OvertakeInput(7, 1)]
    never = overtaking(None)
    aligned_behind_data(never)
    never.now += 1000.0
    assert told(never.handle(events.StreamManagerTimer())) == []


def test_input_that_cannot_be_divided_is_not_overtaken() -> None:
    """Declared by the barrier itself, from any source."""
    manager = overtaking(0.0)
    assert told(aligned_behind_data(manager, 3)) == []
    assert told(aligned_behind_data(overtaking(0.0), 4)) == [messages.OvertakeInput(7, 1)]


def test_a_topology_that_is_restored_forgets_the_barriers_that_wait() -> None:
    manager = overtaking(1.0)
    aligned_behind_data(manager)
    exactly(manager, 2, None)
    manager.now += 2.0
    assert told(manager.handle(events.StreamManagerTimer())) == []


def test_each_arrow_of_the_drawing_is_taken() -> None:
    with transitions_seen() as seen:
        test_a_later_barrier_aborts_one_that_its_source_never_sent()
    assert seen == arrows(TRANSITIONS)
