"""Events of a supervisor's processes, and its actions."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from heron_io.processes import SupervisorLink


class ProcessSpec(Struct, frozen=True):
    """A process to run: name, function, shutdown timeout."""

    name: str
    title: str
    """Title shown by ps."""
    main: Callable[["SupervisorLink"], int]
    """Runs in the child; returns its exit code."""
    shutdown_secs: float
    killed_with_parent: bool
    final_codes: frozenset[int] = frozenset()
    """Exit codes without a restart: they also end the supervisor."""
    memory_bytes_max: int | None = None
    """Memory limit, above which the process is restarted."""
    is_urgent: bool = True
    """Whether its status is read at once. Pure heartbeats are read with the next timer: those of
    two hundred processes would wake their supervisor fifty times a second."""


class SupervisorOutcome(Struct, frozen=True):
    """How a supervisor ends: the exit code for its own process, and why."""

    code: int
    reason: str


# Events


class ProcessStarted(Struct, frozen=True):
    """A process has been forked."""

    name: str
    pid: int


class ProcessHeartbeat(Struct, frozen=True):
    """A sign of life of a process."""

    name: str


class CameUp(Struct, frozen=True):
    """A process has reported its work."""

    name: str


class ProcessPlanChanged(Struct, frozen=True):
    """A process reports a changed plan."""

    message: Mapping[str, Any] | None
    """The report of a new plan."""


class ProtocolBroken(Struct, frozen=True):
    """A process wrote invalid bytes on its status pipe."""

    name: str
    error: str


class MemoryMeasured(Struct, frozen=True):
    """A process and what it has started use so much memory now."""

    name: str
    used_bytes: int


class SpecsChanged(Struct, frozen=True):
    """The processes that are wanted from now on, told apart by their names."""

    specs: Sequence[ProcessSpec]


class SpecsUnknown(Struct, frozen=True):
    """Which processes are wanted cannot be learnt now."""

    error: str


class ProcessEnded(Struct, frozen=True):
    """A process has ended, with a code or minus the number of a signal."""

    name: str
    code: int
    reason: str = ""
    """The process's own explanation."""


class Stop(Struct, frozen=True):
    """Everything is to end; the first outcome counts."""

    outcome: SupervisorOutcome


class SupervisorTimer(Struct, frozen=True):
    """Time has passed."""


Event = (
    ProcessStarted | ProcessHeartbeat | CameUp | ProcessPlanChanged | ProtocolBroken
    | MemoryMeasured | SpecsChanged | SpecsUnknown | ProcessEnded | Stop | SupervisorTimer
)  # fmt: skip

# Instructions


class StartProcess(Struct, frozen=True):
    """Fork a process, and say ProcessStarted."""

    spec: ProcessSpec
    predecessor: str = ""
    """End of the replaced process; empty for the first."""
    outlook: str = ""
    """How often it was restarted in a row, and when it would be again; empty for few times."""
    next_try_secs: float = 0.0
    """How long the next one would wait; 0 for few times."""


class TerminateProcess(Struct, frozen=True):
    """SIGTERM to a process."""

    name: str


class KillProcess(Struct, frozen=True):
    """SIGKILL to a process."""

    name: str


class ReadSpecs(Struct, frozen=True):
    """Find out which processes are wanted, and say SpecsChanged or SpecsUnknown."""

    message: Mapping[str, Any] | None


class SupervisorLog(Struct, frozen=True):
    """A line for the log."""

    text: str
    warning: bool = False


class SupervisorExit(Struct, frozen=True):
    """No process is left: end."""

    outcome: SupervisorOutcome


Instruction = (
    StartProcess | TerminateProcess | KillProcess | ReadSpecs | SupervisorLog | SupervisorExit
)


def brief(item: Event | Instruction) -> str:
    """An event or instruction in a few words, for a transition log."""
    words = [type(item).__name__]
    for name in item.__struct_fields__:
        match getattr(item, name):
            case ProcessSpec(process):
                words.append(process)
            case SupervisorOutcome(code, reason):
                words.append(f"{code} {reason}")
            case str() | int() as word if word != "":
                words.append(str(word))
            case [*specs]:
                words += [spec.name for spec in specs]
    return " ".join(words)
