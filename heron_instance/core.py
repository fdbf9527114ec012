"""An instance's decisions: `handle(event, now)` returns what to do and does nothing else.

A process has two threads. The main thread runs user code and alone touches the data connection: it
brings Turn, InstanceReceived and InputEmpty and carries out the last instruction of the answer,
which says what comes next. The control thread brings Connected, ControlReceived and InstanceTimer,
so that an instance answers while a call of user code lasts. Stopped may come from any thread.

shared_state.py has what both share, control_core.py what belongs to the control thread alone; all
else, and the driver but for its snapshots, is the main thread's. Tuples are not instructions: the
driver runs user code on each tuple of a message and hands the emits to `send`, a call for a batch.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from heron_core.errors import ProtocolError
from heron_core.plans import PackingPlan, Restore
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_core.transition_log import TransitionLog
from heron_core.wire import messages
from heron_core.wire.frames import Frames
from heron_core.wire.merged import split
from heron_instance.blocked_time import BlockedTime
from heron_instance.checkpointing import Checkpointing
from heron_instance.consumed import CONSUMED_BYTES, Consumed
from heron_instance.control_core import ControlCore, Identity, MainThreadCalls
from heron_instance.demanded_incident import answer_of
from heron_instance.events import (
    Connected,
    ControlReceived,
    Event,
    FinishLoop,
    InputEmpty,
    InstanceReceived,
    InstanceTimer,
    Instruction,
    Receive,
    SendControl,
    Stopped,
    Turn,
    Wait,
    Wake,
    name_of,
)
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.raised import UserCodeRaised
from heron_instance.input.spout import SpoutDriver
from heron_instance.input.waiting_input import WaitingInput
from heron_instance.periodic_saving import made_saving
from heron_instance.retrying import RetryingBolt
from heron_instance.runtime.context import UserMetrics
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import build, topology_by, waiting
from heron_instance.shared_state import SharedState
from heron_instance.state_queries import StateQueries
from heron_instance.state_transfer import made_transfer, prepare_update

IDLE_SECS = (0.001, 0.001, 0.001, 0.002, 0.002, 0.004, 0.008, 0.01)
"""Pause of a spout without output, as Storm's at first; then 100 polls a second."""
WAIT_SECS_MAX = 1.0
"""Upper limit of a wait without due work."""
IDLE_BOLT_WAIT_SECS_MAX = 60.0
"""That of a bolt without input: of two hundred most wait, and a wake-up costs 60 microseconds."""
TURN_SECS_MIN = 0.001
"""A spout emits for so long between two looks at its acks, or for its linger time."""

Out = Sequence[Instruction]

_RECEIVE, _FINISH = (Receive(),), (FinishLoop(),)


