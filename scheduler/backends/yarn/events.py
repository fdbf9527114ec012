"""Events of an application on YARN, and actions of its master."""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct


class Ask(Struct, frozen=True):
    """How large a container has to be."""

    memory_mb: int
    vcores: int

    def smaller(self, other: "Ask") -> "Ask":
        """What both would be content with."""
        return Ask(min(self.memory_mb, other.memory_mb), min(self.vcores, other.vcores))

    def larger(self, other: "Ask") -> "Ask":
        """Maximum of both sizes."""
        return Ask(max(self.memory_mb, other.memory_mb), max(self.vcores, other.vcores))

    def covers(self, other: "Ask") -> bool:
        """Whether the size covers the other."""
        return self.larger(other) == self

    def __str__(self) -> str:
        return f"{self.memory_mb} MB, {self.vcores} vcores"


class Grant(Struct, frozen=True):
    """A container of YARN's, which belongs to a container of the packing plan."""

    id: str
    number: int
    """Of the packing plan: each of its containers is asked for with a priority of its own."""
    host: str
    """HOST:PORT of its node manager."""
    http: str
    """HOST:PORT of the node manager's web server."""
    size: Ask | None = None
    """Its size, if reported by YARN."""


class Status(Enum):
    """How an application ends, in YARN's words (FinalApplicationStatus)."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"


# Events


class Registered(Struct, frozen=True):
    """The resource manager has registered the attempt; containers of earlier attempts still run."""

    previous: tuple[Grant, ...] = ()


class Recovered(Struct, frozen=True):
    """The resource manager learnt later that a container of an earlier attempt still runs."""

    grant: Grant


class Allocated(Struct, frozen=True):
    """The resource manager gives a container."""

    grant: Grant


class ContainerStarted(Struct, frozen=True):
    """A node manager took the order to start a container."""

    id: str


class NotStarted(Struct, frozen=True):
    """Rejected by a node manager."""

    id: str
    why: str


class ContainerCompleted(Struct, frozen=True):
    """A container has ended; `status` is its exit code, or YARN's reason below zero."""

    id: str
    status: int
    reason: str
    """The informative part of YARN's diagnostics, in one line."""


class YarnPlanChanged(Struct, frozen=True):
    """The containers that have to run from now on."""

    asks: Mapping[int, Ask]
    is_settled: bool = True
    """Whether the topology runs by the plan; else a rescale is in progress."""
    partitions: Mapping[int, str] = {}
    """container -> partition (partitions.py), of container 0 for standby containers; the queue
    decides for others."""


class CapacityWanted(Struct, frozen=True):
    """An update is about to need containers that run to be so large."""

    asks: Mapping[int, Ask]


class Resized(Struct, frozen=True):
    """A container that runs has another size now."""

    id: str
    size: Ask


class NotResized(Struct, frozen=True):
    """YARN does not give a container that runs another size."""

    id: str
    why: str


class MasterEnded(Struct, frozen=True):
    """The process of container 0, which runs beside the application master, has ended."""

    code: int
    reason: str


class RestartRequested(Struct, frozen=True):
    """A restart of containers is requested."""

    numbers: tuple[int, ...]


class EndRequested(Struct, frozen=True):
    """The end of the application is requested."""

    why: str


class Tick(Struct, frozen=True):
    """Time has passed."""


Event = (
    Registered | Recovered | Allocated | ContainerStarted | NotStarted | ContainerCompleted
    | YarnPlanChanged | CapacityWanted | Resized | NotResized | MasterEnded | RestartRequested
    | EndRequested | Tick
)  # fmt: skip

# Instructions


class AskFor(Struct, frozen=True):
    """Ask the resource manager for a container."""

    number: int
    ask: Ask
    partition: str = ""
    """Of its node; empty: the queue decides."""


class TakeBack(Struct, frozen=True):
    """Withdraw the request."""

    number: int


class StartContainer(Struct, frozen=True):
    """Have a container's node manager start our process in it."""

    grant: Grant


class Release(Struct, frozen=True):
    """Release a container; YARN kills its processes."""

    id: str


class Resize(Struct, frozen=True):
    """Request a new size of a running container, superseding earlier requests."""

    id: str
    ask: Ask
    grows: bool


class Publish(Struct, frozen=True):
    """Write into the state store which container of YARN's is whose."""


class StartMaster(Struct, frozen=True):
    """Start container 0."""


class EndMaster(Struct, frozen=True):
    """End container 0 in order."""


class YarnLog(Struct, frozen=True):
    """A line for the log."""

    text: str


class Unregister(Struct, frozen=True):
    """Log the resource manager that the application has ended, and leave."""

    status: Status
    reason: str


Instruction = (
    AskFor
    | TakeBack
    | StartContainer
    | Release
    | Resize
    | Publish
    | StartMaster
    | EndMaster
    | YarnLog
    | Unregister
)
