"""What can happen to an application on YARN, and what its master may do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Ask:
    """How large a container has to be."""

    memory_mb: int
    vcores: int

    def smaller(self, other: "Ask") -> "Ask":
        """What both would be content with."""
        return Ask(min(self.memory_mb, other.memory_mb), min(self.vcores, other.vcores))

    def larger(self, other: "Ask") -> "Ask":
        """What has room for either."""
        return Ask(max(self.memory_mb, other.memory_mb), max(self.vcores, other.vcores))

    def covers(self, other: "Ask") -> bool:
        """Whether it has room for the other."""
        return self.larger(other) == self

    def __str__(self) -> str:
        return f"{self.memory_mb} MB, {self.vcores} vcores"


@dataclass(frozen=True, slots=True)
class Grant:
    """A container of YARN's, which belongs to a container of the packing plan."""

    id: str
    number: int
    """Of the packing plan: each of its containers is asked for with a priority of its own."""
    host: str
    """HOST:PORT of its node manager."""
    http: str
    """HOST:PORT of the node manager's web server."""
    size: Ask | None = None
    """How large it is, where YARN says it."""


class Status(Enum):
    """How an application ends, in YARN's words (FinalApplicationStatus)."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"


# Events


@dataclass(frozen=True, slots=True)
class Registered:
    """The resource manager knows this attempt; containers of earlier ones still run."""

    previous: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True)
class Recovered:
    """The resource manager learnt later that a container of an earlier attempt still runs."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class Allocated:
    """The resource manager gives a container."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class Started:
    """A node manager took the order to start a container."""

    id: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A node manager refused it."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class Completed:
    """A container has ended; `status` is its exit code, or YARN's reason below zero."""

    id: str
    status: int
    reason: str
    """What is worth saying of YARN's diagnostics, in one line."""


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The containers that have to run from now on."""

    asks: Mapping[int, Ask]
    is_settled: bool = True
    """Whether the topology runs by the plan; else it is being scaled to it."""


@dataclass(frozen=True, slots=True)
class RoomWanted:
    """An update is about to need containers that run to be so large."""

    asks: Mapping[int, Ask]


@dataclass(frozen=True, slots=True)
class Resized:
    """A container that runs has another size now."""

    id: str
    size: Ask


@dataclass(frozen=True, slots=True)
class NotResized:
    """YARN does not give a container that runs another size."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class MasterEnded:
    """The process of container 0, which runs beside the application master, has ended."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """Somebody wants containers started again."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndRequested:
    """Somebody wants the application to end."""

    why: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = (
    Registered | Recovered | Allocated | Started | NotStarted | Completed | PlanChanged
    | RoomWanted | Resized | NotResized | MasterEnded | RestartRequested | EndRequested | Tick
)  # fmt: skip

# Instructions


@dataclass(frozen=True, slots=True)
class AskFor:
    """Ask the resource manager for a container."""

    number: int
    ask: Ask


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Ask no more for it."""

    number: int


@dataclass(frozen=True, slots=True)
class Start:
    """Have a container's node manager start our process in it."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class Release:
    """Give a container back; YARN kills what runs in it."""

    id: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Ask for another size of a container that runs; what was asked of it before is void."""

    id: str
    ask: Ask
    grows: bool


@dataclass(frozen=True, slots=True)
class Publish:
    """Write into the state store which container of YARN's is whose."""


@dataclass(frozen=True, slots=True)
class StartMaster:
    """Start container 0."""


@dataclass(frozen=True, slots=True)
class EndMaster:
    """End container 0 in order."""


@dataclass(frozen=True, slots=True)
class Log:
    """A line for the log."""

    text: str


@dataclass(frozen=True, slots=True)
class Unregister:
    """Log the resource manager that the application has ended, and leave."""

    status: Status
    reason: str


Instruction = (
    AskFor
    | TakeBack
    | Start
    | Release
    | Resize
    | Publish
    | StartMaster
    | EndMaster
    | Log
    | Unregister
)
