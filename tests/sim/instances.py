"""A simulated instance: the real InstanceCore, surrounded by a model of its server.py.

The two threads of a process are two calls here: `control_step` and `turn`. Where concurrency
matters, the turn runs as a SuspendableCall: the control thread may then act whenever the main
thread reads the clock or sends, and a send held by back-pressure stops in the middle of the user's
call, while the rest of the cluster goes on.
"""

import logging
from random import Random
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError
from heron_core.state.backup import is_final_by
from heron_core.state.file_snapshot import as_bytes
from heron_core.state.saved_input import input_size
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, parse_header
from heron_core.wire.merged import merge_for_socket
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    Connected,
    ControlReceived,
    Event,
    InputEmpty,
    InstanceExit,
    InstanceLog,
    InstanceReceived,
    InstanceTimer,
    Instruction,
    Receive,
    SaveState,
    SendControl,
    Turn,
    Wait,
    Wake,
)
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from tests.sim.checkers import require
from tests.sim.network import Channel
from tests.sim.suspended_calls import SuspendableCall
from tests.sim.user_threads import UserThreads
from tests.sim.virtual_loop import constructing, have_ended

if TYPE_CHECKING:
    from tests.sim.cluster import Cluster

LOCAL_MESSAGES_MAX = 16
"""An instance waits when so many messages are not taken; a Unix socket has a limit in bytes."""
OVERLAPPING_SHARE = 0.5
"""How often a control message arrives while the main thread is in the middle of a turn."""
PREEMPTED_SHARE = 0.3
"""How often the control thread then runs when the main thread reads the clock or sends."""

SAVED_SHARE = 0.3

log = logging.getLogger("sim")
log.addHandler(logging.NullHandler())
log.propagate = False

Said = tuple[int, Any]
"""Messages of an instance carry the number of the sending process."""


