"""The instance's process: the main thread runs user code and alone touches the data socket.

The control thread (control_thread.py) answers the stream manager meanwhile; what both do is decided
by core.py.
"""

import logging
import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from heron_api.incarnation import Incarnation
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, PhysicalPlan
from heron_core.records import replace
from heron_core.state.backup import BackupRule, is_final_by
from heron_core.topology import TopologySpec
from heron_core.wire import message_codec, messages
from heron_core.wire.local_stream import CONTROL, DATA, ConnectionName
from heron_core.wire.merged import merge_for_socket
from heron_instance.control_core import Identity
from heron_instance.control_thread import CLOSE_LINGER_SECS, ControlThread
from heron_instance.core import InstanceCore
from heron_instance.events import (
    Event,
    FinishLoop,
    InputEmpty,
    InstanceLog,
    InstanceReceived,
    Receive,
    SaveState,
    SendControl,
    Stopped,
    Turn,
    Wait,
)
from heron_instance.recording_files import RecordedTask, RecordingFiles, made_recording
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import incarnation_number
from heron_instance.saving_thread import SavingThread
from heron_instance.shared_state import SharedState
from heron_instance.states_in_memory import Connections, StatesInMemory
from heron_instance.stored_states import CheckpointStates, MovedStateFiles, NewestState
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.local_copies import LocalCopies, copies_of
from heron_io.checkpoint_store.opening import is_on_this_machine, open_checkpoint_store
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.checkpoint_store.run_store import StoredRunRecords
from heron_io.input_poll import InputPoll
from heron_io.local_channels import ControlChannel, DataChannel
from heron_io.local_questions import QuestionListener, questions_path
from heron_io.processes import SupervisorLink, start_heartbeat_thread
from heron_io.waker import Waker

log = logging.getLogger("heron_instance")

ERROR_CHARACTERS = 500
"""Of why an instance cannot start, for people to read in one line."""
HEARTBEATS_IN_LIVENESS_TIMEOUT = 3
"""A supervisor misses two heartbeats before it reports silence. With the default of 15 s the
interval equals an idle instance's report interval, so one wake-up serves both.
"""

_TURN = Turn()
_INPUT_EMPTY = InputEmpty()


class InstanceArguments(Struct, frozen=True):
    """Identity of the instance, and the address of its stream manager."""

    task: int
    socket_path: str
    checkpoint_store: str = ""
    """URL of where states are kept, in a topology whose state is saved."""
    run: str = ""
    """Id of the run, unique among topologies of an equal name."""
    states_key: bytes = b""
    """Key for signing states; empty: unsigned."""
    begins_run: bool = False
    """Whether the store was unavailable at the start of the run, and so has no record."""
    awaits_run: bool = False
    """The topology master's container records the start of the run there, perhaps in a moment."""
    recordings: str = ""
    """Folder of the flight recorder's files."""
    keys: Any = None
    """The topology's pair of keys (heron_io.security.Keys), for connections to stream managers of
    other containers; None without a backup of states in their memory."""

    def after(self, predecessor: str) -> "InstanceArguments":
        """Arguments of the next process; `predecessor` says how the previous process ended, empty
        for the first. The first process has waited for the run's mark, so a later process reports
        at once that the disk with the states is not mounted, and is restarted until the disk is
        back.
        """
        return replace(self, awaits_run=self.awaits_run and not predecessor)


