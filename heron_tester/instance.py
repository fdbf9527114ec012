"""One tested instance: the real core of its task, watched, in virtual time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Protocol

from heron_api.run_store import MemoryRunStore
from heron_core import config as keys
from heron_core.component import EngineBolt, EngineSpout
from heron_core.plans import PackingPlan
from heron_core.state.file_snapshot import as_bytes
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.messages import (
    CheckpointCompleted,
    FinishBolts,
    FromInstance,
    Plan,
    TriggerCheckpoint,
)
from heron_core.wire.packets import decode_roots
from heron_frontends.adapters.construct import construct
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    ControlReceived,
    Event,
    InstanceLog,
    InstanceReceived,
    SaveState,
    SendControl,
    Turn,
)
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.tick_schedule import NEVER
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_tester.checkpoints import Fed, WatchedIds
from heron_tester.clock import PatchedTime, VirtualClock
from heron_tester.faults import Faults
from heron_tester.recording import MULTILANG, Call, SharedLines, Watch, own_logger
from heron_tester.records import Journal

POLL_SECS = 1.0
"""Longest wait for an end of any coroutine: each coroutine has a limit of its own."""
CONSUMED_BYTES = 1
"""Every message is reported at once: a waiting message is one that a bolt has not taken."""


@dataclass(frozen=True, slots=True)
class SharedContext:
    """State shared by all instances of one tester."""

    topology: TopologySpec
    packing: PackingPlan
    clock: VirtualClock
    patched: PatchedTime
    journal: Journal
    faults: Faults
    run_store: MemoryRunStore = field(default_factory=MemoryRunStore)
    """Records outlive crashed instances."""


class ClusterCallbacks(Protocol):
    """Where an instance's messages and calls go."""

    def sent(self, instance: "TesterInstance", messages: list[Frames]) -> None:
        """A message for the stream manager."""

    def reported(self, instance: "TesterInstance", message: FromInstance) -> None:
        """A control message for the master."""

    def save(self, instance: "TesterInstance", checkpoint: int, state: bytes) -> None:
        """Its state of a checkpoint, for the checkpoint store."""

    def load(self, checkpoint: int, task: int) -> bytes:
        """That state again."""

    def call_soon(self, instance: "TesterInstance", function: Callable[[], None]) -> None:
        """A call for the main thread; from any thread."""

    def call_later(
        self, instance: "TesterInstance", secs: float, function: Callable[[], None]
    ) -> None:
        """A call for the main thread when so much virtual time has passed."""


