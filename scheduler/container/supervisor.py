"""Runs a few child processes as scheduler.container.supervisor_core decides: forks, pipes, signals.

The loop of the executor (children: stream manager and instances) and of the scheduler process
(children: executors). It has one thread and no zmq context, because it forks: a child starts from
this warm process within milliseconds, with everything imported.
"""

import logging
import os
import random
import select
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Any, cast

from msgspec import Struct, field

from heron_core.errors import HeronError, ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.supervision import STATUS_PIPE_BYTES, StatusReader
from heron_core.transition_log import TransitionLog
from heron_engine.scheduler.container import supervisor_events as events
from heron_engine.scheduler.container.orphans import Orphans
from heron_engine.scheduler.container.process_state import ProcessStatistics
from heron_engine.scheduler.container.supervisor_core import MEMORY_WARNED_SHARE, SupervisorCore
from heron_engine.scheduler.container.supervisor_events import (
    ProcessSpec,
    StartProcess,
    SupervisorOutcome,
)
from heron_io.process_usage import family_bytes
from heron_io.processes import (
    ChildToFork,
    ForkedChild,
    SupervisorLink,
    catch_signals,
    fork_children,
    signal_process,
)
from heron_io.waker import Waker

log = logging.getLogger("supervisor")

MEASURE_SECS = 2.0
"""Between two looks at the memory of those with a limit: some 30 microseconds each."""

FORKED_AT_ONCE_MAX = 50
"""Each takes four file descriptors until all are there, of the 1,024 that a process usually has;
then two."""

PlanMessage = Mapping[str, Any]


class _Process(Struct):
    """A child, and our end of its status pipe."""

    child: ForkedChild
    status_pipe: int
    selector: selectors.BaseSelector
    """Selector that the status pipe is registered with."""
    status: StatusReader = field(default_factory=StatusReader)
    has_come_up: bool = False

    def close(self) -> None:
        # By name: siblings have inherited the pipe, so closing the descriptor here is not enough.
        self.selector.unregister(self.status_pipe)
        os.close(self.status_pipe)
        os.close(self.child.lifeline)