class InstanceServer:
    """The process around one component: sockets, signals and the main loop."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        arguments: InstanceArguments,
        link: SupervisorLink,
    ) -> None:
        """`link`: ends of the previous processes, and the start of the next process if the
        present one cannot start."""
        predecessor = link.predecessor
        if link.outlook:
            predecessor = f"{predecessor} ({link.outlook})"
        who = Identity(
            arguments.task,
            incarnation_number(),
            os.getpid(),
            predecessor,
            int(time.monotonic() * 1000),
            int(link.next_try_secs * 1000),
        )
        path = arguments.socket_path
        self._data = DataChannel(path, ConnectionName(DATA, who.task, who.incarnation))
        control = ControlChannel(path, ConnectionName(CONTROL, who.task, who.incarnation))
        self._waker = Waker()
        self._poller = select.poll()
        self._poller.register(self._waker.readable, select.POLLIN)
        self._polled = -1
        """Descriptor of the data connection, polled as well; negative: none."""
        self._waker_poller = select.poll()
        self._waker_poller.register(self._waker.readable, select.POLLIN)
        self._shared = SharedState()
        self._may_send = threading.Event()
        """`SharedState.may_send`, to wait for in the middle of a send."""
        self._incarnation = Incarnation(arguments.run, int(time.time() * 1000))
        self._copies: LocalCopies | None = None
        self._states: CheckpointStates | None = None
        self._newest: NewestState | None = None
        self._moved: MovedStateFiles | None = None
        self._records: StoredRunRecords | None = None
        self._open_states(topology, arguments)
        try:
            self._recording = _recording(topology, packing, arguments, link.predecessor)
            self._core = self._made_core(topology, packing, who)
        except BaseException as error:
            _tell_of_failure(control, _failure(who, error, link.outlook))
            raise
        self._outlook = link.outlook
        self._watchdog = self._core.control.watchdog
        self._control_thread = ControlThread(
            self._core, self._data, control, self._wake, packing.instances[who.task].component
        )
        self._questions = _listening(questions_path(path, who.task), who.task)
        """Listener for local clients; None: clients ask the stream manager."""
        self._questions_poll = InputPoll()
        if self._questions is not None:
            for poller in (self._poller, self._waker_poller):
                poller.register(self._questions.fileno(), select.POLLIN)
        self._saving = self._begin_saving()
        self._moving: SavingThread | None = None

    def _open_states(self, topology: TopologySpec, arguments: InstanceArguments) -> None:
        config, task = keys.with_defaults(topology.config), arguments.task
        url, opened = arguments.checkpoint_store, partial(_open_store, arguments)
        marker = RunMarker(
            topology.name,
            arguments.run,
            is_folder=is_on_this_machine(url),
            begins=arguments.begins_run,
            awaits=arguments.awaits_run,
        )
        if keys.takes_checkpoints(config):
            if not is_on_this_machine(url):
                self._copies = copies_of(config.get(keys.STATE_FOLDER), f"{topology.name}-{task}")
            memory = _backup_of(topology, arguments, lambda: self._shared.plan)
            self._states = CheckpointStates(
                opened, topology.name, task, marker, self._copies, memory
            )
            return
        self._moved = MovedStateFiles(opened, topology.name, arguments.run, task)
        if keys.saves_states(config):
            self._newest = NewestState(opened, topology.name, arguments.run, task, marker)
            self._records = StoredRunRecords(opened, topology.name, arguments.run, marker)

    def _begin_saving(self) -> SavingThread | None:
        """The thread that writes states; None without states."""
        saving = self._core.saving
        if self._states is not None:
            self._states.tell = self._control_thread.send
            thread = SavingThread(self._states.write)
        elif self._newest is not None and saving is not None:
            self._newest.reported = lambda number, failure: self._call_soon(
                partial(saving.reported, number, failure)
            )
            thread = SavingThread(self._newest.write)
        else:
            return None
        thread.start()
        return thread

    def _begin_moving(self) -> SavingThread | None:
        """The thread that writes states for updates; None under checkpoints."""
        moved, transfer = self._moved, self._core.transfer
        if moved is None or transfer is None:
            return None
        moved.reported = lambda number, failure, size_bytes: self._call_soon(
            partial(transfer.written, number, failure, size_bytes)
        )
        thread = SavingThread(moved.write)
        thread.start()
        return thread

    def _made_core(
        self, topology: TopologySpec, packing: PackingPlan, who: Identity
    ) -> InstanceCore:
        component = packing.instances[who.task].component
        recorder = None if self._recording is None else self._recording.recorder
        send = lambda messages: self._data.send(merge_for_socket(messages))  # noqa: E731
        environment = InstanceEnvironment(
            time.monotonic,
            random.Random(),
            send if recorder is None else recorder.sending(send),
            self._admit,
            log.getChild(component),
            self._call_soon,
            may_send=lambda: self._shared.may_send,
            rest=time.sleep,
            load_state=None if self._states is None else self._states.load,
            waits_for_state=self._states is not None,
            is_final=is_final_by(topology.config),
            component_logger=logging.getLogger(component),
            newest_state=self._newest,
            load_moved=None if self._moved is None else self._moved.load,
            incarnation=self._incarnation,
            run_store=self._records,
            poll=self._poll,
            recorder=recorder,
        )
        return InstanceCore(topology, packing, who, environment, self._shared)

    def run(self, link: SupervisorLink, heartbeat_secs: float) -> int:
        """Run the component until stopped; returns the exit code. Meanwhile the control thread
        sends the supervisor its heartbeats.
        """
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        self._control_thread.supervised(link, heartbeat_secs)
        self._control_thread.start()
        try:
            self._loop_or_tell()
            self._save_last()
            self._core.close_component()
            self._core.driver.flush()
            if self._copies is not None:
                self._copies.remove()
            if self._recording is not None and (left := self._recording.end()):
                log.warning("%s", left)
        finally:
            # Output sent and counted leaves the process, however it ends.
            if self._questions is not None:
                self._questions.close()
            self._control_thread.finish(CLOSE_LINGER_SECS)
            self._data.close(CLOSE_LINGER_SECS)
        return 0

    def _loop_or_tell(self) -> None:
        """The main loop; if the user's class cannot begin in it, the topology master is told."""
        try:
            self._main_loop()
        except Exception as error:
            if self._core.is_waiting:
                failure = _failure(self._core.identity, error, self._outlook)
                self._control_thread.send(failure)
            raise

    def _save_last(self) -> None:
        """The replacement of a process that ended gracefully continues at its position."""
        saving, newest = self._core.saving, self._newest
        if saving is not None and newest is not None:
            last = saving.last()
            if last is not None:
                newest.reported = saving.reported
                newest.write(*last)

    def _main_loop(self) -> None:
        handle, perform = self._core.handle, self._instructions()
        event: Event | None = _TURN
        while event is not None:
            for instruction in handle(event, time.monotonic()):
                event = perform[type(instruction)](instruction)

    def _instructions(self) -> dict[type, Callable[[Any], Event | None]]:
        """How instructions are carried out; the last one of several answers by the next event."""
        return {
            Receive: self._receive,
            Wait: self._wait,
            FinishLoop: lambda each: None,
            SendControl: lambda each: self._control_thread.send_now(each.message),
            SaveState: self._save_state,
            InstanceLog: lambda each: log.warning("%s", each.text),
        }

    def _poll(self) -> None:
        """Between two tuples: what has come from a client, or by the control connection."""
        questions = self._questions
        if questions is not None and self._questions_poll.has_input(questions.fileno()):
            self._take_questions()
        self._control_thread.poll()

    def _take_questions(self) -> bool:
        """Answer clients, at once: the main thread is between two tuples. True."""
        if self._questions is not None:
            for name, question in self._questions.received():
                reply = partial(self._questions.answer, name)
                self._core.queries.take_of_client(question, reply)
        return True

    def _admit(self) -> None:
        """Wait until tuples may be sent. The main thread itself may have set the pause. Its
        messages leave first: a restore blocks tuples until the instance has reported its state.
        """
        while not self._shared.may_send:
            if self._shared.epoch > 0:  # before, the core is being made
                for message in self._core.take_reports():
                    self._control_thread.send_now(message)
            self._may_send.clear()
            if not self._shared.may_send:  # nor was it set before the line above
                self._may_send.wait()

    def _save_state(self, instruction: SaveState) -> None:
        if instruction.moves and self._moving is None:
            self._moving = self._begin_moving()
        thread = self._moving if instruction.moves else self._saving
        if thread is not None:
            thread.save(instruction.checkpoint, instruction.state)

    def _receive(self, instruction: Receive) -> Event:
        frames = self._data.receive()
        return _INPUT_EMPTY if frames is None else InstanceReceived(frames)

    def _wait(self, instruction: Wait) -> Event:
        coroutines = self._core.driver.coroutines(self._shared.may_send)
        if coroutines is not None:
            return self._run_coroutines(coroutines, instruction)
        if instruction.for_input and self._data.has_received:
            return _TURN
        poller = self._input_poller() if instruction.for_input else self._waker_poller
        left_secs = instruction.until - time.monotonic()
        self._watchdog.waiting = True
        ready = poller.poll(max(0, int(left_secs * 1000) + 1))
        if self._questions is not None and (self._questions.fileno(), select.POLLIN) in ready:
            self._take_questions()
        elif (self._waker.readable, select.POLLIN) in ready:
            self._waker.clear()
        elif ready and self._core.control.pace.is_resting:
            self._control_thread.input_came()
        self._watchdog.waited()
        return _TURN

    def _run_coroutines(self, coroutines: Any, instruction: Wait) -> Event:
        """As `_wait`: they go on meanwhile, and their end is an end of the wait."""
        sources: dict[int, Callable[[], bool]] = {self._waker.readable: lambda: True}
        if instruction.for_input:
            self._input_poller()
            if self._polled >= 0:
                sources[self._polled] = self._has_input
        if self._questions is not None:
            sources[self._questions.fileno()] = self._take_questions
        self._watchdog.waiting = True
        if not (instruction.for_input and self._has_input()):
            coroutines.wait(instruction.until - time.monotonic(), sources)
        self._waker.clear()
        if self._core.control.pace.is_resting:
            self._control_thread.input_came()
        self._watchdog.waited()
        return _TURN

    def _has_input(self) -> bool:
        if self._data.has_received:
            return True
        return any(source == self._polled for source, _ in self._input_poller().poll(0))

    def _input_poller(self) -> select.poll:
        """Polls the data, too; another connection has another descriptor."""
        if (descriptor := self._data.descriptor) != self._polled:
            if self._polled >= 0:
                self._poller.unregister(self._polled)
            if descriptor >= 0:
                self._poller.register(descriptor, select.POLLIN)
            self._polled = descriptor
        return self._poller

    def _call_soon(self, function: Callable[[], None]) -> None:
        """From any thread; also while the core is being made."""
        self._shared.call(function)
        self._waker.wake()

    def _wake(self) -> None:
        """From any thread: the shared state has changed."""
        if not self._shared.may_send:
            self._may_send.clear()
        if self._shared.may_send:  # also if it was set by the signal handler just now
            self._may_send.set()
        self._waker.wake()

    def stop(self) -> None:
        """End after the call of user code that is under way."""
        self._core.handle(Stopped(), time.monotonic())
        self._wake()


