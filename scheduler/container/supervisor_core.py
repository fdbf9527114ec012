"""Decisions of a supervisor: processes to start, restart, end and kill. Pure.

An ended process is restarted by the restart policy, a silent process is killed. When the set of
wanted processes changes, new ones start, unwanted ones end gracefully, and the rest is
untouched. At the end all except the first end gracefully, then the first: instances before their
stream manager, containers before the topology master's. A process that exceeds its time is
killed.
"""

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from heron_core.algorithms.backoff import RestartPolicy, middle
from heron_core.algorithms.clock_jump import NOTABLE_SECS, ClockJump
from heron_core.config.names import RAM_MAP
from heron_core.exit_codes import ExitCode, describe_end
from heron_core.plans import MIB
from heron_core.transition_log import TransitionLog
from heron_engine.scheduler.container.process_state import (
    NEVER,
    ProcessPhase,
    ProcessState,
    ProcessStatistics,
)
from heron_engine.scheduler.container.supervisor_events import (
    CameUp,
    Event,
    Instruction,
    KillProcess,
    MemoryMeasured,
    ProcessEnded,
    ProcessHeartbeat,
    ProcessPlanChanged,
    ProcessSpec,
    ProcessStarted,
    ProtocolBroken,
    ReadSpecs,
    SpecsChanged,
    SpecsUnknown,
    StartProcess,
    Stop,
    SupervisorExit,
    SupervisorLog,
    SupervisorOutcome,
    SupervisorTimer,
    TerminateProcess,
    brief,
)

TIMER_SECS = 1.0
"""Between two timers at most; a supervisor reports its own heartbeats as often."""
MEMORY_WARNED_SHARE = 0.9
"""Where a process's limit of memory comes from."""
RELOAD_RETRY_SECS = 1.0
"""After a reload that failed: the state store may be away."""


Out = list[Instruction]


