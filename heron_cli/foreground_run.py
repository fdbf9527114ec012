"""Watches one foreground run from its start to its end, whatever ends it."""

import os
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from heron_cli.live_view import Screen, Stopwatch, screen
from heron_cli.stats_text import components_text, error_lines, whole
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, TopologyState
from heron_core.stats import TopologyStats
from heron_core.topology import TopologySpec
from heron_io.master_client import MasterClient
from heron_io.processes import Child, signal_process
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from scheduler.backends.protocol import Backend, Supervised
from scheduler.daemon import start
from scheduler.registration import forget, outcome_of, register
from scheduler.submission import Submission
from scheduler.user_folder import Home

FRESH_SECS = 0.1
"""Between two looks at the master: what a person sees as live."""
STATS_WAIT_SECS = 1.0
DRAIN_SECS = 5.0
"""How long Ctrl-C waits for what is in flight; a second Ctrl-C does not wait."""
CONSOLE_BYTES = 65536
STOPPED_BY_USER = 130


@dataclass
class ForegroundRun:
    """A run that was started; `until_end` shows it and cleans up."""

    launch: Submission
    scheduler: Child
    console: int
    store: StateStore
    client: MasterClient
    screen: Screen
    clock: Stopwatch
    stats: TopologyStats | None = None
    _ended: bool = False
    _interrupts: int = 0
    _handlers: dict[int, Any] = field(default_factory=dict)

    @staticmethod
    def start(
        topology: TopologySpec,
        packing: PackingPlan,
        url: str,
        folders: tuple[str, ...],
        backend: Backend,
    ) -> "ForegroundRun":
        """Register the topology and fork its scheduler; NameInUse if the name is taken."""
        console, theirs = os.pipe2(os.O_NONBLOCK)
        launch = Submission(
            topology,
            packing,
            url,
            Home.of_user(),
            foreground=True,
            console=theirs,
            remove_at_end=folders,
        )
        register(launch, backend)
        clock = Stopwatch()
        assert isinstance(backend, Supervised)
        scheduler = start(launch, backend)
        os.close(theirs)
        # Only now: the fork came from a process without threads and sockets.
        store = open_store(url)
        client = MasterClient(store, topology.name)
        return ForegroundRun(launch, scheduler, console, store, client, screen(), clock)

    def until_end(self, seconds: float | None, until_done: bool) -> int:
        """Show the run until it ends, `seconds` are over, or Ctrl-C; returns the exit code."""
        code = 0
        self._catch_interrupts()
        try:
            self._follow(lambda: self._is_over(seconds, until_done))
            if self._interrupts or (seconds is not None and not self._done):
                code = STOPPED_BY_USER if self._interrupts else 0
                self._drain()
        finally:
            self._stop()
            self._release_interrupts()
        return self._summary(code)

    @property
    def _outcome(self) -> dict[str, str]:
        """What the scheduler wrote about the end; empty if it was killed."""
        return outcome_of(self.launch.home, self.launch.topology.name)

    @property
    def _done(self) -> bool:
        return bool(self.stats and self.stats.state == TopologyState.ENDED)

    def _is_over(self, seconds: float | None, until_done: bool) -> bool:
        timed_out = seconds is not None and self.clock.secs >= seconds
        return bool(self._interrupts) or timed_out or (until_done and self._done)

    def _follow(self, over: Callable[[], bool]) -> None:
        """Refresh numbers and show lines until `over`, or until the scheduler is gone."""
        while not over() and not self._scheduler_gone():
            self._show_lines(FRESH_SECS)
            found = self.client.try_stats(wait_secs=STATS_WAIT_SECS)
            if found is not None:
                self.stats = found
                self.screen.show(found, self.clock.secs)

    def _show_lines(self, wait_secs: float) -> None:
        """Lines that components printed, waiting a moment for the first."""
        while select.select([self.console], [], [], wait_secs)[0]:
            data = os.read(self.console, CONSOLE_BYTES)
            if not data:
                self._rest_for(wait_secs)
                return
            self.screen.line(data.decode("utf-8", "replace"))
            wait_secs = 0.0

    @staticmethod
    def _rest_for(secs: float) -> None:
        """Nobody can print any more, so there is nothing to wait on but the time."""
        select.select([], [], [], secs)

    def _scheduler_gone(self) -> bool:
        if not self._ended:
            pid, _ = os.waitpid(self.scheduler.pid, os.WNOHANG)
            self._ended = pid != 0
        return self._ended

    def _drain(self) -> None:
        """Pause the spouts and give what is in flight a moment to arrive."""
        before = self._interrupts
        if before:
            self.screen.note("stopping: what is in flight may arrive (Ctrl-C again: at once)")
        self.client.try_ask("drain", wait_secs=STATS_WAIT_SECS)
        deadline = self.clock.secs + DRAIN_SECS
        self._follow(
            lambda: (
                self._interrupts > before
                or self.clock.secs >= deadline
                or bool(self.stats and self.stats.drained)
            )
        )

    def _stop(self) -> None:
        """End the scheduler and with it everything."""
        if not self._ended:
            signal_process(self.scheduler.pid, signal.SIGTERM)
            while not self._scheduler_gone():
                self._show_lines(FRESH_SECS)
        self._show_lines(0.0)
        self.screen.close()
        self.client.close()
        if not self._outcome:  # the scheduler was killed: what it would have removed is still there
            forget(self.store, self.launch.topology.name)
        self.store.close()

    def _summary(self, code: int) -> int:
        name, outcome = self.launch.topology.name, self._outcome
        if self.stats is not None:
            self.screen.note(self._totals(self.stats))
        if outcome.get("state") == TopologyState.FAILED:
            raise HeronError(f"{name} failed: {outcome['reason']}")
        if not outcome:
            logs = self.launch.home.logs(name)
            raise HeronError(f"{name} failed: its scheduler was killed (logs: {logs})")
        return code

    def _totals(self, stats: TopologyStats) -> str:
        lines = [components_text(stats), *error_lines(stats)]
        processed = sum(each.executed for each in stats.components.values() if each.type == "bolt")
        secs = self.clock.secs
        how = "ended" if self._done else "stopped"
        rate = whole(processed / secs) if secs else "0"
        lines.append(
            f"{stats.topology} {how} after {secs:.1f} s: {whole(processed)} tuples processed, "
            f"{rate}/s. Logs: {self.launch.home.logs(stats.topology)}"
        )
        if stats.lost:
            lines.append(
                f"{whole(stats.lost)} deliveries were not processed: the processes that had "
                "them ended first; tracked tuples among them have failed"
            )
        return "\n".join(lines)

    def _catch_interrupts(self) -> None:
        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, interrupt)

    def _release_interrupts(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