def _backup_of(
    topology: TopologySpec, arguments: InstanceArguments, plan: Callable[[], PhysicalPlan | None]
) -> StatesInMemory | None:
    """The backup in the memory of other containers, if configured."""
    rule = BackupRule.of(topology.config)
    if rule is None:
        return None

    def connect() -> Connections:
        # Late: other instances need no zmq.
        from heron_io.backup_connections import BackupConnections

        return BackupConnections(arguments.keys)

    name, task = topology.name, arguments.task
    return StatesInMemory(rule, name, task, arguments.states_key, plan, connect)


def _open_store(arguments: InstanceArguments) -> CheckpointFiles:
    return open_checkpoint_store(arguments.checkpoint_store, arguments.states_key)


def _listening(path: str, task: int) -> QuestionListener | None:
    """Socket for queries of local clients; without the socket, queries go through the stream
    manager.
    """
    try:
        return QuestionListener(path, task)
    except OSError as error:
        log.warning("live queries go by way of the stream manager: %s: %s", path, error)
        return None


def _recording(
    topology: TopologySpec, packing: PackingPlan, arguments: InstanceArguments, predecessor: str
) -> RecordingFiles | None:
    """The flight recorder, if configured."""
    task = RecordedTask(topology, packing, arguments.task, arguments.run, arguments.recordings)
    recording = made_recording(task, predecessor)
    if recording is not None and recording.warning:
        log.warning("%s", recording.warning)
    return recording


