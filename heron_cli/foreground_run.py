"""Follows one foreground run from its start to any kind of end."""

import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from heron_cli.letters_line import letters_line
from heron_cli.live_view import Screen, Stopwatch, screen
from heron_cli.run_result import (
    RunEnding,
    failure_line,
    has_working_bolts,
    shortfall_line,
    stored_line,
    waiting_text,
    without_outcome,
)
from heron_cli.start_reasons import StartReasons
from heron_core.errors import HeronError, StateStoreError
from heron_core.exit_codes import INCOMPLETE
from heron_core.plans import TopologyState
from heron_core.records import replace
from heron_core.state_tree import execution_path
from heron_core.stats import TopologyStats
from heron_engine.scheduler.backends.protocol import Backend, Supervised
from heron_engine.scheduler.container.shutdown_timeouts import INSTANCE_SHUTDOWN_SECS
from heron_engine.scheduler.daemon import start
from heron_engine.scheduler.outcomes import change_outcome, last_numbers_of, outcome_of
from heron_engine.scheduler.registration import forget, register
from heron_engine.scheduler.submission import Submission
from heron_io.console import READ_BYTES, ConsoleReader, ConsoleStream, open_pipe
from heron_io.disk_space import shortage
from heron_io.master_client import MasterClient
from heron_io.processes import ForkedChild, catch_signals, signal_process
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

POLL_SECS = 0.1
"""Poll interval for the end of the run; reads only the state store."""
FRESH_SECS = 0.5
"""Between two questions to the master: what a person sees as live."""
DRAIN_FRESH_SECS = 0.2
"""Poll interval during a stop."""
WAITING_NOTE_SECS = 2.0
"""Interval of lines that name the cause of a slow stop."""
STATS_WAIT_SECS = 1.0
DRAIN_SECS = 6.0
"""Drain time after Ctrl-C; a second Ctrl-C ends the wait. Longer than the report time of a stuck
call (topology.stuck.report.secs)."""
DRAIN_AT_WORK_SECS = 15.0
"""Drain time while bolts are busy without a reported stuck call: a bolt whose ticks exceed their
interval is rarely idle."""
STOPPED_BY_USER = 130