class InstanceCore:
    """State of one instance: decisions of both threads, around one component driver."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        identity: Identity,
        environment: InstanceEnvironment,
        shared: SharedState,
        consumed_bytes: int = CONSUMED_BYTES,
    ) -> None:
        """Loads and initialises the user's class, what that raises passes through. A component may
        ask `shared` for calls while it is made, and `environment.admit` waits for its `may_send`.
        """
        self.identity = identity
        self.shared = shared
        self._transmit = environment.send
        self._clock = environment.clock
        self._consumed = Consumed(consumed_bytes)
        self._input = WaitingInput()
        """Of a bolt: what came and is not processed yet."""
        self._packing = packing
        self._finished_sent: bool | None = False
        """Last report on whether the spout has finished; None: to be reported again."""
        self._blocked_time = BlockedTime(self._clock)
        self._idle_turns = 0
        """Consecutive spout turns without output."""
        self._first: list[Instruction] = []
        """What to do before the next step of the main loop."""
        self.retrying: RetryingBolt | None = None
        """Handling of a bolt's exceptions in a topology with checkpoints."""
        self._transition_log = TransitionLog()
        self._submitted = topology
        self._environment = environment = replace(
            environment, send=self.send, report=lambda each: self.enqueue(SendControl(each))
        )
        first = waiting if environment.waits_for_state else build
        self.instance = first(topology, packing, identity.task, environment)
        self._checkpointing = self._made_checkpointing()
        self.driver = self._prepared()
        environment.note_begin()
        self.saving = made_saving(self, environment.newest_state, self._clock())
        self.transfer = made_transfer(self, environment)
        self.queries = StateQueries(self, environment.call_soon, self._clock)
        calls = MainThreadCalls(
            self._take_plan,
            self._fail_pending,
            self._finish_bolt,
            self._trigger,
            lambda wanted: prepare_update(self.transfer, self.shared, wanted),
            self._checkpoint_completed,
            lambda wanted: self.instance.samples.begin(wanted),  # noqa: PLW0108 (of then)
            self.queries.take,
            lambda asked: self.enqueue(answer_of(asked, identity.task, self.driver.recorder)),
        )
        metrics, poll = UserMetrics(self.instance.context.metrics), environment.poll
        self.control = ControlCore(identity, self.driver, shared, calls, metrics, poll)
        self._by_event = self._event_handlers()

    def _event_handlers(self) -> dict[type, Callable[[Any, float], Out]]:
        is_spout = isinstance(self.driver, SpoutDriver)
        return {
            Turn: lambda event, now: self._next(),
            InstanceReceived: self._results_received if is_spout else self._batch_received,
            InputEmpty: self._spout_turn if is_spout else self._bolt_idle,
            Stopped: self._stopped,
            Connected: lambda event, now: self._noted(event, now, self.control.connected()),
            ControlReceived: self._control_received,
            InstanceTimer: self._timer,
        }

    @property
    def _topology(self) -> TopologySpec:
        """The component by the plan: code of other components may have changed."""
        return topology_by(self._submitted, self._packing, self.identity.task)

    def handle(self, event: Event, now: float) -> Out:
        """What to do about `event`, in order; `now` on the clock of the world."""
        try:
            return self._by_event[type(event)](event, now)
        except UserCodeRaised as raised:
            assert self.retrying is not None
            self.retrying.raised(raised)
            self._report_unsent()
            return self._next()

    @property
    def next_heartbeat(self) -> float:
        """When InstanceTimer is due."""
        return self.control.pace.due_at

    def _stopped(self, event: Stopped, now: float) -> Out:
        self.shared.stopping = True
        self.shared.update()
        return self._noted(event, now, (Wake(),))

    # --- the control thread -------------------------------------------------------------------

    def _control_received(self, event: ControlReceived, now: float) -> Out:
        out = self.control.received(event, now)
        # A probe changes nothing, and comes many times a second while a topology drains.
        probed = type(event.message) is messages.QuiescenceProbe
        return out if probed else self._noted(event, now, out)

    def _timer(self, event: InstanceTimer, now: float) -> Out:
        out = self.control.timer(now)
        if self.saving is not None and self.saving.is_due(now):
            self.shared.call(partial(self.saving.save, now))
            return [*out, Wake()]
        if self.transfer is not None and self.transfer.is_due(now):
            self.shared.call(partial(self.transfer.retry, now))
            return [*out, Wake()]
        return out

    def _noted(self, event: Event, now: float, out: Out) -> Out:
        self._transition_log.record(now, name_of(event), map(name_of, out))
        return out

    # --- the main loop ------------------------------------------------------------------------

    def _next(self) -> Out:
        """Pending calls come first, also while back-pressure holds a bolt; then its input."""
        shared, messages_left = self.shared, self._input.messages
        while True:
            if shared.stopping:
                return self._step(_FINISH)
            if shared.pending_calls:
                shared.run_pending_calls()
            retrying = self.retrying
            if retrying is not None and (secs := retrying.advance(shared)) is not None:
                if secs > 0:
                    return self._wait(secs, for_input=False)
                continue
            if shared.is_overtaken and not isinstance(self.driver, SpoutDriver):
                if (step := self._overtake()) is not None:
                    return step
                continue
            if not isinstance(self.driver, SpoutDriver) and self._is_blocked():
                self.driver.outbox.flush_acks()
                return self._wait(WAIT_SECS_MAX, for_input=False)
            if self.driver.works_on:
                self._work_on()
                if messages_left and self.driver.holds_back(messages_left[0]):
                    return self._wait(WAIT_SECS_MAX, for_input=False)
            if not messages_left or self._first:
                return self._step(_RECEIVE)
            self._process()

    def _work_on(self) -> bool:
        """Go on with tuples that were taken; whether the state is as after whole tuples then."""
        self.driver.work_on(self._clock())
        if self._consumed.begun(self.driver.begun, self._clock()):
            self.report_consumed()
        return not self.driver.is_amid_state

    def _overtake(self) -> Out | None:
        """Take the requested barrier; returns other work if the barrier has not arrived, or must
        not divide calls in progress."""
        if self.driver.is_amid_state and not self._work_on():
            return self._wait(WAIT_SECS_MAX, for_input=False)
        is_trying = self.retrying is not None and self.retrying.is_trying  # the earlier one
        is_taken = (
            is_trying
            or self._checkpointing is None
            or self._checkpointing.overtake(self._input, self._packing, self._topology)
        )
        return None if is_taken and not self._first else self._step(_RECEIVE)

    def _is_blocked(self) -> bool:
        """Whether sending is blocked."""
        rests = self.transfer is not None and self.transfer.rests
        return self._blocked_time.lasts(self.shared.may_send and not rests, self.driver.outbox)

    def _step(self, last: Out) -> Out:
        """The next step, after work that takes precedence."""
        if not self._first:
            return last
        out, self._first = (*self._first, *last), []
        return out

    def _wait(self, secs: float, for_input: bool = True) -> Out:
        return self._step((Wait(self._clock() + secs, for_input),))

    def _batch_received(self, event: InstanceReceived, now: float) -> Out:
        self._input.extend(self._split(event.frames))
        return self._next()

    def _process(self) -> None:
        if self.retrying is not None or not self.driver.run_together(self._input, self._consumed):
            frames, first, is_handed = self._input.take()
            if self.retrying is not None and self.retrying.takes(frames, first, is_handed):
                return
            self._deliver(frames, first, is_handed)
        if self._consumed.is_due(self._clock()):
            self.report_consumed()

    def _results_received(self, event: InstanceReceived, now: float) -> Out:
        """Acks and fails: all that have arrived are taken before the spout emits again."""
        for frames in self._split(event.frames):
            self._deliver(frames)
        return self._step(_RECEIVE)

    def _split(self, frames: Frames) -> Sequence[Frames]:
        try:
            return split(frames)
        except ProtocolError as error:
            self.driver.drop_malformed(frames, error)
            return ()

    def _deliver(self, frames: Frames, first: int = 0, is_handed: bool = True) -> None:
        started, left = self._clock(), None
        try:
            left = self.driver.deliver(frames, first)
        except ProtocolError as error:
            self.driver.drop_malformed(frames, error)
        finally:
            if left is not None:
                self._input.put_back(frames, left, is_handed)
                self._consumed.worked(self._clock() - started)
            elif is_handed:
                self._consumed.delivered(frames, started, self._clock(), self.driver)

    def delivered(self, frames: Frames, started: float) -> None:
        """As `_process`, after what was tried with care since then."""
        self._consumed.add(frames, started, self._clock())
        if self._consumed.is_due(self._clock()):
            self.report_consumed()

    def _bolt_idle(self, event: InputEmpty, now: float) -> Out:
        driver = self.driver
        assert isinstance(driver, BoltDriver)
        if self.shared.is_overtaken:
            return self._wait(WAIT_SECS_MAX)  # the barrier is under way
        if self._input.messages or (self.retrying and self.retrying.is_due(now)):
            return self._next()
        driver.tick(now)
        self.report_consumed()
        until = min(driver.next_tick, self._clock() + IDLE_BOLT_WAIT_SECS_MAX)
        return self._step((Wait(until, for_input=True),))

    def _spout_turn(self, event: InputEmpty, now: float) -> Out:
        driver = self.driver
        assert isinstance(driver, SpoutDriver)
        self._report_finished(driver, now)
        if self._is_blocked():
            self._report_unsent()
            return self._wait(WAIT_SECS_MAX)
        if not driver.may_emit:
            self.report_consumed()  # an ack callback or another thread may have emitted
            return self._wait(WAIT_SECS_MAX)
        if driver.turn(now + max(driver.options.linger_secs, TURN_SECS_MIN)):
            self._idle_turns = 0
        elif driver.may_emit:
            secs = IDLE_SECS[min(self._idle_turns, len(IDLE_SECS) - 1)]
            self._idle_turns += 1
            self._report_unsent()
            return self._wait(secs)
        return self._next()

    def _report_finished(self, driver: SpoutDriver, now: float) -> None:
        """Tell the master when the spout has finished, and when a failed tuple opens it again."""
        if driver.finished is not self._finished_sent:
            self._finished_sent = driver.finished
            task = self.identity.task
            self.enqueue(SendControl(messages.SpoutFinished(task, driver.finished)))
            self._transition_log.record(now, f"finished: {driver.finished}")

    def send(self, messages: list[Frames]) -> None:
        """Send messages, together with a report of processed input."""
        if self._consumed.messages:
            messages = [self._consumed.report(self.shared.epoch, self.driver), *messages]
        self._transmit(messages)

    def report_consumed(self) -> None:
        """Send the buffers together with the report: acks are never later than emits."""
        self.driver.flush()
        self._report_unsent()

    def _report_unsent(self) -> None:
        """Send a separate report if no message carried the report."""
        if self._consumed.messages:
            self.send([])

    # --- pending calls, in the main thread ----------------------------------------------------

    def _take_plan(self, cause: str) -> None:
        """The plan or the topology's state changed. Of several plans the newest counts."""
        plan = self.shared.plan
        assert plan is not None, "a plan is taken that never came"
        is_scaled, self._packing = plan.packing != self._packing, plan.packing
        if plan.restore is not None and plan.epoch > self.shared.reset_epoch:
            self._begin_epoch(plan.epoch, plan.restore, is_scaled)
        self.instance.take_routes(plan, is_scaled)
        if self.transfer is not None:
            self.transfer.take_plan(plan, self._clock())
        self.shared.epoch_taken = plan.epoch
        now = self._clock()
        self.driver.begin(self.shared.active, now)
        if not plan.has_ticks and isinstance(self.driver, BoltDriver):
            self.driver.stop_ticks()
        self._transition_log.record(now, f"plan {plan.epoch} is taken, after {cause}")

    def _fail_pending(self, cause: str) -> None:
        """The stream manager is new and has none of the instance's trees."""
        self.driver.fail_all()
        self._transition_log.record(self._clock(), f"pending tuples failed, after {cause}")

    def _finish_bolt(self, cause: str) -> None:
        """The end of a finite run."""
        if isinstance(self.driver, BoltDriver):
            if self.retrying is not None and self.retrying.finishes(partial(self._finished, cause)):
                return
            self.driver.finish()
            self._finished(cause)

    def _finished(self, cause: str) -> None:
        self.enqueue(SendControl(messages.BoltFinished(self.identity.task)))
        self._transition_log.record(self._clock(), f"on_finish has run, after {cause}")

    # --- checkpoints, in the main thread ------------------------------------------------------

    def _made_checkpointing(self) -> Checkpointing | None:
        """None in a topology without checkpoints."""
        environment = self._environment
        if (load := environment.load_state) is None:
            return None
        self.shared.takes_checkpoints = True
        component = self._packing.instances[self.identity.task].component
        behind = self._topology.components_behind(component)
        fails_at_once = self._topology.by_name[component].is_spout or environment.fails_at_once
        if not (fails_at_once or self.instance.driver.options.exits_on_exception):
            self.retrying = RetryingBolt(self, self._clock)
        by = environment.waits_for_state, self.retrying is not None, self._packing
        checkpointing = Checkpointing(self, load, behind, *by, environment.is_final)
        if not checkpointing.is_waiting:
            checkpointing.warn_of_spout()
        return checkpointing

    def warn(self, text: str) -> None:
        """A line for the component's log."""
        self._environment.logger.warning(text)

    @property
    def bolt(self) -> BoltDriver:
        """The driver of a bolt; replaced when the bolt's object is recreated."""
        assert isinstance(self.driver, BoltDriver)
        return self.driver

    @property
    def is_waiting(self) -> bool:
        """Whether the component does not exist yet, because its initial state is unknown."""
        return self._checkpointing is not None and self._checkpointing.is_waiting

    def _prepared(self) -> ComponentDriver:
        if self._checkpointing is not None:
            self._checkpointing.attach(self.instance.driver)
        return self.instance.driver

    def _trigger(self, trigger: messages.TriggerCheckpoint) -> None:
        if self._checkpointing is not None:
            self._checkpointing.trigger(trigger)
            self.shared.take_barrier(trigger.checkpoint)

    def _checkpoint_completed(self, completed: messages.CheckpointCompleted) -> None:
        if self._checkpointing is not None:
            self._checkpointing.completed(completed)
        if self.retrying is not None:
            self.retrying.checkpoint_completed()

    def _begin_epoch(self, epoch: int, restore: Restore, is_scaled: bool) -> None:
        assert self._checkpointing is not None, "a restore where no checkpoints are taken"
        if self.retrying is not None:
            self.retrying.note_restore()
        by = self._input, self._packing, self._topology, is_scaled
        came_of_it = self._checkpointing.begin_epoch(epoch, restore, *by)
        if is_scaled:
            self._finished_sent = None  # the master has forgotten it, and we may go on as we are
        self.shared.reset_epoch = epoch
        self.shared.update()
        self._transition_log.record(self._clock(), came_of_it)

    def enqueue(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""
        self._first.append(instruction)

    def take_reports(self) -> list[messages.FromInstance]:
        """Enqueued messages, for a main thread that waits within a call: a restore ends behind."""
        reports = [each for each in self._first if isinstance(each, SendControl)]
        self._first = [each for each in self._first if not isinstance(each, SendControl)]
        return [each.message for each in reports]

    def recreate(self, saved: bytes | None) -> None:
        """Replace the user's object by a new object with the state, without remains of the old."""
        before, who = self.instance, self.identity
        self._consumed.begun(float("inf"), self._clock())  # remaining input is replayed
        self._report_unsent()
        self.instance = build(self._topology, self._packing, who.task, self._environment, saved)
        self.driver = self._prepared()
        if saved is not None:
            # Emits of `initialize` preceded the checkpoint in the first run.
            self.driver.outbox.discard()
        self.instance.go_on_counting(before)
        self.control.attach(self.driver, self.instance.context.metrics)

    def close_component(self) -> None:
        """The last calls of user code; emits in them are only buffered."""
        self.instance.close()

    def transition_log(self) -> TransitionLog:
        """The newest control messages and state changes; batches are not among them."""
        return self._transition_log

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two events."""
        self.shared.validate()
        self.control.validate()
        self.driver.validate()
        self._consumed.validate(isinstance(self.driver, SpoutDriver))
        self._input.validate()
        assert not self._first, f"left undone: {self._first}"