def _tell_of_failure(control: ControlChannel, failure: messages.InstanceFailed) -> None:
    """The user's class cannot be loaded or initialised: the topology master is to know why."""
    control.send(message_codec.encode(failure))
    control.close(CLOSE_LINGER_SECS)


def _failure(who: Identity, error: BaseException, outlook: str) -> messages.InstanceFailed:
    text = " ".join(str(error).split())[:ERROR_CHARACTERS]
    reason = text if isinstance(error, HeronError) else f"{type(error).__name__}: {text}"
    reason = f"{reason} ({outlook})" if outlook else reason
    return messages.InstanceFailed(who.task, reason, who.next_try_ms)


def run(
    topology: TopologySpec, packing: PackingPlan, arguments: InstanceArguments, link: SupervisorLink
) -> int:
    """Run the instance of one task until the end; returns the exit code.

    Propagates exceptions of loading or initialising the user's class.
    """
    liveness_secs = keys.seconds(keys.with_defaults(topology.config), keys.LIVENESS_TIMEOUT_SECS)
    heartbeat_secs = liveness_secs / HEARTBEATS_IN_LIVENESS_TIMEOUT
    # The user's class may take long to load and to initialise.
    stop_heartbeats = start_heartbeat_thread(link, heartbeat_secs)
    server = InstanceServer(topology, packing, arguments, link)
    stop_heartbeats()
    return server.run(link, heartbeat_secs)