@dataclass
class ForegroundRun:
    """A started run; `until_end` displays the run and cleans up."""

    launch: Submission
    scheduler: ForkedChild
    console: int
    store: StateStore
    client: MasterClient
    screen: Screen
    clock: Stopwatch
    stats: TopologyStats | None = None
    _lines: ConsoleReader = field(default_factory=ConsoleReader)
    _ask_at: float = 0.0
    _ended: bool = False
    _reasons: StartReasons | None = None
    _lost: bool = False
    """The scheduler has left no record of the end."""
    _status: int = 0
    """Wait status of the scheduler's process, once ended."""
    _interrupts: int = 0
    _handlers: dict[signal.Signals, Any] = field(default_factory=dict)

    @staticmethod
    def start(submission: Submission, backend: Backend) -> "ForegroundRun":
        """Register the topology and fork its scheduler; NameInUse if the name is taken."""
        console, theirs = open_pipe()
        launch = replace(submission, console=theirs)
        register(launch, backend)
        clock = Stopwatch()
        assert isinstance(backend, Supervised)
        scheduler = start(launch, backend)
        os.close(theirs)
        # Only now: the fork came from a process without threads and sockets.
        store = open_store(launch.store_url)
        client = MasterClient(store, launch.topology.name)
        return ForegroundRun(launch, scheduler, console, store, client, screen(), clock)

    def until_end(self, seconds: float | None, until_done: bool) -> int:
        """Show the run until it ends, `seconds` are over, or Ctrl-C; returns the exit code."""
        code = 0
        self._catch_interrupts()
        try:
            self._follow(lambda: self._is_over(seconds, until_done), FRESH_SECS)
            if self._interrupts or (seconds is not None and not self._done):
                code = STOPPED_BY_USER if self._interrupts else 0
                self._drain()
        finally:
            self._stop()
            self._release_interrupts()
        return self._summary(code)

    @property
    def _outcome(self) -> dict[str, Any]:
        """The scheduler's record of the end; empty if the scheduler was killed."""
        return outcome_of(self.launch.home, self.launch.topology.name)

    @property
    def _done(self) -> bool:
        return bool(self.stats and self.stats.state in TopologyState.OVER)

    def _is_over(self, seconds: float | None, until_done: bool) -> bool:
        timed_out = seconds is not None and self.clock.secs >= seconds
        is_done = until_done and self._done
        return bool(self._interrupts) or timed_out or is_done or bool(self._restore_failure)

    @property
    def _restore_failure(self) -> str:
        """Reason why no instance can restore the given state."""
        checkpoints = self.stats.checkpoints if self.stats is not None else None
        if not self.launch.has_state or checkpoints is None:
            return ""
        return checkpoints.restore_failure

    def _follow(self, over: Callable[[], bool], fresh_secs: float) -> None:
        """Refresh numbers and show lines until `over`, or until the scheduler is gone."""
        while not over() and not self._scheduler_gone():
            self._show_lines(POLL_SECS)
            if self.clock.secs < self._ask_at and not self._has_just_ended():
                continue
            stats = self.client.try_stats(wait_secs=STATS_WAIT_SECS)
            if stats is not None:
                self.stats = stats
                self.screen.show(stats, self.clock.secs)
                self._ask_at = self.clock.secs + fresh_secs
            if stats is None or len(stats.containers) < len(stats.containers_expected):
                self._show_start()

    def _show_start(self) -> None:
        if self._reasons is None:
            self._reasons = StartReasons(self.store, self.launch.topology.name)
        if text := self._reasons.changed(self.clock.secs):
            self.screen.note(text)

    def _has_just_ended(self) -> bool:
        """Whether the state store knows of an end that we do not know of yet."""
        try:
            state = self.store.get(execution_path(self.launch.topology.name)) or {}
        except StateStoreError:  # the run continues without the component, and so does the command
            return False
        return state.get("state") in TopologyState.OVER and not self._done

    def _show_lines(self, wait_secs: float) -> None:
        """Print components' output for the given time; 0: only lines already present."""
        until = self.clock.secs + wait_secs
        while select.select([self.console], [], [], max(0.0, until - self.clock.secs))[0]:
            data = os.read(self.console, READ_BYTES)
            if not data:
                self._rest_for(until - self.clock.secs)
                return
            for stream, line in self._lines.feed(data):
                self.screen.line(line, is_error=stream is ConsoleStream.ERR)
            if wait_secs and self.clock.secs >= until:
                return  # more output may follow; the end of the run is checked as well

    @staticmethod
    def _rest_for(secs: float) -> None:
        """Output is closed, so only the timeout remains."""
        select.select([], [], [], max(0.0, secs))

    def _scheduler_gone(self) -> bool:
        if not self._ended:
            pid, self._status = os.waitpid(self.scheduler.pid, os.WNOHANG)
            self._ended = pid != 0
        return self._ended

    def _drain(self) -> None:
        """Pause the spouts, and give tuples in flight a moment to be processed."""
        before = self._interrupts
        if before:
            self.screen.note(
                "stopping: tuples in flight are processed first (Ctrl-C again: at once)"
            )
        self._ask_at = 0.0
        asked = False
        began = self.clock.secs
        next_note = self.clock.secs + WAITING_NOTE_SECS

        def is_over() -> bool:
            nonlocal asked, next_note
            # A topology that has just started may have no master yet.
            asked = asked or self.client.try_ask("drain", wait_secs=POLL_SECS) is not None
            if self.clock.secs >= next_note and self.stats is not None:
                next_note = self.clock.secs + WAITING_NOTE_SECS
                if text := waiting_text(self.stats):
                    self.screen.note(text)
            is_drained = self.stats is not None and self.stats.drained
            is_at_work = self.stats is not None and has_working_bolts(self.stats)
            limit_secs = DRAIN_AT_WORK_SECS if is_at_work else DRAIN_SECS
            late = self.clock.secs >= began + limit_secs
            return self._interrupts > before or late or is_drained

        self._follow(is_over, DRAIN_FRESH_SECS)
        if self.stats is not None and not self.stats.drained and self.stats.stuck:
            names = ", ".join(self.stats.stuck)
            self.screen.note(f"{names}: {INSTANCE_SHUTDOWN_SECS:g} s to return, then it is killed")

    def _stop(self) -> None:
        """End the scheduler and thereby all processes."""
        if not self._ended:
            signal_process(self.scheduler.pid, signal.SIGTERM)
            while not self._scheduler_gone():
                self._show_lines(POLL_SECS)
        self._show_lines(0.0)
        self.screen.close()
        self.client.close()
        if not self._outcome:  # the scheduler was killed, or failed in its shutdown
            self._lost = True
            forget(self.store, self.launch.topology.name)
        self.store.close()

    def _summary(self, code: int) -> int:
        name, outcome = self.launch.topology.name, self._outcome
        ending = self._ending()
        if ending is not None:
            self.screen.note(
                "\n".join(ending.lines(self.screen.width, not self.screen.shows_all_events))
            )
            began_ms = int((time.time() - self.clock.secs) * 1000)
            if letters := letters_line(self.launch.topology, ending.stats, began_ms):
                self.screen.note(letters)
            if line := stored_line(ending.stats, outcome.get("state", "")):
                self.screen.note(line)
        if self._restore_failure:
            raise HeronError(f"{name} cannot restore its state: {self._restore_failure}")
        lost = failure_line(ending.stats) if ending is not None else ""
        if outcome.get("state") == TopologyState.FAILED and not lost:
            raise HeronError(f"{name} failed: {outcome['reason']}")
        if self._lost:
            logs = self.launch.home.logs(name)
            raise HeronError(without_outcome(name, self._status, logs, shortage(logs)))
        if outcome.get("state") == TopologyState.KILLED:
            how = "Ctrl-C" if self._interrupts else f"-t, after {self.clock.secs:.1f} s"
            change_outcome(self.launch.home, name, reason=f"stopped by {how}")
        incomplete = lost or (shortfall_line(ending.stats) if ending is not None else "")
        if incomplete:
            self.screen.alarm(incomplete)
        return code or (INCOMPLETE if incomplete else 0)

    def _ending(self) -> RunEnding | None:
        """Result of the run; None without a record."""
        name, home = self.launch.topology.name, self.launch.home
        last = last_numbers_of(home, name)
        stats = self.stats if last is None else last.stats
        if stats is None:
            return None
        return RunEnding(stats, self.clock.secs, self._done, home.logs(name), last is not None)

    def _catch_interrupts(self) -> None:
        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._handlers = catch_signals(numbers, interrupt)

    def _release_interrupts(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
