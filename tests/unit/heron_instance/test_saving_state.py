"""Effectively once, an instance's part: states at barriers, going back, what of it is void."""

import logging
from random import Random
from typing import Any, ClassVar

import pytest
from instance_support import SHUFFLE, SOURCE, batch, packing, reads
from instance_support import topology_of as topology_with

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_to_json
from heron_core.state.file_snapshot import as_bytes
from heron_core.state.snapshot import Snapshot, encode
from heron_core.topology import StreamSpec
from heron_core.wire import messages
from heron_core.wire.frames import Frames, Kind, parse_header
from heron_core.wire.merged import merge
from heron_core.wire.packets import checkpoint_of, encode_barrier
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    ControlReceived,
    Event,
    InputEmpty,
    Instruction,
    Received,
    SaveState,
    SendControl,
    Turn,
)
from heron_instance.runtime.environment import Environment
from heron_instance.shared_state import SharedState
from heronpy_compat import Bolt, Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent

ME, INCARNATION = SOURCE, 77
EMPTY = encode(Snapshot("memory", (), ()))
"""A state without anything in it."""


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
    """Keeps no state: what fails is emitted again."""

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


class Process:
    """An instance's core in a topology that takes checkpoints."""

    def __init__(
        self, kind: type, states: dict[int, bytes] | None = None, waits: bool = False
    ) -> None:
        self.now = 100.0
        self.sent: list[Frames] = []
        self.states = states or {}
        self.shared = SharedState()
        topology = topology_with(
            kind,
            (StreamSpec("default", ("a", "b")),),
            [reads(SHUFFLE)],
            {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE},
        )
        environment = Environment(
            lambda: self.now,
            Random(1),
            self.sent.extend,
            self._admit,
            logging.Logger("tested"),
            may_send=lambda: self.shared.may_send,
            load_state=self._load,
            waits_for_state=waits,
        )
        who = Identity(ME, INCARNATION, 5)
        self.core = InstanceCore(topology, packing(), who, environment, self.shared)

    @property
    def component(self) -> Any:
        return self.core.instance.adapter.users_object

    def _admit(self) -> None:
        assert self.shared.may_send, "production would wait here"

    def _load(self, checkpoint: int, task: int) -> bytes:
        assert task == ME
        if checkpoint not in self.states:
            raise HeronError(f"no state of {checkpoint}")
        return self.states[checkpoint]

    def handle(self, event: Event) -> list[Instruction]:
        out = list(self.core.handle(event, self.now))
        self.core.validate()
        for each in out:
            if isinstance(each, SaveState):
                self.states[each.checkpoint] = as_bytes(each.state)
        return out

    def hear(self, message: Any) -> list[Any]:
        """A control message comes, and the main thread does what it asks for; what is said."""
        self.handle(ControlReceived(message))
        return [each.message for each in self.handle(Turn()) if isinstance(each, SendControl)]

    def plan(self, epoch: int, checkpoint: int = 0, member: int | None = None) -> list[Any]:
        members = None if member is None else dict.fromkeys(packing().instances, member)
        plan = PhysicalPlan(
            "t", epoch, TopologyState.RUNNING, packing(), {1: "a", 2: "b"},
            Restore(checkpoint, members),
        )  # fmt: skip
        return self.hear(messages.Plan(physical_to_json(plan)))

    def begin(self, epoch: int, checkpoint: int = 0) -> list[Any]:
        """Go back to a checkpoint, and then all may go on."""
        said = self.plan(epoch, checkpoint)
        self.plan(epoch, checkpoint, INCARNATION)
        return said

    def trigger(self, checkpoint: int, epoch: int = 1) -> list[Any]:
        return self.hear(messages.TriggerCheckpoint(checkpoint, epoch))

    def receive(self, *frames: Frames) -> list[Any]:
        out = self.handle(Received(merge(frames)))
        out += self.handle(InputEmpty())
        return [each.message for each in out if isinstance(each, SendControl)]

    def turn(self) -> None:
        self.handle(Turn())
        self.handle(InputEmpty())

    def take_sent(self) -> list[tuple[Kind, int]]:
        """(kind, epoch) of each message sent since the last time, reports left out."""
        heads = [parse_header(each[0]) for each in self.sent]
        self.sent.clear()
        return [(Kind(x.kind), x.epoch) for x in heads if x.kind != Kind.CONSUMED]


