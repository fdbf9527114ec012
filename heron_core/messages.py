"""Messages of the control plane: frozen dataclasses, msgpack on the wire.

On the wire a message is a msgpack array: its class name, then its fields in order. The unions at
the end say who says what to whom.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack

from heron_core.errors import ProtocolError

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hello:
    """An instance's first word to its stream manager, on its control socket."""

    task: int
    incarnation: int
    pid: int


@dataclass(frozen=True, slots=True)
class Beat:
    """An instance lives; `metrics` is its cumulative snapshot (heron_instance.metrics)."""

    task: int
    metrics: Json


@dataclass(frozen=True, slots=True)
class Counts:
    """Answer to Probe: deliveries sent and processed so far, and whether nothing is left to do."""

    task: int
    wave: int
    sent: int
    processed: int
    idle: bool


@dataclass(frozen=True, slots=True)
class SpoutFinished:
    """The spout of this task has nothing more to emit (`finished`), or has again."""

    task: int
    finished: bool


@dataclass(frozen=True, slots=True)
class BoltFinished:
    """The bolt's on_finish has run and what it emitted is on its way."""

    task: int


@dataclass(frozen=True, slots=True)
class InstanceFailed:
    """User code could not be loaded or initialised; the process is about to exit."""

    task: int
    error: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The physical plan (plans.physical_to_json), to stream managers and on to instances."""

    plan: Json


@dataclass(frozen=True, slots=True)
class Pause:
    """Back-pressure: the instance takes no input and emits nothing while `on`."""

    on: bool


@dataclass(frozen=True, slots=True)
class Resync:
    """The stream manager is new and does not know the instance yet: say Hello again."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks every instance for Counts; waves are numbered."""

    wave: int


@dataclass(frozen=True, slots=True)
class FinishBolts:
    """Run on_finish in these tasks."""

    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """End: another process has taken this one's place; `reason` says so in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Between stream managers: the queue towards `task` passed its high or its low water mark."""

    task: int
    on: bool


@dataclass(frozen=True, slots=True)
class Register:
    """A stream manager offers itself to the topology master."""

    container: int
    incarnation: int
    address: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The master does not take this stream manager, and why (it names the one it has)."""

    reason: str


class Paused(NamedTuple):
    """One instance's pauses by back-pressure; on the wire an array in this order."""

    causes: tuple[int, ...]
    """The tasks that pause it now; empty if it runs."""
    paused_secs: float
    """In all, since its stream manager runs."""
    this_pause_secs: float
    """Of them the pause that lasts; 0 if it runs."""
    share: float
    """Paused seconds of all since it was first seen, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A stream manager lives: its own counters and the newest snapshot of its instances."""

    container: int
    metrics: Json
    instances: Mapping[int, Json]
    paused: Mapping[int, Paused]
    """task id -> its pauses, for those that ever had any (plain tuples when decoded)"""


@dataclass(frozen=True, slots=True)
class AreYouThere:
    """Somebody else offers itself for your container: answer by IAmHere if you live."""


@dataclass(frozen=True, slots=True)
class IAmHere:
    """The answer of a stream manager that lives."""

    container: int


@dataclass(frozen=True, slots=True)
class HeartbeatSeen:
    """The master lives."""


@dataclass(frozen=True, slots=True)
class Command:
    """From the command line to the master: activate, deactivate, drain, stats, plan, shutdown."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """The master's answer to a Command."""

    ok: bool
    data: Json


FromInstance = Hello | Beat | Counts | SpoutFinished | BoltFinished | InstanceFailed
ToInstance = Plan | Pause | Resync | Probe | FinishBolts | Stop
FromStreamManager = (
    Register | Heartbeat | IAmHere | Counts | SpoutFinished | BoltFinished | InstanceFailed
)
ToStreamManager = Plan | Probe | FinishBolts | Refused | AreYouThere | HeartbeatSeen
Message = FromInstance | ToInstance | FromStreamManager | ToStreamManager | Cause | Command | Reply

_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Hello, Beat, Counts, SpoutFinished, BoltFinished, InstanceFailed, Plan, Pause, Probe,
        FinishBolts, Resync, Stop, Cause, Register, Refused, Heartbeat, HeartbeatSeen, Command,
        Reply, AreYouThere, IAmHere,
    )
}  # fmt: skip
_FIELDS = {
    name: tuple(each.name for each in dataclasses.fields(kind)) for name, kind in _CLASSES.items()
}


def encode(message: Message) -> bytes:
    """A message as bytes."""
    name = type(message).__name__
    data: bytes = msgpack.packb([name, *(getattr(message, field) for field in _FIELDS[name])])
    return data


def decode(data: bytes) -> Any:
    """Bytes as a message (one of `Message`); ProtocolError if they are not one."""
    try:
        name, *fields = msgpack.unpackb(data, use_list=False, strict_map_key=False)
        message: Message = _CLASSES[name](*fields)
    except Exception as error:
        raise ProtocolError(f"not a control message: {error!r}") from error
    return message
