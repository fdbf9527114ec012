"""Decisions of a container's agent: when to end its process, when to kill it. Pure.

An agent runs `python -m scheduler.container` on a machine of some cluster. The agent never
restarts the process: the starter of the agent decides on a restart, by the container's end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from heron_core.algorithms.clock_jump import ClockJump
from heron_core.transition_log import TransitionLog
from heron_engine.scheduler.container.shutdown_timeouts import CONTAINER_SHUTDOWN_SECS

NEVER = float("inf")
POLL_SECS = 1.0
"""An agent looks at its clock at least so often."""


class AgentPhase(Enum):
    """Where the container's process is in its life."""

    RUNNING = "running"
    STOPPING = "stopping"
    """Terminated by SIGTERM, with a deadline."""
    KILLED = "killed"
    ENDED = "ended"


TRANSITIONS: Mapping[AgentPhase, frozenset[AgentPhase]] = {
    AgentPhase.RUNNING: frozenset({AgentPhase.STOPPING, AgentPhase.KILLED, AgentPhase.ENDED}),
    AgentPhase.STOPPING: frozenset({AgentPhase.KILLED, AgentPhase.ENDED}),
    AgentPhase.KILLED: frozenset({AgentPhase.ENDED}),
    AgentPhase.ENDED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class ContainerEnd:
    """How a container ended."""

    code: int
    """Its exit code, or minus the number of a signal."""
    reason: str
    """The process's end message, or the reason of the kill."""
    ran_secs: float = 0.0
    stop_reason: str | None = None
    """Reason of the requested end; None if not requested."""


# Events


@dataclass(frozen=True, slots=True)
class AgentHeartbeat:
    """The container has said anything at all."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """The container is to end in order."""

    reason: str


@dataclass(frozen=True, slots=True)
class KillRequested:
    """The container is to end at once."""

    reason: str


@dataclass(frozen=True, slots=True)
class AgentChildEnded:
    """The process has ended."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentTimer:
    """Time has passed."""


Event = AgentHeartbeat | StopRequested | KillRequested | AgentChildEnded | AgentTimer

# Instructions


@dataclass(frozen=True, slots=True)
class AgentTerminate:
    """SIGTERM to the process."""


@dataclass(frozen=True, slots=True)
class AgentKill:
    """SIGKILL to the process."""


Instruction = AgentTerminate | AgentKill


@dataclass
class AgentCore:
    """One container's process, from start to end."""

    started_at: float
    silent_secs: float
    """Silence after which a container is killed."""
    phase: AgentPhase = AgentPhase.RUNNING
    heard_at: float = field(init=False)
    """Time of the last heartbeat."""
    end: ContainerEnd | None = None
    """Result, once ended."""
    _stop_reason: str | None = None
    _kill_reason: str = ""
    _kill_at: float = NEVER
    _clock_jump: ClockJump = field(default_factory=lambda: ClockJump(POLL_SECS))
    _transition_log: TransitionLog = field(default_factory=TransitionLog)

    def __post_init__(self) -> None:
        self.heard_at = self.started_at

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """Reaction to an event."""
        missed_secs = self._clock_jump.missed_secs(now)  # it stood still itself: nobody's fault
        self.heard_at += missed_secs
        self._kill_at += missed_secs
        instructions = _HANDLERS[type(event)](self, event, now)
        if instructions or not isinstance(event, AgentHeartbeat | AgentTimer):
            self._transition_log.record(now, repr(event), map(repr, instructions))
        return instructions

    def transition_log(self) -> TransitionLog:
        """What was decided lately, and why."""
        return self._transition_log

    def validate(self) -> None:
        """AssertionError if what must always hold does not."""
        assert (self.end is not None) == (self.phase is AgentPhase.ENDED)
        assert self.phase is not AgentPhase.STOPPING or self._stop_reason is not None
        assert (self._kill_at < NEVER) == (self.phase is AgentPhase.STOPPING)
        assert self.heard_at >= self.started_at

    def _enter(self, phase: AgentPhase) -> None:
        assert phase in TRANSITIONS[self.phase], f"{self.phase} to {phase}"
        self.phase = phase
        self._kill_at = NEVER

    def _on_heartbeat(self, event: AgentHeartbeat, now: float) -> list[Instruction]:
        self.heard_at = now
        return []

    def _on_stop_requested(self, event: StopRequested, now: float) -> list[Instruction]:
        """The first reason counts; one that is being killed has no time to end in order."""
        if self._stop_reason is None:
            self._stop_reason = event.reason
        if self.phase is not AgentPhase.RUNNING:
            return []
        self._enter(AgentPhase.STOPPING)
        self._kill_at = now + CONTAINER_SHUTDOWN_SECS
        return [AgentTerminate()]

    def _on_kill_requested(self, event: KillRequested, now: float) -> list[Instruction]:
        if AgentPhase.KILLED not in TRANSITIONS[self.phase]:
            return []
        self._enter(AgentPhase.KILLED)
        self._kill_reason = event.reason
        return [AgentKill()]

    def _on_timer(self, event: AgentTimer, now: float) -> list[Instruction]:
        if now - self.heard_at > self.silent_secs:
            text = f"it was silent for {self.silent_secs:g} s and was killed"
            return self._on_kill_requested(KillRequested(text), now)
        if now > self._kill_at:
            return self._on_kill_requested(
                KillRequested("it did not stop in time and was killed"), now
            )
        return []

    def _on_ended(self, event: AgentChildEnded, now: float) -> list[Instruction]:
        self._enter(AgentPhase.ENDED)
        reason = self._kill_reason or event.reason
        self.end = ContainerEnd(event.code, reason, now - self.started_at, self._stop_reason)
        return []


_HANDLERS: Mapping[type, Callable[..., list[Instruction]]] = {
    AgentHeartbeat: AgentCore._on_heartbeat,
    StopRequested: AgentCore._on_stop_requested,
    KillRequested: AgentCore._on_kill_requested,
    AgentChildEnded: AgentCore._on_ended,
    AgentTimer: AgentCore._on_timer,
}
