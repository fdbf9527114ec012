"""Effectively once, an instance's part: states at barriers, restores, discarded parts."""

from typing import Any, ClassVar

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_to_json
from heron_core.state.snapshot import Snapshot, encode
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames
from heron_core.wire.packets import checkpoint_of, encode_barrier
from heron_instance.events import (
    ControlReceived,
)
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.checkpointed_support import INCARNATION, ME, Process
from tests.unit.heron_instance.instance_support import batch, packing

EMPTY = encode(Snapshot("memory", (), ()))
"""An empty state."""


class Stateful(StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state


class Numbers(Spout, Stateful):
    def initialize(self, config: Any, context: Any) -> None:
        self.at = self.state.get("at") or 0
        self.acked: list[int] = []
        self.failed: list[int] = []
        self.closed = False

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("at", self.at)

    def next_tuple(self) -> None:
        if self.at % 10 == 3:
            self.finish()
            return
        self.at += 1
        self.emit([self.at, "x"], tup_id=self.at)

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.failed.append(tup_id)

    def close(self) -> None:
        self.closed = True


class Queue(Spout):
    """Keeps no state: failed tuples are emitted again."""

    def initialize(self, config: Any, context: Any) -> None:
        self.left = [1, 2, 3]

    def next_tuple(self) -> None:
        if self.left:
            number = self.left.pop(0)
            self.emit([number, "x"], tup_id=number)

    def fail(self, tup_id: Any) -> None:
        self.left.append(tup_id)


class Count(Bolt, Stateful):
    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        self.seen.append(tup.values[0])
        self.state.put(tup.values[0], (self.state.get(tup.values[0]) or 0) + 1)
        self.emit([tup.values[0], "y"])


def test_a_spout_saves_its_state_and_sends_a_barrier_behind_its_data() -> None:
    spout = Process(Numbers)
    assert spout.plan(1) == [messages.Restored(ME, INCARNATION, 1)]
    spout.turn()
    assert spout.component.at == 0  # not before all have their state
    spout.plan(1, member=INCARNATION)
    spout.turn()
    spout.trigger(7)
    kinds = [kind for kind, _ in spout.take_sent()]
    assert kinds[-1] == FrameKind.BARRIER
    assert kinds.count(FrameKind.BARRIER) == 1
    spout.trigger(7)  # said again
    assert spout.take_sent() == []
    assert list(spout.states) == [7]


def test_a_spouts_ids_are_acked_by_a_checkpoint_and_failed_by_a_restore() -> None:
    spout = Process(Numbers)
    spout.begin(1)
    spout.turn()
    spout.trigger(7)
    spout.component.at = 20
    spout.core.driver.finished = False  # type: ignore[attr-defined]
    spout.turn()
    first = spout.component
    assert (first.acked, first.failed) == ([], [])
    spout.hear(messages.CheckpointCompleted(7, 1))
    spout.hear(messages.CheckpointCompleted(7, 1))  # said again
    assert first.acked == [1, 2, 3]
    spout.begin(2, 7)
    assert (first.acked, first.failed) == ([1, 2, 3], [21, 22, 23])
    assert first.closed
    assert spout.component is not first
    assert spout.component.at == 3
    assert spout.core.driver.counts()[0] == 0


def test_what_a_spout_keeps_of_its_ids_is_what_came_since_the_last_checkpoint() -> None:
    """At a constant rate a constant number, for any duration of the spout."""
    spout = Process(Numbers)
    spout.begin(1)

    def emit_three(first: int) -> None:
        spout.component.at = first
        spout.core.driver.finished = False  # type: ignore[attr-defined]
        spout.turn()

    for checkpoint in range(1, 30):
        emit_three(20 * checkpoint)
        spout.trigger(checkpoint)
        emit_three(20 * checkpoint + 10)
        spout.hear(messages.CheckpointCompleted(checkpoint, 1))
        assert 6 * checkpoint - len(spout.component.acked) == 3
    first = spout.component
    spout.begin(2, 29)
    assert first.failed == [591, 592, 593]


def test_ids_of_a_checkpoint_that_nobody_told_us_of_are_acked_when_it_is_restored() -> None:
    spout = Process(Numbers)
    spout.begin(1)
    spout.turn()
    spout.trigger(7)
    first = spout.component
    spout.begin(2, 7)
    assert (first.acked, first.failed) == ([1, 2, 3], [])


def test_a_spout_without_state_is_told_what_failed_and_goes_on() -> None:
    spout = Process(Queue)
    spout.begin(1)
    for _ in range(2):
        spout.turn()
    first = spout.component
    spout.begin(2)
    assert spout.component is first
    assert first.left == [1, 2, 3]


def told_of_lost_tuples(process: Process) -> int:
    """How often the user reads that a spout without state loses or repeats tuples."""
    return sum("this spout keeps no state" in line for line in process.lines)


@pytest.mark.parametrize("waits", [False, True])
def test_a_spout_without_state_says_once_what_a_failure_costs(waits: bool) -> None:
    """A process started with the topology is ready at once, a later one waits for a state."""
    spout = Process(Queue, {7: saved_position(3)}, waits=waits)
    spout.begin(1, 7 if waits else 0)
    assert told_of_lost_tuples(spout) == 1


@pytest.mark.parametrize(("kind", "waits"), [(Numbers, False), (Numbers, True), (Count, False)])
def test_a_spout_with_state_and_a_bolt_say_nothing_of_it(kind: type, waits: bool) -> None:
    process = Process(kind, {7: saved_position(3)}, waits=waits)
    process.begin(1, 7 if waits else 0)
    assert told_of_lost_tuples(process) == 0


def barrier(checkpoint: int, epoch: int = 1) -> Frames:
    return encode_barrier(epoch, 0, ME, checkpoint)


def words(epoch: int, *values: str) -> Frames:
    return batch(*([each, "x"] for each in values), epoch=epoch)


def test_a_bolt_saves_between_two_tuples_and_passes_the_barrier_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(words(1, "a", "b"), barrier(5), words(1, "a"))
    assert [kind for kind, _ in bolt.take_sent()] == [FrameKind.DATA] * 2 + [
        FrameKind.BARRIER,
        FrameKind.DATA,
    ]
    bolt.begin(2, 5)
    assert (bolt.component.state.get("a"), bolt.component.state.get("b")) == (1, 1)


def test_a_barrier_carries_its_number_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(barrier(5))
    (sent,) = [each for each in bolt.sent if each[0][2] == FrameKind.BARRIER]
    assert checkpoint_of(sent) == 5


def test_data_and_barriers_of_before_are_void() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.begin(2)
    bolt.receive(words(1, "a"), barrier(5, epoch=1))
    assert bolt.component.seen == []
    assert bolt.states == {}
    bolt.receive(words(2, "b"))
    assert bolt.component.seen == ["b"]
    assert bolt.core.driver.counts()[1] == 1


def test_a_process_that_comes_later_says_so_and_does_nothing() -> None:
    bolt = Process(Count)
    assert bolt.plan(4, 2, member=99) == [messages.Restored(ME, INCARNATION, 0)]
    assert not bolt.shared.may_send
    bolt.states[2] = EMPTY
    assert bolt.begin(5, 2) == [messages.Restored(ME, INCARNATION, 5)]
    assert bolt.shared.may_send


def test_a_process_that_was_not_among_the_members_stays_held() -> None:
    bolt = Process(Count)
    bolt.plan(1)
    bolt.plan(1, member=99)
    assert not bolt.shared.may_send


def test_a_state_that_cannot_be_read_is_reported_and_nothing_goes_on() -> None:
    bolt = Process(Count)
    assert bolt.plan(4, 2) == [messages.RestoreFailed(ME, 4, "no state of 2", "away")]
    bolt.states[2] = EMPTY
    assert bolt.plan(5, 2) == [messages.Restored(ME, INCARNATION, 5)]


def test_a_state_that_cannot_be_saved_names_its_key_and_the_barrier_goes_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.component.state.put("socket", (each for each in "ab"))
    (failed,) = bolt.receive(barrier(5))
    assert (failed.task, failed.checkpoint) == (ME, 5)
    assert "socket" in failed.reason
    assert [kind for kind, _ in bolt.take_sent()] == [FrameKind.BARRIER]
    assert bolt.states == {}


def test_a_survivor_needs_no_store() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(words(1, "a"), barrier(5))
    bolt.states.clear()
    assert bolt.begin(2, 5) == [messages.Restored(ME, INCARNATION, 2)]
    assert bolt.component.state.get("a") == 1


def test_what_is_sent_between_a_new_plan_and_the_restore_carries_the_epoch_before() -> None:
    spout = Process(Numbers)
    spout.begin(1)
    spout.shared.paused = True
    spout.shared.update()
    plan = PhysicalPlan("t", 2, TopologyState.RUNNING, packing(), {1: "a", 2: "b"}, Restore(0))
    spout.handle(ControlReceived(messages.Plan(physical_to_json(plan))))
    # The main thread stands in the middle of a call, at a send that back-pressure held.
    assert spout.shared.may_send
    spout.component.emit([1, "x"])
    spout.core.driver.flush()
    assert spout.take_sent() == [(FrameKind.DATA, 1)]
    spout.turn()
    assert not spout.shared.may_send


@pytest.mark.parametrize("kind", [Numbers, Count])
def test_numbers_go_on_over_a_restore(kind: type) -> None:
    process = Process(kind)
    process.begin(1)
    if kind is Numbers:
        process.turn()
    else:
        process.receive(words(1, "a", "b", "c"))
    before = process.core.driver.statistics()
    process.begin(2)
    after = process.core.driver.statistics()
    assert after.emitted_by_stream == before.emitted_by_stream == {"default": 3}
    assert after.executed == before.executed
    assert process.core.driver.counts()[:2] == (0, 0)


class Once(Numbers):
    """Notes its calls, and cannot begin without such a state."""

    calls: ClassVar[list[str]] = []

    def __init__(self, delegate: Any = None) -> None:
        super().__init__(delegate)
        self.calls.append("made")

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.calls.append(f"initialize at {self.at}")
        if self.at < 0:
            raise RuntimeError("it cannot begin")


def saved_position(at: int) -> bytes:
    process = Process(Numbers)
    process.begin(1)
    process.component.at = at
    process.trigger(7)
    return process.states[7]


def test_a_new_process_is_initialised_once_when_its_state_is_there() -> None:
    Once.calls.clear()
    spout = Process(Once, {7: saved_position(13)}, waits=True)
    spout.turn()
    assert Once.calls == []
    assert spout.plan(1, 7, member=INCARNATION + 1) == [messages.Restored(ME, INCARNATION, 0)]
    assert (
        Once.calls == []
    )  # the others run: it is not known yet from which checkpoint all are restored
    assert spout.plan(2, 8) == [messages.RestoreFailed(ME, 2, "no state of 8")]
    assert spout.core.is_waiting
    assert spout.begin(3, 7) == [messages.Restored(ME, INCARNATION, 3)]
    assert Once.calls == ["made", "initialize at 13"]
    assert not spout.core.is_waiting
    spout.begin(4, 7)
    assert Once.calls == ["made", "initialize at 13"] * 2


def test_a_class_that_cannot_begin_is_no_state_that_cannot_be_restored() -> None:
    spout = Process(Once, {7: saved_position(-7)}, waits=True)
    with pytest.raises(RuntimeError, match="it cannot begin"):
        spout.plan(1, 7)
    assert spout.core.is_waiting  # its server tells the master why it ends


def test_a_task_that_is_new_in_a_savepoint_begins_without_state() -> None:
    spout = Process(Once, {7: b""}, waits=True)
    assert spout.begin(1, 7) == [messages.Restored(ME, INCARNATION, 1)]
    assert spout.component.at == 0
