"""What a supervisor knows of one process: where it is in its life. Pure."""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from heron_core.algorithms.backoff import RestartPolicy
from heron_engine.scheduler.container.supervisor_events import ProcessSpec

NEVER = float("inf")


class ProcessPhase(Enum):
    """Where a process is in its life."""

    WAITING = "waiting"
    """It is to be started at its time."""
    STARTING = "starting"
    """It is being forked."""
    RUNNING = "running"
    STOPPING = "stopping"
    """It is not wanted any more: it has SIGTERM, and is not started again."""


TRANSITIONS: Mapping[ProcessPhase, frozenset[ProcessPhase]] = {
    ProcessPhase.WAITING: frozenset({ProcessPhase.STARTING}),
    ProcessPhase.STARTING: frozenset({ProcessPhase.RUNNING}),
    ProcessPhase.RUNNING: frozenset({ProcessPhase.WAITING, ProcessPhase.STOPPING}),
    ProcessPhase.STOPPING: frozenset({ProcessPhase.WAITING}),
}
"""One that was STOPPING and has ended is forgotten, or never started again because all end."""


class ProcessState(Struct):
    """A process that is wanted, or that has still to end."""

    spec: ProcessSpec
    policy: RestartPolicy
    phase: ProcessPhase = ProcessPhase.WAITING
    pid: int | None = None
    started_at: float = 0.0
    heard_at: float = 0.0
    """When it last said something."""
    start_at: float = 0.0
    kill_at: float = NEVER
    """When one that has SIGTERM has had its time."""
    kill_reason: str = ""
    """Why it was killed."""
    last_end: str = ""
    """How its last process ended; empty before the first has."""
    starts: int = 0
    memory_warned: bool = False
    """Whether it was said that its process nears its limit of memory."""

    @property
    def alive(self) -> bool:
        """Whether it has a process."""
        return self.pid is not None

    def enter(self, phase: ProcessPhase) -> None:
        """Change the phase."""
        assert phase in TRANSITIONS[self.phase], f"{self.spec.name}: {self.phase} to {phase}"
        self.phase = phase


class ProcessStatistics(Struct, frozen=True):
    """What is known of one process."""

    name: str
    phase: ProcessPhase
    pid: int | None
    starts: int
    failures: int
    """Ends in a row without a stable run."""
