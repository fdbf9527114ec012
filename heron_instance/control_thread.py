"""The control thread of an instance: its socket and clock; core.py has the decisions.

The thread reports metrics and answers the stream manager at once, however long user code takes,
so a long `process` is "busy" and never "dead". Heartbeats to the supervisor are sent by the
thread, too: with a blocked control thread the instance is unreachable, and has to be replaced.

While the main thread runs user code, Python schedules the control thread 5 ms after its input
arrives, and as late again after each system call. Live queries need faster answers: the main
thread polls the control input between two tuples, processes the input in place of the control
thread, and sends its own messages itself. The holder of `_turn` acts as the control thread. If
the main thread finds the control thread at work, the main thread waits for the end of the work,
during which the control thread needs only the interpreter.
"""

import logging
import math
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from heron_core.errors import ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.instance_report import to_wire
from heron_core.records import replace
from heron_core.traces import dated
from heron_core.wire import message_codec, messages
from heron_instance.core import InstanceCore
from heron_instance.events import (
    Connected,
    ControlReceived,
    InstanceExit,
    InstanceLogLevels,
    InstanceTimer,
    Instruction,
    ReportLongCall,
    SendControl,
    Wake,
)
from heron_instance.input.malformed import fault_text
from heron_instance.runtime.watchdog import main_thread_stack
from heron_io.input_poll import InputPoll
from heron_io.local_channels import ChannelKeeper, ControlChannel, DataChannel
from heron_io.log_levels import ProcessLevels
from heron_io.process_usage import OwnUsage
from heron_io.processes import SupervisorLink
from heron_io.waker import Waker

log = logging.getLogger("heron_instance")

CLOSE_LINGER_SECS = 1.0
"""Time for the last messages of an ending process."""
TURN_WAIT_SECS = 0.01
"""Wait of the main thread for work in progress of the control thread: some tenths of a
millisecond on an idle machine. Afterwards the main thread continues, and polls again."""