@dataclass
class SupervisorCore:
    """The processes, and how it all ends."""

    specs: Sequence[ProcessSpec]
    """The wanted processes."""
    restart_limit: int
    silent_secs: float
    """Silence after which a process counts as stuck or suspended: it is killed and replaced."""
    was_up: bool = False
    """Whether all of them ran before, under an earlier supervisor: a start failure then does not
    end the topology."""
    chance: Callable[[], float] = middle
    """A number from 0 to 1, for the jitter of pauses."""
    outcome: SupervisorOutcome | None = None
    _processes: dict[str, ProcessState] = field(default_factory=dict)
    _reload_at: float = NEVER
    _plan_message: ProcessPlanChanged = field(default_factory=lambda: ProcessPlanChanged(None))
    """The last report not yet followed."""
    _ending: list[list[ProcessState]] = field(default_factory=list)
    """Groups in order of their end; the first group is already terminated."""
    _exited: bool = False
    _clock_jump: ClockJump = field(default_factory=lambda: ClockJump(TIMER_SECS))
    _transition_log: TransitionLog = field(default_factory=TransitionLog)

    def __post_init__(self) -> None:
        self._add_new()

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """Instructions for an event."""
        out: Out = []
        self._excuse(self._clock_jump.missed_secs(now), out)
        _HANDLERS[type(event)](self, event, now, out)
        if self.outcome is not None:
            self._go_on_ending(now, out)
        if out or not isinstance(event, ProcessHeartbeat | SupervisorTimer):
            effects = (brief(action) for action in out if not isinstance(action, SupervisorLog))
            self._transition_log.record(now, brief(event), effects)
        return out

    def timeout_secs(self, now: float) -> float:
        """In how many seconds the next timer is due at the latest."""
        due = [TIMER_SECS, *(each.kill_at - now for each in self._processes.values())]
        if self.outcome is None:
            waiting = (x for x in self._processes.values() if x.phase is ProcessPhase.WAITING)
            due += [self._reload_at - now, *(each.start_at - now for each in waiting)]
        return max(0.0, min(due))

    def statistics(self) -> list[ProcessStatistics]:
        """State of each process."""
        return [
            ProcessStatistics(name, each.phase, each.pid, each.starts, each.policy.failures)
            for name, each in self._processes.items()
        ]

    def transition_log(self) -> TransitionLog:
        """Log of recent decisions, with reasons."""
        return self._transition_log

    def validate(self) -> None:
        """AssertionError, with the transition log, if something holds that never may."""
        try:
            self._validate_processes()
        except AssertionError as error:
            error.add_note(str(self._transition_log))
            raise

    def _validate_processes(self) -> None:
        for name, child in self._processes.items():
            assert name == child.spec.name
            assert child.alive == (child.phase in (ProcessPhase.RUNNING, ProcessPhase.STOPPING)), (
                name
            )
            assert child.policy.failures <= child.policy.limit_now + 1, name
            terminated = self._is_stopping(child) or child.kill_reason or self.outcome is not None
            assert terminated or child.kill_at == NEVER, name
        pids = [process.pid for process in self._processes.values() if process.alive]
        assert len(pids) == len(set(pids))
        if self.outcome is None:
            assert not self._ending
            wanted = {spec.name for spec in self.specs}
            staying = {x.spec.name for x in self._processes.values() if not self._is_stopping(x)}
            assert staying <= wanted <= self._processes.keys()

    @staticmethod
    def _is_stopping(process: ProcessState) -> bool:
        return process.phase is ProcessPhase.STOPPING

    # --- events of processes ----------------------------------------------------------------------

    def _on_started(self, event: ProcessStarted, now: float, out: Out) -> None:
        process = self._processes[event.name]
        process.enter(ProcessPhase.RUNNING)
        process.pid, process.kill_reason, process.memory_warned = event.pid, "", False
        process.started_at = process.heard_at = now
        process.starts += 1
        out.append(SupervisorLog(f"started {event.name}, pid {event.pid}"))

    def _on_heartbeat(self, event: ProcessHeartbeat, now: float, out: Out) -> None:
        self._processes[event.name].heard_at = now

    def _on_came_up(self, event: CameUp, now: float, out: Out) -> None:
        """The process is known to be able to run; only a limit ends its restarts."""
        self._processes[event.name].policy.is_up = True

    def _on_plan_changed(self, event: ProcessPlanChanged, now: float, out: Out) -> None:
        """Followed by the next timer: one that is said twice is followed once."""
        self._reload_at, self._plan_message = now, event

    def _on_protocol_broken(self, event: ProtocolBroken, now: float, out: Out) -> None:
        process = self._processes[event.name]
        process.kill_reason = f"its status pipe has {event.error}, and it was killed"
        out += [
            SupervisorLog(f"{event.name}: {process.kill_reason}", warning=True),
            KillProcess(event.name),
        ]

    def _on_memory_measured(self, event: MemoryMeasured, now: float, out: Out) -> None:
        """It is warned of once; a process beyond its limit ends in order and comes back."""
        process = self._processes[event.name]
        limit = process.spec.memory_bytes_max
        if limit is None or process.phase is not ProcessPhase.RUNNING or self.outcome is not None:
            return
        used = (
            f"uses {event.used_bytes / MIB:.0f} MB of the {limit / MIB:.0f} MB that {RAM_MAP} has"
        )
        if event.used_bytes > limit and process.kill_at == NEVER:
            process.kill_reason = f"it {used}, and is restarted"
            process.kill_at = now + process.spec.shutdown_secs
            text = f"{event.name} {used}: restarting the instance"
            out += [SupervisorLog(text, warning=True), TerminateProcess(event.name)]
        elif event.used_bytes > limit * MEMORY_WARNED_SHARE and not process.memory_warned:
            process.memory_warned = True
            out.append(
                SupervisorLog(
                    f"{event.name} {used}: an instance above its limit is restarted", warning=True
                )
            )

    def _on_ended(self, event: ProcessEnded, now: float, out: Out) -> None:
        process = self._processes[event.name]
        was_stopping, process.pid, process.kill_at = self._is_stopping(process), None, NEVER
        process.enter(ProcessPhase.WAITING)
        reason = process.kill_reason or event.reason
        process.last_end = describe_end(event.code, reason)
        out.append(SupervisorLog(f"{event.name} {process.last_end}"))
        if self.outcome is not None:
            return
        if was_stopping:
            del self._processes[event.name]
            self._add_new()  # it may be wanted again already
            self._start_due(now, out)
        elif event.code in process.spec.final_codes:
            self._stop(SupervisorOutcome(event.code, reason), now, out)
        elif event.code == -signal.SIGABRT and not reason and process.policy.is_excused(now):
            process.start_at = now
            self._start_due(now, out)
        else:
            self._restart(process, reason, now, out)

    def _restart(self, process: ProcessState, reason: str, now: float, out: Out) -> None:
        pause_secs = process.policy.pause_secs(now - process.started_at)
        if pause_secs is None:
            reason = reason or f"most recently it {process.last_end}"
            failures = process.policy.failures
            text = f"{process.spec.name} ended {failures} times in a row: {reason}"
            self._stop(SupervisorOutcome(ExitCode.TOPOLOGY_FAILED, text), now, out)
        else:
            process.start_at = now + pause_secs
            if pause_secs:
                times = f"{process.policy.failures} failures in a row"
                text = f"{process.spec.name}: {times}, next try in {pause_secs:.1f} s"
                out.append(SupervisorLog(text, warning=True))
            self._start_due(now, out)

    # --- which processes are wanted -------------------------------------------------------------

    def _on_specs_changed(self, event: SpecsChanged, now: float, out: Out) -> None:
        if self.outcome is not None:
            return
        self.specs = event.specs
        wanted = {spec.name: spec for spec in event.specs}
        for process in list(self._processes.values()):
            if self._is_stopping(process):
                continue
            if process.spec.name in wanted:
                process.spec = wanted[process.spec.name]
            else:
                self._remove(process, now, out)
        self._add_new()
        self._start_due(now, out)

    def _on_specs_unknown(self, event: SpecsUnknown, now: float, out: Out) -> None:
        self._reload_at = min(self._reload_at, now + RELOAD_RETRY_SECS)
        out.append(SupervisorLog(f"the new plan cannot be read yet: {event.error}", warning=True))

    def _add_new(self) -> None:
        """Wanted processes without an entry; an ending one of equal name must be gone first."""
        for spec in self.specs:
            if spec.name not in self._processes:
                policy = RestartPolicy(self.restart_limit, self.chance, self._is_known)
                self._processes[spec.name] = ProcessState(spec, policy)

    @property
    def _is_known(self) -> bool:
        """Whether the topology has run: a later process may lack a temporary dependency, and an
        update with a process that cannot start is rolled back by itself."""
        known = (each.policy.is_up for each in self._processes.values())
        return self.was_up or any(known)

    def _remove(self, process: ProcessState, now: float, out: Out) -> None:
        name = process.spec.name
        out.append(SupervisorLog(f"{name} is not needed any more"))
        if not process.alive:
            del self._processes[name]
            return
        process.enter(ProcessPhase.STOPPING)
        process.kill_at = now + process.spec.shutdown_secs
        out.append(TerminateProcess(name))

    # --- time -----------------------------------------------------------------------------------

    def _excuse(self, missed_secs: float, out: Out) -> None:
        """The supervisor was suspended: extend all deadlines."""
        if not missed_secs:
            return
        for process in self._processes.values():
            process.heard_at += missed_secs
            process.kill_at += missed_secs
        if missed_secs >= NOTABLE_SECS:
            text = f"this process was suspended for {missed_secs:.0f} s (stopped, or without CPU)"
            out.append(SupervisorLog(f"{text}: all get so much more time", warning=True))

    def _on_timer(self, event: SupervisorTimer, now: float, out: Out) -> None:
        self._kill_late(now, out)
        if self.outcome is not None:
            return
        self._kill_silent(now, out)
        if self._reload_at <= now:
            self._reload_at = NEVER
            out.append(ReadSpecs(self._plan_message.message))
        self._start_due(now, out)

    def _kill_late(self, now: float, out: Out) -> None:
        for name, process in self._processes.items():
            if process.alive and process.kill_at <= now:
                process.kill_at = NEVER
                out += [
                    SupervisorLog(f"{name} does not end: killed", warning=True),
                    KillProcess(name),
                ]

    def _kill_silent(self, now: float, out: Out) -> None:
        for name, process in self._processes.items():
            if process.alive and now - process.heard_at > self.silent_secs:
                process.kill_reason = f"it was silent for {self.silent_secs:g} s, and was killed"
                process.heard_at = now
                text = f"{name} is silent for {self.silent_secs:.0f} s: killed"
                out += [SupervisorLog(text, warning=True), KillProcess(name)]

    def _start_due(self, now: float, out: Out) -> None:
        for process in self._processes.values():
            if process.phase is ProcessPhase.WAITING and process.start_at <= now:
                process.enter(ProcessPhase.STARTING)
                policy = process.policy
                start = StartProcess(
                    process.spec, process.last_end, policy.outlook, policy.next_pause_secs
                )
                out.append(start)

    # --- the end --------------------------------------------------------------------------------

    def _on_stop(self, event: Stop, now: float, out: Out) -> None:
        self._stop(event.outcome, now, out)

    def _stop(self, outcome: SupervisorOutcome, now: float, out: Out) -> None:
        """The first outcome counts."""
        if self.outcome is not None:
            return
        self.outcome = outcome
        processes = list(self._processes.values())
        self._ending = [processes[1:], processes[:1]]
        self._terminate(self._ending[0], now, out)

    def _terminate(self, group: Iterable[ProcessState], now: float, out: Out) -> None:
        alive = [process for process in group if process.alive]
        kill_at = now + max((process.spec.shutdown_secs for process in alive), default=0.0)
        for process in alive:
            process.kill_at = kill_at
            out.append(TerminateProcess(process.spec.name))

    def _go_on_ending(self, now: float, out: Out) -> None:
        """The next group when one is gone, and the exit when all are."""
        assert self.outcome is not None
        while self._ending and not any(process.alive for process in self._ending[0]):
            self._ending.pop(0)
            if self._ending:
                self._terminate(self._ending[0], now, out)
        if not self._ending and not self._exited:
            self._exited = True
            out.append(SupervisorExit(self.outcome))


_HANDLERS: Mapping[type, Callable[..., None]] = {
    ProcessStarted: SupervisorCore._on_started,
    ProcessHeartbeat: SupervisorCore._on_heartbeat,
    CameUp: SupervisorCore._on_came_up,
    ProcessPlanChanged: SupervisorCore._on_plan_changed,
    ProtocolBroken: SupervisorCore._on_protocol_broken,
    MemoryMeasured: SupervisorCore._on_memory_measured,
    SpecsChanged: SupervisorCore._on_specs_changed,
    SpecsUnknown: SupervisorCore._on_specs_unknown,
    ProcessEnded: SupervisorCore._on_ended,
    Stop: SupervisorCore._on_stop,
    SupervisorTimer: SupervisorCore._on_timer,
}