class Supervisor:
    """The supervised children."""

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        link: SupervisorLink,
        restart_limit: int,
        silent_secs: float,
        read_specs: Callable[[PlanMessage | None], Sequence[ProcessSpec]] | None = None,
        *,
        kills_orphans: bool = False,
        was_up: bool = False,
    ) -> None:
        """`link`: connection to the supervisor's own supervisor. `read_specs` is called with a
        child's report of a new plan, and returns the wanted processes. HeronErrors are logged,
        and the call is repeated later. With `kills_orphans` descendants of a child end with the
        child. `was_up`: the processes ran before, under an earlier supervisor."""
        self._core = SupervisorCore(
            specs, restart_limit, silent_secs, was_up=was_up, chance=random.random
        )
        self._link = link
        self._read_specs = read_specs
        self._waker = Waker()
        self._woken_by, self._polled = _selectors(self._waker, link)
        """File descriptors, with the child's name for status pipes: descriptors that end a wait,
        and status pipes read after any wait."""
        self._processes: dict[str, _Process] = {}
        self._orphans = Orphans() if kills_orphans else None
        self._measure_at = 0.0
        self._stop: SupervisorOutcome | None = None
        self._exit: SupervisorOutcome | None = None
        self._only_heartbeats = False
        """Since the last timer: hundreds a second come, and change nothing that is due."""

    def run(self) -> SupervisorOutcome:
        """Keep all processes running until SIGTERM, SIGHUP, the parent's death or a final end."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        catch_signals(
            (signal.SIGTERM, signal.SIGHUP),
            lambda which, _: self.end(SupervisorOutcome(0, signal.Signals(which).name)),
        )
        signal.set_wakeup_fd(self._waker.signal_fd, warn_on_full_buffer=False)
        self._handle(events.SupervisorTimer())
        timer_at = 0.0
        while self._exit is None:
            self._only_heartbeats = True
            self._wait(max(0.0, timer_at - time.monotonic()))
            self._link.heartbeat()
            self._reap()
            self._measure_memory()
            now = time.monotonic()
            if now >= timer_at or not self._only_heartbeats:
                self._handle(events.SupervisorTimer())
                timer_at = now + self._core.timeout_secs(now)
        if self._orphans is not None:
            self._orphans.kill_all()
        return self._exit

    def end(self, outcome: SupervisorOutcome) -> None:
        """End all in order, from a signal handler, too; the first outcome counts."""
        if self._stop is None:
            self._stop = outcome
        self._waker.wake()

    @property
    def specs(self) -> Sequence[ProcessSpec]:
        """The processes that are wanted."""
        return self._core.specs

    def statistics(self) -> list[ProcessStatistics]:
        """What is known of each process."""
        return self._core.statistics()

    def transition_log(self) -> TransitionLog:
        """What was decided lately, and why."""
        return self._core.transition_log()

    def _handle(self, event: events.Event) -> None:
        self._only_heartbeats &= isinstance(event, events.ProcessHeartbeat)
        instructions = self._core.handle(event, time.monotonic())
        for starts, group in groupby(instructions, lambda each: isinstance(each, StartProcess)):
            if starts:
                for started in self._start_all([cast(StartProcess, each) for each in group]):
                    self._handle(started)
            else:
                for instruction in group:
                    self._perform(instruction)

    def _perform(self, instruction: events.Instruction) -> None:
        match instruction:
            case events.TerminateProcess(name):
                self._signal(name, signal.SIGTERM)
            case events.KillProcess(name):
                self._signal(name, signal.SIGKILL)
            case events.ReadSpecs(message):
                self._reload(message)
            case events.SupervisorLog(text, warning):
                log.log(logging.WARNING if warning else logging.INFO, "%s", text)
            case events.SupervisorExit(outcome):
                self._exit = outcome

    def _signal(self, name: str, number: int) -> None:
        process = self._processes.get(name)
        if process is not None:
            signal_process(process.child.pid, number)

    def _wait(self, timeout_secs: float) -> None:
        """Until a child ends or says something urgent, our parent ends, or the time is over.

        Once all are to end only their ends matter, and pipes whose other end is closed would keep
        the poll awake.
        """
        if self._core.outcome is None:
            ready = {key.fd: key.data for key, _ in self._woken_by.select(timeout_secs)}
            ready |= {key.fd: key.data for key, _ in self._polled.select(0)}
        else:
            ends = select.poll()
            ends.register(self._waker.readable, select.POLLIN)
            ends.poll(int(timeout_secs * 1000) + 1)
            ready = {}
        self._waker.clear()
        for name in filter(None, ready.values()):
            self._read_status(name, self._processes[name])
        if self._stop is not None:
            stop, self._stop = self._stop, None
            self._handle(events.Stop(stop))
        elif self._link.lifeline in ready:
            outcome = SupervisorOutcome(ExitCode.ORPHANED, "the parent process is gone")
            self._handle(events.Stop(outcome))

    def _read_status(self, name: str, process: _Process) -> None:
        """Take in what a child's status pipe holds."""
        try:
            data = os.read(process.status_pipe, STATUS_PIPE_BYTES)
        except BlockingIOError:
            return
        self._handle(events.ProcessHeartbeat(name))
        try:
            notices = process.status.feed(data)
        except ProtocolError as error:
            self._handle(events.ProtocolBroken(name, str(error)))
            return
        if process.status.is_up and not process.has_come_up:
            process.has_come_up = True
            self._handle(events.CameUp(name))
        for notice in notices:
            self._handle(events.ProcessPlanChanged(notice.message))

    def _reload(self, message: PlanMessage | None) -> None:
        if self._read_specs is None:
            return
        try:
            specs = self._read_specs(message)
        except HeronError as error:
            self._handle(events.SpecsUnknown(str(error)))
        else:
            self._handle(events.SpecsChanged(specs))

    def _start_all(self, starts: Sequence[StartProcess]) -> list[events.ProcessStarted]:
        """Told of when all are there: what is written between two forks is not shared."""
        at_once = range(0, len(starts), FORKED_AT_ONCE_MAX)
        some = [starts[begin : begin + FORKED_AT_ONCE_MAX] for begin in at_once]
        return [started for each in some for started in self._start(each)]

    def _start(self, starts: Sequence[StartProcess]) -> list[events.ProcessStarted]:
        """Fork the processes one after the other; see `fork_children`."""
        # Two hundred starts on a busy machine take longer than a silent process is left alive.
        self._link.heartbeat()
        pipes = [os.pipe2(os.O_NONBLOCK) for _ in starts]
        # A sibling's lifeline must end with our parent, not with us.
        ends = ((each.child.lifeline, each.status_pipe) for each in self._processes.values())
        others = [self._link.lifeline, *chain.from_iterable((*ends, *pipes))]
        children = fork_children(
            [
                ChildToFork(
                    start.spec.title,
                    partial(_live, start, theirs, others),
                    start.spec.killed_with_parent,
                )
                for start, (_, theirs) in zip(starts, pipes, strict=True)
            ]
        )
        return [self._started(*each) for each in zip(starts, pipes, children, strict=True)]

    def _started(
        self, start: StartProcess, pipe: tuple[int, int], child: ForkedChild
    ) -> events.ProcessStarted:
        ours, theirs = pipe
        os.close(theirs)
        selector = self._woken_by if start.spec.is_urgent else self._polled
        selector.register(ours, selectors.EVENT_READ, start.spec.name)
        self._processes[start.spec.name] = _Process(child, ours, selector)
        return events.ProcessStarted(start.spec.name, child.pid)

    def _measure_memory(self) -> None:
        """Periodic check of processes with a limit."""
        if time.monotonic() < self._measure_at:
            return
        self._measure_at = time.monotonic() + MEASURE_SECS
        for spec in self._core.specs:
            process = self._processes.get(spec.name)
            if process is not None and spec.memory_bytes_max is not None:
                near = spec.memory_bytes_max * MEMORY_WARNED_SHARE
                used = family_bytes(process.child.pid, near)
                self._handle(events.MemoryMeasured(spec.name, used))

    def _reap(self) -> None:
        reaped: set[int] = set()
        died = False
        while (ended := _ended_child()) is not None:
            pid, status = ended
            reaped.add(pid)
            name = next((x for x, each in self._processes.items() if each.child.pid == pid), None)
            if name is not None:
                died = True
                self._kill_orphans(reaped, died)  # before its successor starts
                self._ended(name, os.waitstatus_to_exitcode(status))
        self._kill_orphans(reaped, died)

    def _kill_orphans(self, reaped: set[int], died: bool) -> None:
        if self._orphans is None:
            return
        own = {each.child.pid for each in self._processes.values()}
        killed = self._orphans.sweep(own, reaped, died)
        if killed:
            log.warning("killed %d child processes of an ended process", killed)

    def _ended(self, name: str, code: int) -> None:
        process = self._processes.pop(name)
        self._read_status(name, process)
        process.close()
        self._handle(events.ProcessEnded(name, code, process.status.reason))


def _live(start: StartProcess, status_pipe: int, others: Sequence[int], lifeline: int) -> int:
    """A child's life; of the pipes, the child keeps its own."""
    for number in others:
        if number != status_pipe:
            os.close(number)
    link = SupervisorLink(lifeline, status_pipe, start.predecessor, start.outlook)
    link.next_try_secs = start.next_try_secs
    return start.spec.main(link)


def _selectors(
    waker: Waker, link: SupervisorLink
) -> tuple[selectors.BaseSelector, selectors.BaseSelector]:
    """Kept between two waits: with two hundred children it takes longer to make them again than
    all that is done after a wait."""
    woken_by = selectors.DefaultSelector()
    for number in (waker.readable, link.lifeline):
        woken_by.register(number, selectors.EVENT_READ, "")
    return woken_by, selectors.DefaultSelector()


def _ended_child() -> tuple[int, int] | None:
    """Pid and status of an ended child; None without one."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None