def test_a_spout_saves_its_state_and_sends_a_barrier_behind_its_data() -> None:
    spout = Process(Numbers)
    assert spout.plan(1) == [messages.Restored(ME, INCARNATION, 1)]
    spout.turn()
    assert spout.component.at == 0  # not before all have their state
    spout.plan(1, member=INCARNATION)
    spout.turn()
    spout.trigger(7)
    kinds = [kind for kind, _ in spout.take_sent()]
    assert kinds[-1] == Kind.BARRIER
    assert kinds.count(Kind.BARRIER) == 1
    spout.trigger(7)  # said again
    assert spout.take_sent() == []
    assert list(spout.states) == [7]


def test_a_spouts_ids_are_acked_by_a_checkpoint_and_failed_by_going_back() -> None:
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
    """At a constant rate it is as many each time, however long the spout runs."""
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


def test_ids_of_a_checkpoint_that_nobody_told_us_of_are_acked_when_going_back_to_it() -> None:
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


def barrier(checkpoint: int, epoch: int = 1) -> Frames:
    return encode_barrier(epoch, 0, ME, checkpoint)


def words(epoch: int, *values: str) -> Frames:
    return batch(*([each, "x"] for each in values), epoch=epoch)


def test_a_bolt_saves_between_two_tuples_and_passes_the_barrier_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(words(1, "a", "b"), barrier(5), words(1, "a"))
    assert [kind for kind, _ in bolt.take_sent()] == [Kind.DATA] * 2 + [Kind.BARRIER, Kind.DATA]
    bolt.begin(2, 5)
    assert (bolt.component.state.get("a"), bolt.component.state.get("b")) == (1, 1)


def test_a_barrier_carries_its_number_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(barrier(5))
    (sent,) = [each for each in bolt.sent if each[0][2] == Kind.BARRIER]
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
    assert bolt.plan(4, 2) == [messages.RestoreFailed(ME, 4, "no state of 2")]
    bolt.states[2] = EMPTY
    assert bolt.plan(5, 2) == [messages.Restored(ME, INCARNATION, 5)]


def test_a_state_that_cannot_be_saved_names_its_key_and_the_barrier_goes_on() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.component.state.put("socket", (each for each in "ab"))
    (failed,) = bolt.receive(barrier(5))
    assert (failed.task, failed.checkpoint) == (ME, 5)
    assert "socket" in failed.reason
    assert [kind for kind, _ in bolt.take_sent()] == [Kind.BARRIER]
    assert bolt.states == {}


def test_a_survivor_needs_no_store() -> None:
    bolt = Process(Count)
    bolt.begin(1)
    bolt.receive(words(1, "a"), barrier(5))
    bolt.states.clear()
    assert bolt.begin(2, 5) == [messages.Restored(ME, INCARNATION, 2)]
    assert bolt.component.state.get("a") == 1


def test_what_is_sent_between_a_new_plan_and_going_back_carries_the_epoch_before() -> None:
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
    assert spout.take_sent() == [(Kind.DATA, 1)]
    spout.turn()
    assert not spout.shared.may_send


@pytest.mark.parametrize("kind", [Numbers, Count])
def test_numbers_go_on_over_going_back(kind: type) -> None:
    process = Process(kind)
    process.begin(1)
    if kind is Numbers:
        process.turn()
    else:
        process.receive(words(1, "a", "b", "c"))
    before = process.core.driver.statistics()
    process.begin(2)
    after = process.core.driver.statistics()
    assert after["emitted"] == before["emitted"] == {"default": 3}
    assert after["executed"] == before["executed"]
    assert process.core.driver.counts()[:2] == (0, 0)


class Once(Numbers):
    """Notes its calls, and cannot begin without a state that says so."""

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
    assert Once.calls == []  # the others run: it is not known yet to which checkpoint all go back
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