class ControlThread(threading.Thread):
    """Passes control messages to the core, and carries out its decisions."""

    def __init__(
        self,
        core: InstanceCore,
        data: DataChannel,
        control: ControlChannel,
        wake: Callable[[], None],
        component: str,
    ) -> None:
        """The thread only opens the connections of `data`. `wake`: notifies the main thread of
        changes in the shared state, or of a new connection of `data`."""
        super().__init__(name="control", daemon=True)
        self._core = core
        self._control = control
        self._turn = threading.Lock()
        """Held while messages are received or sent, and never during other waits."""
        self._input_poll = InputPoll()
        """The main thread's."""
        self._poller = select.poll()
        self._keeper = ChannelKeeper(data, control, self._poller, wake)
        self._outgoing: deque[messages.FromInstance] = deque()
        self._waker = Waker()
        self._ending = False
        self._input_came = False
        self._link: SupervisorLink | None = None
        self._heartbeat_secs = math.inf
        self._heartbeat_at = math.inf
        self._usage = OwnUsage()
        self._by_instruction: dict[type, Callable[[Any], None]] = {
            SendControl: lambda each: self._send(each.message),
            Wake: lambda each: wake(),
            InstanceExit: _exit,
            ReportLongCall: _report_long_call,
            InstanceLogLevels: self._set_log_levels,
        }
        self._log_levels = ProcessLevels(component)

    def supervised(self, link: SupervisorLink, heartbeat_secs: float) -> None:
        """Before the start: send heartbeats so often, and end the process with its parent."""
        self._link, self._heartbeat_secs = link, heartbeat_secs

    def send(self, message: messages.FromInstance) -> None:
        """Send a message from any thread."""
        self._outgoing.append(message)
        self._waker.wake()

    def send_now(self, message: messages.FromInstance) -> None:
        """Like `send`, from the main thread, without waiting for the control thread."""
        if self._turn.acquire(timeout=TURN_WAIT_SECS):
            try:
                self._send_outgoing()
                self._send(message)
            finally:
                self._turn.release()
        else:
            self.send(message)

    def poll(self) -> None:
        """From the main thread, between two tuples: process available control input, or let the
        control thread finish its work."""
        if not (self._turn.locked() or self._has_input()):
            return
        if self._turn.acquire(timeout=TURN_WAIT_SECS):
            try:
                if self._has_input():
                    self._take_input()
            finally:
                self._turn.release()

    def _has_input(self) -> bool:
        return self._input_poll.has_input(self._control.descriptor)

    def finish(self, wait_secs: float) -> None:
        """From the main thread, at the end: send the last metrics and pending messages."""
        self._ending = True
        self._waker.wake()
        self.join(wait_secs)

    def input_came(self) -> None:
        """From the main thread: after a long wait there is something to do."""
        self._input_came = True
        self._waker.wake()

    def run(self) -> None:
        """Serve until the process ends."""
        core, timer = self._core, InstanceTimer()
        lifeline = () if self._link is None else (self._link.lifeline,)
        for source in (self._waker.readable, *lifeline):
            self._poller.register(source, select.POLLIN)
        with self._turn:
            self._perform(core.handle(Connected(), time.monotonic()))
        while not self._ending:
            with self._turn:
                due_secs = self._act_on_timers(timer)
            ready = dict(self._poller.poll(max(1, math.ceil(due_secs * 1000))))
            if not ready.keys().isdisjoint(lifeline):
                os._exit(ExitCode.ORPHANED)
            with self._turn:
                self._act_on_input(ready)
        with self._turn:
            self._tell_last_numbers()

    def _act_on_timers(self, timer: InstanceTimer) -> float:
        """Do what is due; in how many seconds something is due next."""
        core, now = self._core, time.monotonic()
        self._perform(core.handle(timer, now))
        self._heartbeat(now)
        self._log_levels.expire(now)
        self._keeper.register()
        return min(core.next_heartbeat, self._heartbeat_at, self._keeper.due) - now

    def _act_on_input(self, ready: dict[int, int]) -> None:
        if self._waker.readable in ready:
            self._waker.clear()
        if self._input_came:
            self._input_came = False
            self._core.control.pace.wake()
        self._serve_channels(ready)
        self._send_outgoing()

    def _tell_last_numbers(self) -> None:
        core = self._core
        self._perform(core.control.traces())
        report = core.control.report(time.monotonic())
        self.send(messages.InstanceHeartbeat(core.identity.task, to_wire(report)))
        self._send_outgoing()
        self._control.close(CLOSE_LINGER_SECS)

    def _send_outgoing(self) -> None:
        while self._outgoing:
            self._send(self._outgoing.popleft())

    def _heartbeat(self, now: float) -> None:
        """Awake already: a separate wake-up for the heartbeat would cost more than sending now."""
        if self._link is not None:
            self._heartbeat_at = now + self._heartbeat_secs
            self._link.heartbeat()
            if not self._core.is_waiting:
                self._link.came_up()

    def _serve_channels(self, ready: dict[int, int]) -> None:
        """Receive available messages; register at a new stream manager at once: the stream
        manager would otherwise ask later, possibly after seconds."""
        if self._control.descriptor in ready:
            self._control.flush()
            self._take_input()
        if self._keeper.serve(ready, time.monotonic()):
            resync = ControlReceived(messages.Resync())
            self._perform(self._core.handle(resync, time.monotonic()))

    def _take_input(self) -> None:
        for data in self._control.receive():
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """An invalid message must not end the thread, because heartbeats would stop."""
        try:
            message = message_codec.decode(data)
            instructions = self._core.handle(ControlReceived(message), time.monotonic())
        except ProtocolError as error:
            self._core.control.count_malformed()
            log.warning("a message is dropped: %s", fault_text([], error))
            return
        self._perform(instructions)

    def _perform(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            self._by_instruction[type(instruction)](instruction)

    def _send(self, message: messages.FromInstance) -> None:
        if isinstance(message, messages.InstanceHeartbeat):
            message = replace(
                message,
                metrics={
                    **message.metrics,
                    **self._usage.measure(),
                    "unsendable": self._control.dropped,
                },
                live_queries=self._core.queries.counts.by_name(),
            )
        elif isinstance(message, messages.TraceReport):
            calendar_secs = time.time() - time.monotonic()
            message = replace(message, report=dated(message.report, calendar_secs))
        self._control.send(message_codec.encode(message))

    def _set_log_levels(self, instruction: InstanceLogLevels) -> None:
        self._log_levels.apply(instruction.levels.levels, time.monotonic())


def _report_long_call(instruction: ReportLongCall) -> None:
    secs, stack = instruction.secs, main_thread_stack()
    log.warning("a call has not returned for %.0f s; it is at:\n%s", secs, stack)


def _exit(instruction: InstanceExit) -> None:
    log.error("this process ends: %s", instruction.reason)
    os._exit(ExitCode.SUPERSEDED)
