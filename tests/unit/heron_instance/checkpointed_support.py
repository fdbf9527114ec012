"""An instance's core in a topology with checkpoints, without threads, sockets and clocks."""

import logging
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.dead_letters import ERRORS
from heron_core.dead_letters import STREAM as LETTERS
from heron_core.errors import HeronError
from heron_core.plans import PhysicalPlan, Restore, TopologyState, physical_to_json
from heron_core.state.file_snapshot import as_bytes
from heron_core.topology import StreamSpec
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, parse_header
from heron_core.wire.merged import merge
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    ControlReceived,
    Event,
    InputEmpty,
    InstanceReceived,
    Instruction,
    Receive,
    SaveState,
    SendControl,
    Turn,
)
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heronpy_compat import Bolt
from tests.unit.heron_instance.instance_support import SHUFFLE, SOURCE, Collecting, packing, reads
from tests.unit.heron_instance.instance_support import topology_of as topology_with

ME, INCARNATION = SOURCE, 77


class Counting(Bolt, StatefulComponent):
    """Counts its values in its state."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Any) -> None:
        (value,) = tup.values
        self.seen.append(value)
        self.state.put(value, (self.state.get(value) or 0) + 1)


def plan_of(
    epoch: int,
    checkpoint: int = 0,
    member: int | None = None,
    state: str = TopologyState.RUNNING,
) -> messages.Plan:
    """A plan that restores from a checkpoint; with `member` all instances have their state."""
    members = None if member is None else dict.fromkeys(packing().instances, member)
    plan = PhysicalPlan(
        "t", epoch, state, packing(), {1: "a", 2: "b"}, Restore(checkpoint, members)
    )  # fmt: skip
    return messages.Plan(physical_to_json(plan))


class Process:
    """An instance's core in a topology that takes checkpoints."""

    def __init__(
        self,
        kind: type,
        states: dict[int, bytes] | None = None,
        waits: bool = False,
        config: Mapping[str, Any] | None = None,
        letters: bool = False,
        declares: bool = True,
    ) -> None:
        """`letters`: its stream `errors` has readers; `declares`: with outputs."""
        self.now = 100.0
        self.sent: list[Frames] = []
        self.states = states or {}
        self.shared = SharedState()
        self.lines: list[str] = []
        self.admitted: Callable[[], None] | None = None
        """Ends a wait of the main thread, in place of the control thread."""
        log = logging.Logger("tested")
        log.addHandler(Collecting(self.lines))
        topology = topology_with(
            kind,
            (StreamSpec("default", ("a", "b")), *([LETTERS] if letters else []))
            if declares
            else (),
            [reads(SHUFFLE), *([reads(SHUFFLE, ERRORS)] if letters else [])] if declares else [],
            {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE, **(config or {})},
        )
        environment = InstanceEnvironment(
            lambda: self.now,
            Random(1),
            self.sent.extend,
            self._admit,
            log,
            self.shared.call,
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
        if self.admitted is not None and not self.shared.may_send:
            self.admitted()
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
        """A control message comes, and the main thread acts; returns the answers."""
        self.handle(ControlReceived(message))
        return [each.message for each in self.handle(Turn()) if isinstance(each, SendControl)]

    def plan(
        self,
        epoch: int,
        checkpoint: int = 0,
        member: int | None = None,
        state: str = TopologyState.RUNNING,
    ) -> list[Any]:
        return self.hear(plan_of(epoch, checkpoint, member, state))

    def begin(self, epoch: int, checkpoint: int = 0) -> list[Any]:
        """Go back to a checkpoint, and then all may go on."""
        said = self.plan(epoch, checkpoint)
        self.plan(epoch, checkpoint, INCARNATION)
        return said

    def trigger(self, checkpoint: int, epoch: int = 1) -> list[Any]:
        return self.hear(messages.TriggerCheckpoint(checkpoint, epoch))

    def receive(self, *frames: Frames) -> list[Any]:
        out = self.handle(InstanceReceived(merge(frames)))
        while isinstance(out[-1], Receive):
            out += self.handle(InputEmpty())
        return [each.message for each in out if isinstance(each, SendControl)]

    def turn(self) -> None:
        self.handle(Turn())
        self.handle(InputEmpty())

    def take_sent(self) -> list[tuple[FrameKind, int]]:
        """(kind, epoch) of each message sent since the last time, reports left out."""
        heads = [parse_header(each[0]) for each in self.sent]
        self.sent.clear()
        return [(FrameKind(x.kind), x.epoch) for x in heads if x.kind != FrameKind.CONSUMED]