class TesterInstance:
    """One life of a task: a replacement follows a dead instance.

    Exceptions of the user's class or its `initialize` pass through.
    """

    def __init__(
        self,
        shared: SharedContext,
        callbacks: ClusterCallbacks,
        task: int,
        incarnation: int,
        rng: Random,
        first_state: bytes | None = None,
    ) -> None:
        """`first_state`: initial state, in a replay."""
        self.shared = shared
        self.task = task
        self.incarnation = incarnation
        self.name = shared.packing.instances[task].component
        spec = shared.topology.by_name[self.name]
        self.is_spout = spec.is_spout
        self.is_dead = False
        self.is_real = False
        """Whether the instance and its timers run in real time."""
        self.watch = Watch(
            self.name, task, self.is_spout, shared.clock, shared.journal, shared.faults, spec
        )
        self._callbacks = callbacks
        self.takes_checkpoints = keys.takes_checkpoints(keys.with_defaults(shared.topology.config))
        self._fed: dict[int, Call] = {}
        """root -> callback for the outcome, for tuples emitted by the test"""
        debug = keys.flag(keys.with_defaults(shared.topology.config), keys.DEBUG)
        environment = InstanceEnvironment(
            shared.clock,
            rng,
            partial(callbacks.sent, self),
            _admit,
            own_logger(self.name, self.watch, debug),
            call_soon=partial(callbacks.call_soon, self),
            call_later=partial(callbacks.call_later, self),
            construct=self._construct,
            wrap=self.watch.around,
            load_state=callbacks.load if self.takes_checkpoints else None,
            fails_at_once=True,
            run_store=shared.run_store,
            first_state=first_state,
        )
        self.core = self._made_core(environment)
        self._attach()
        self._shared_log = SharedLines(self.watch, getattr(self.users_object, "logger", None))

    def _attach(self) -> None:
        """Watch the core's component, which the core recreates at a restore from a checkpoint."""
        self.component: Any = self.core.instance.adapter
        self.context = self.core.instance.context
        self.driver: Any = self.core.driver
        self.driver.report = self.watch.reported
        if self.is_spout:
            self._note_done_at_once()
            if self.component.coroutines is not None:
                self.component.coroutines.is_patient = True

    def _made_core(self, environment: InstanceEnvironment) -> InstanceCore:
        shared = self.shared
        identity = Identity(self.task, self.incarnation, 0)
        try:
            return InstanceCore(
                shared.topology,
                shared.packing,
                identity,
                environment,
                SharedState(),
                CONSUMED_BYTES,
            )
        except Exception as error:
            error.add_note(f"raised at the start of {self.name}[{self.task}]")
            raise

    def _construct(self, spec: ComponentSpec, bindings: Any) -> EngineSpout | EngineBolt:
        component = construct(spec, bindings)
        driven, user = component.driven_object, component.users_object
        for each in (driven, user):
            self.shared.patched.cover_class(type(each))
        self.is_real = any(each.__module__.startswith(MULTILANG) for each in type(driven).__mro__)
        if self.is_real:
            driven.initialize = self._in_real_time(driven.initialize)
        self.watch.put_around(driven, user)
        return component

    def _note_done_at_once(self) -> None:
        """Note the outcomes of tuples that `initialize` emitted before the core existed."""
        done = self.driver.collector.done_at_once
        if self.takes_checkpoints:
            self.driver.emitted_ids = WatchedIds(self.watch.outcome, self._fed_settled)
            return
        self.watch.done_at_once = done
        for tup_id in done:
            self.watch.outcome(tup_id, True)

    def _in_real_time(self, call: Call) -> Call:
        def really(*arguments: Any) -> Any:
            with self.shared.patched.suspended():
                return call(*arguments)

        return really

    # --- work ---------------------------------------------------------------------------------

    def order(self, message: Plan | FinishBolts | TriggerCheckpoint | CheckpointCompleted) -> None:
        """A control message, carried out at once; what makes the process end is raised."""
        self._handle(ControlReceived(message))
        self._handle(Turn())
        self._finish_coroutines()
        if self.core.driver is not self.driver:
            self._attach()

    def deliver(self, frames: Frames) -> None:
        """Process one message and report it; an error that ends the process is raised."""
        if self.is_spout:
            self._note_outcomes(frames)
        self._handle(InstanceReceived(frames))
        self._finish_coroutines()
        self.core.report_consumed()

    def _finish_coroutines(self) -> None:
        """Run a bolt's coroutines to their end, in real time: each message is processed then."""
        coroutines = None if self.is_spout else self.component.coroutines
        if coroutines is None or not self.component.is_async:
            return
        with self.shared.patched.suspended():
            while not self.driver.component_is_idle:
                coroutines.wait(POLL_SECS, {})
                self._handle(Turn())

    def _handle(self, event: Event) -> None:
        """The main loop's steps and the control messages for the master are the tester's own."""
        for instruction in self.core.handle(event, self.shared.clock()):
            match instruction:
                case InstanceLog(text):
                    self.watch.error_line("a message", text)
                case SaveState(checkpoint, state):
                    self._callbacks.save(self, checkpoint, as_bytes(state))
                case SendControl(message):
                    self._callbacks.reported(self, message)

    def _note_outcomes(self, frames: Frames) -> None:
        """What becomes of roots: the test's own are no business of the spout."""
        head = header_of(frames)
        acked = head.kind == FrameKind.ACKED
        pending = self.driver.collector.pending
        for root in decode_roots(head, frames):
            if root not in pending:
                continue
            self.watch.outcome(pending[root], acked)
            if root in self._fed:
                del pending[root]
                self.driver.collector.started.pop(root, None)
                self._fed.pop(root)(acked)

    def feed(
        self,
        values: Sequence[Any],
        tup_id: Any,
        stream: str,
        direct_task: int | None,
        outcome: Call,
    ) -> None:
        """Emit as user code would; `outcome` is called with True or False once it is known."""
        if self.is_spout:
            self._feed_spout(values, tup_id, stream, direct_task, outcome)
        else:
            self.watch.emit(values, stream, None, direct_task)
        self.driver.flush()

    def _feed_spout(
        self,
        values: Sequence[Any],
        tup_id: Any,
        stream: str,
        direct_task: int | None,
        outcome: Call,
    ) -> None:
        if self.takes_checkpoints:
            self.watch.emit(values, tup_id, stream, direct_task)
            if tup_id is not None:
                self.driver.collector.done_at_once[-1] = Fed(tup_id, outcome)
            return
        before = len(self.watch.done_at_once)
        self.watch.emit(values, tup_id, stream, direct_task)
        if len(self.watch.done_at_once) > before:
            self.watch.done_at_once.pop()
        elif tup_id is not None:
            self._fed[next(reversed(self.driver.collector.pending))] = outcome

    def _fed_settled(self, fed: Fed, acked: bool) -> None:
        """A checkpoint covers a tuple of the test's, or it has failed."""
        self._callbacks.call_soon(self, partial(fed.outcome, acked))

    def failed_ids(self) -> list[Fed]:
        """Ids of the test's tuples failed by the kill: emitted, and not covered by a checkpoint."""
        found: list[Fed] = []
        if self.is_spout and self.takes_checkpoints:
            ids = WatchedIds(self.watch.outcome, lambda fed, acked: found.append(fed))
            ids.take(
                [*self.driver.emitted_ids.take_all_unnoted(), *self.driver.collector.done_at_once]
            )
            ids.take_all()
        return found

    def tick(self) -> None:
        """A tick now, whether or not one is due."""
        assert isinstance(self.driver, BoltDriver)
        self.driver.run_tick(self.shared.clock())
        self.driver.flush()

    def killed(self) -> None:
        """Remove the instance without a report; a child process does not outlive the instance."""
        self.is_dead = True
        if self.is_real:
            self.close()
        self._shared_log.leave()

    def close(self) -> None:
        """The last calls of user code."""
        self.guarded(self.core.close_component)
        self._shared_log.leave()

    @property
    def users_object(self) -> Any:
        """What the user's class made."""
        return self.component.users_object

    @property
    def waits_for_ticks(self) -> bool:
        """Whether it may hold tuples back until virtual time has passed."""
        return not self.is_spout and not self.is_real and self.driver.next_tick < NEVER

    @property
    def works_elsewhere(self) -> bool:
        """Whether something is under way in a thread or a process that real time will end."""
        return not self.guarded(lambda: self.driver.component_is_idle)

    def guarded(self, call: Call) -> Any:
        """Make a call of user code in real or virtual time, according to the instance."""
        self.watch.is_called = True
        try:
            return (self._in_real_time(call) if self.is_real else call)()
        finally:
            self.watch.is_called = False


def _admit() -> None:
    """Always admit: emits of a test are delivered before the test continues."""
