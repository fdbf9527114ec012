"""State of one supervised process. Pure."""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from heron_core.algorithms.backoff import RestartPolicy
from heron_engine.scheduler.container.supervisor_events import ProcessSpec

NEVER = float("inf")


class ProcessPhase(Enum):
    """Phase in the life of a process."""

    WAITING = "waiting"
    """Waiting for its start time."""
    STARTING = "starting"
    """Being forked."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Unwanted: terminated by SIGTERM, and not restarted."""


TRANSITIONS: Mapping[ProcessPhase, frozenset[ProcessPhase]] = {
    ProcessPhase.WAITING: frozenset({ProcessPhase.STARTING}),
    ProcessPhase.STARTING: frozenset({ProcessPhase.RUNNING}),
    ProcessPhase.RUNNING: frozenset({ProcessPhase.WAITING, ProcessPhase.STOPPING}),
    ProcessPhase.STOPPING: frozenset({ProcessPhase.WAITING}),
}
"""An ended process in STOPPING is forgotten, or not restarted because all processes end."""


class ProcessState(Struct):
    """A wanted or an ending process."""

    spec: ProcessSpec
    policy: RestartPolicy
    phase: ProcessPhase = ProcessPhase.WAITING
    pid: int | None = None
    started_at: float = 0.0
    heard_at: float = 0.0
    """Time of its last heartbeat."""
    start_at: float = 0.0
    kill_at: float = NEVER
    """Deadline after SIGTERM."""
    kill_reason: str = ""
    """Reason of its kill."""
    last_end: str = ""
    """Description of the last end; empty before the first end."""
    starts: int = 0
    memory_warned: bool = False
    """Whether a warning about its memory limit was logged."""

    @property
    def alive(self) -> bool:
        """Whether a process exists."""
        return self.pid is not None

    def enter(self, phase: ProcessPhase) -> None:
        """Change the phase."""
        assert phase in TRANSITIONS[self.phase], f"{self.spec.name}: {self.phase} to {phase}"
        self.phase = phase


class ProcessStatistics(Struct, frozen=True):
    """State of one process."""

    name: str
    phase: ProcessPhase
    pid: int | None
    starts: int
    failures: int
    """Ends in a row without a stable run."""