class Instance:
    """One instance's process."""

    def __init__(
        self,
        cluster: "Cluster",
        container: int,
        task: int,
        words: Channel[Said],
        data: Channel[Said],
    ) -> None:
        self.cluster = cluster
        self.container = container
        self.task = task
        self.incarnation = cluster.number()
        self.speed = 1.0
        self.naps = cluster.naps
        """Whether user code calls `nap`."""
        self.turned_at = cluster.clock.now
        """Time of the last turn."""
        self.words = words
        """Control messages to the stream manager; the ones of a dead predecessor are in front."""
        self.data = data
        self.orders: Channel[Any] = cluster.control_channel()
        self.inbox: Channel[Frames] = Channel(cluster.clock, cluster.rng)
        self.is_stopped = False
        """By SIGSTOP, or with its machine."""
        self.has_exited = False
        self._rng = Random(cluster.rng.random())
        self._rng_of_threads = Random(f"threads {self.incarnation}")
        self._step: Instruction = Wait(0.0, for_input=True)
        self._is_woken = True
        self._is_busy = False
        self._call: SuspendableCall | None = None
        self._is_in_control = False
        self._nap_until: float | None = None
        self._unsaved: SaveState | None = None
        """States still to be written by the saving thread."""
        self._reports: list[tuple[int, str]] = []
        """Its reports to the main thread. Reports and saves do not count as work: time would stand
        still in a topology with constant saves."""
        self._unmoved: SaveState | None = None
        """States still to be written for an update."""
        self._moved: list[tuple[int, str, int]] = []
        self.pool = UserThreads(lambda: cluster.clock.now)
        """The threads of its user code."""
        shared = SharedState()
        self._states = cluster.states.backed_up(self, lambda: shared.plan)
        self.core = InstanceCore(
            cluster.topology,
            cluster.deployment.places[container],
            Identity(task, self.incarnation, 1, born_ms=self.incarnation),
            self._environment(shared),
            shared,
            cluster.manners.consumed_bytes,
        )
        self._perform(Connected())

    def _environment(self, shared: SharedState) -> InstanceEnvironment:
        cluster, own = self.cluster, self.cluster.own_states
        return InstanceEnvironment(
            self._clock,
            Random(cluster.rng.random()),
            self._transmit,
            self._admit,
            log,
            shared.call,
            construct=constructing(cluster.clock, self.pool),
            may_send=lambda: shared.may_send,
            load_state=self._load_state if cluster.effectively_once else None,
            waits_for_state=cluster.effectively_once,
            is_final=is_final_by(cluster.topology.config),
            newest_state=None if own is None else own.newest_of(self.task),
            load_moved=None if cluster.effectively_once else cluster.moved_states.load,
        )

    @property
    def driver(self) -> ComponentDriver:
        """Driver of the component; replaced after a restore from a checkpoint."""
        return self.core.driver

    @property
    def component(self) -> Any:
        """The user's object."""
        return self.core.instance.adapter.users_object

    @property
    def _is_divided(self) -> bool:
        """Whether the newest plan gives input of further tasks."""
        plan = self.core.shared.plan
        if plan is None or plan.restore is None:
            return False
        restore, packing = plan.restore, plan.packing
        name = packing.instances[self.task].component
        previous = restore.previous.get(name, ())
        # New code has other tasks as well, as many as before.
        has_others = previous and set(previous) != set(packing.tasks_of[name])
        return bool(has_others) and not set(previous).isdisjoint(restore.with_input)

    @property
    def paused(self) -> bool:
        """Whether back-pressure holds it."""
        return self.core.shared.paused

    @property
    def epoch_taken(self) -> int:
        """Of the main thread's plan."""
        return self.core.shared.epoch_taken

    # --- what the core asks for ---------------------------------------------------------------

    def _perform(self, event: Event) -> Instruction | None:
        """Let the core handle an event, carry out the decisions; returns the last instruction."""
        instruction = None
        for instruction in self.core.handle(event, self.cluster.clock.now):
            match instruction:
                case SendControl(message):
                    if isinstance(message, messages.Restored) and self._is_divided:
                        self.cluster.journal.begins_with_divided(self.task)
                    self.words.send((self.incarnation, message))
                case Wake():
                    self._is_woken = True
                case SaveState(moves=True):
                    self._unmoved = instruction
                case SaveState():
                    self._unsaved = instruction
                case InstanceExit(reason):
                    self.cluster.note(f"process {self.incarnation} ends: {reason}")
                    self.has_exited = True
                case InstanceLog(text):
                    require(False, f"task {self.task}: {text}")
        return instruction

    def _transmit(self, sent: list[Frames]) -> None:
        self._preempt()
        for message in sent:
            if message[0][2] in (FrameKind.DATA, FrameKind.FANOUT) and not self._is_outdated(
                message
            ):
                self.cluster.rules.emitted(self, message)
        self.data.send((self.incarnation, merge_for_socket(sent)))

    def _is_outdated(self, message: Frames) -> bool:
        """Whether the epoch is older, so that receivers refuse."""
        older = parse_header(message[0]).epoch < self.core.shared.epoch
        return older and self.cluster.effectively_once

    # --- the saving thread --------------------------------------------------------------------

    def _load_state(self, checkpoint: int, task: int) -> bytes:
        if self._states is not None:
            return self._states.load(checkpoint, task)
        return self.cluster.states.load(self.container, checkpoint, task)

    def _save_for_update(self) -> None:
        save = self._unmoved
        if save is not None and self._rng.random() < SAVED_SHARE:
            self._unmoved, state = None, as_bytes(save.state)
            failure = self.cluster.moved_states.save(self.task, save.checkpoint, state)
            self._moved.append((save.checkpoint, failure, len(state)))

    def _save(self) -> None:
        self._save_for_update()
        save = self._unsaved
        if save is None or self._rng.random() > SAVED_SHARE:
            return
        self._unsaved = None
        if self.cluster.own_states is not None:
            failure = self.cluster.own_states.save(self.task, save.checkpoint, as_bytes(save.state))
            self._reports.append((save.checkpoint, failure))
            return
        if self._states is not None:
            self._states.write(save.checkpoint, save.state)
            return
        said: messages.FromInstance
        try:
            state = as_bytes(save.state)
            self.cluster.states.save(self.container, save.checkpoint, self.task, state)
            left = input_size(state)
            said = messages.CheckpointStored(self.task, save.checkpoint, len(state), 0, *left)
        except HeronError as error:
            said = messages.CheckpointFailed(self.task, save.checkpoint, str(error))
        self.words.send((self.incarnation, said))

    def _admit(self) -> None:
        self._preempt()
        while not self.core.shared.may_send:
            require(self._call is not None, f"task {self.task} emits in a turn that began paused")
            assert self._call is not None
            for message in self.core.take_reports():
                self.words.send((self.incarnation, message))
            self._call.suspend()

    def nap(self, secs: float) -> None:
        """Called by slow user code: all further processes go on meanwhile."""
        assert self._call is not None
        self._nap_until = self.cluster.clock.now + secs
        while self.cluster.clock.now < self._nap_until:
            self._call.suspend()
        self._nap_until = None

    def _clock(self) -> float:
        now = self.cluster.clock()
        self._preempt()
        return now

    def _preempt(self) -> None:
        """The control thread, and threads of user code, may run at this moment of the main
        thread's turn."""
        if self._call is None or self._is_in_control:
            return
        if self.pool and self._rng_of_threads.random() < PREEMPTED_SHARE:
            self._let_threads_work()
        if not self.orders.ready:
            return
        if self._rng.random() < PREEMPTED_SHARE:
            self.control_step()
            if self.has_exited:
                self._call.suspend()  # for good

    # --- the control thread -------------------------------------------------------------------

    def control_step(self) -> bool:
        """A step of the control thread; whether a message arrived."""
        self._is_in_control = True
        self._save()
        found = self.orders.ready
        while self.orders.ready:
            self._perform(ControlReceived(self.orders.take()))
        self._perform(InstanceTimer())
        self._is_in_control = False
        if self._call is None:
            self.core.validate()
        return found

    # --- threads of user code -----------------------------------------------------------------

    def _let_threads_work(self) -> bool:
        """Make due calls of user code's threads; whether any was due."""
        if not self.pool.turn():
            return False
        self._is_woken = True
        return True

    # --- the main thread ----------------------------------------------------------------------

    def turn(self) -> bool:
        """One round of the main loop; whether the round had work."""
        self.turned_at = self.cluster.clock.now
        overlaps = (
            self._call is None and self.orders.ready and self._rng.random() < OVERLAPPING_SHARE
        )
        answered = False if overlaps else self.control_step()
        self._is_busy = self._let_threads_work() or answered or overlaps
        sent = len(self.data)
        if sent >= LOCAL_MESSAGES_MAX or self.has_exited:
            return self._is_busy
        if self._call is not None:
            if self._may_go_on:
                self._resume(self._call)
        else:
            event = self._due_event()
            if event is not None:
                self._start(event, overlaps)
        return self._is_busy or len(self.data) > sent

    @property
    def _may_go_on(self) -> bool:
        """Whether the suspended call can go on."""
        if self._nap_until is not None:
            return self.cluster.clock.now >= self._nap_until
        return self.core.shared.may_send

    def _due_event(self) -> Event | None:
        match self._step:
            case Wait(until, for_input):
                if self._is_woken or self.cluster.clock.now >= until:
                    pass
                elif have_ended(self):
                    self._is_busy = True
                elif not (for_input and self.inbox.ready):
                    return None
                self._is_busy |= self._has_calls()
                self._is_woken = False
                return Turn()
        return self._receive()

    def _has_calls(self) -> bool:
        """Whether the main thread has requests, beside the next save."""
        calls, saving = self.core.shared.pending_calls, self.core.saving
        if saving is None:
            return bool(calls)
        return any(getattr(each, "func", None) != saving.save for each in calls)

    def _receive(self) -> Event:
        if not self.inbox.ready:
            return InputEmpty()
        self._is_busy = True
        return InstanceReceived(self.inbox.take())

    def _start(self, event: Event, overlaps: bool) -> None:
        # Calls of threads may stand behind a plan that pauses all.
        may_wait = overlaps or self.naps or bool(self.core.shared.pending_calls)
        if may_wait or not self.core.shared.may_send:
            self._call = SuspendableCall(lambda: self._round(event))
            self._resume(self._call)
        else:
            self._round(event)
            self.core.validate()

    def _resume(self, call: SuspendableCall) -> None:
        self._is_busy = True
        self.cluster.habits.running = self
        call.resume()
        if call.is_done:
            self._call = None
            self.core.validate()

    def _round(self, event: Event) -> None:
        """Until the main loop waits or has done something; a bolt takes one message, a spout all
        results of its tuples, and then its turn."""
        while self._reports and self.core.saving is not None:
            self.core.saving.reported(*self._reports.pop(0))
        while self._moved and self.core.transfer is not None:
            self.core.transfer.written(*self._moved.pop(0))
        takes_all = isinstance(self.driver, SpoutDriver)
        while True:
            step = self._perform(event)
            assert step is not None
            self._step = step
            goes_on = isinstance(event, Turn) or (takes_all and isinstance(event, InstanceReceived))
            if not goes_on or not isinstance(step, Receive):
                return
            event = self._receive()

    # --- faults -------------------------------------------------------------------------------

    def died(self) -> None:
        """Unsent messages of the process are gone."""
        self.abandon()
        self.data.lose_last()
        self.words.lose_last()

    def abandon(self) -> None:
        """A call that is suspended never goes on."""
        if self._call is not None:
            self._call.abandon()
            self._call = None
