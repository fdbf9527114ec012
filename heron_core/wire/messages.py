"""Messages of the control plane: frozen dataclasses, msgpack on the wire.

On the wire a message is a msgpack array: its class name, then its fields in order. The unions at
the end say who says what to whom.
"""

import dataclasses
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, get_type_hints

import msgpack

from heron_core.errors import ProtocolError

Json = Mapping[str, Any]

WHOLE_NUMBER_MAX = (1 << 63) - 1
_NESTED = frozenset((dict, tuple))
NESTING_MAX = 16
"""Ours nest 8 deep. What nests 1,000 deep can be decoded, but not when another message wraps it."""
ERROR_CHARACTERS = 200
"""Of what is wrong with a message: it may be as long as the message."""


@dataclass(frozen=True, slots=True)
class RegisterInstance:
    """An instance's first word to its stream manager, on its control socket."""

    task: int
    incarnation: int
    pid: int
    predecessor: str = ""
    """How the process ended that this one replaces; empty for the first one, and when it is said
    again."""


@dataclass(frozen=True, slots=True)
class InstanceHeartbeat:
    """An instance lives; `metrics` is its cumulative snapshot (heron_instance.runtime.metrics)."""

    task: int
    metrics: Json


@dataclass(frozen=True, slots=True)
class QuiescenceReport:
    """Answer to QuiescenceProbe: deliveries sent, processed, and whether all is done."""

    task: int
    wave: int
    sent: int
    processed: int
    idle: bool
    epoch: int
    """Of the plan that it works by: what it emits from now on is routed so."""


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
class InstanceReplaced:
    """From a stream manager: another process serves the task, because the one before ended."""

    task: int
    reason: str
    """How it ended."""
    lost: int
    """Deliveries that it had been handed and had not reported as processed, and that nobody will
    replay."""
    failed: int
    """Tracked tuples whose deliveries it had been handed: they have failed at their spouts."""


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    """From the master, on to the spouts: save your state, and send a barrier behind your last
    tuple. Only for processes that work by the plan of this epoch."""

    checkpoint: int
    epoch: int
    tasks: tuple[int, ...] = ()
    """Where no checkpoints are taken: who is to save its state for the update of that number."""


@dataclass(frozen=True, slots=True)
class CheckpointStored:
    """An instance's state of a checkpoint is in the checkpoint store."""

    task: int
    checkpoint: int
    size_bytes: int
    """0 if it keeps none."""
    aligned_ms: int = 0
    """From the first barrier of its sources to the last one; its stream manager fills it in."""


@dataclass(frozen=True, slots=True)
class CheckpointFailed:
    """An instance's state could not be saved, or its sources were not aligned; `reason` says why in
    one line."""

    task: int
    checkpoint: int
    reason: str


@dataclass(frozen=True, slots=True)
class CheckpointCompleted:
    """From the master, on to the instances: all states of the checkpoint are stored, and from now
    on it is the one that the topology goes back to. For processes of the plan of this epoch."""

    checkpoint: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Restored:
    """An instance's process has the state that the plan of this epoch begins with."""

    task: int
    incarnation: int
    epoch: int
    """0: it came when the others had gone on already, and has no state."""


@dataclass(frozen=True, slots=True)
class RestoreFailed:
    """An instance cannot have the state that the plan of this epoch begins with."""

    task: int
    epoch: int
    reason: str


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
    """The stream manager is new and does not know the instance yet: say RegisterInstance again."""


@dataclass(frozen=True, slots=True)
class QuiescenceProbe:
    """Asks every instance for QuiescenceReport; waves are numbered."""

    wave: int


@dataclass(frozen=True, slots=True)
class FinishBolts:
    """Run on_finish in these tasks."""

    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Superseded:
    """End: another process has taken this one's place; `reason` says so in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class BackPressureCause:
    """Between stream managers: the queue towards `task` passed its high or its low water mark."""

    task: int
    on: bool


@dataclass(frozen=True, slots=True)
class RegisterStreamManager:
    """A stream manager offers itself to the topology master."""

    container: int
    incarnation: int
    address: str
    host: str
    pid: int
    epoch: int
    """Of the plan that it has, 0 for none: a master that took over may know an older one."""
    predecessor: str = ""
    """How the stream manager ended that this one replaces; empty for the first one, and when it is
    said again."""


@dataclass(frozen=True, slots=True)
class RegistrationRejected:
    """The master does not take this stream manager, and why (it names the one it has)."""

    reason: str


class PauseStatistics(NamedTuple):
    """One instance's pauses by back-pressure; on the wire an array in this order."""

    causes: tuple[int, ...]
    """The tasks that pause it now; empty if it runs."""
    paused_secs: float
    """In all, since its stream manager runs."""
    this_pause_secs: float
    """Of them the pause that lasts; 0 if it runs."""
    share: float
    """PauseStatistics seconds of all since it was first seen, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A stream manager lives: its own counters and the newest snapshot of its instances."""

    container: int
    metrics: Json
    instances: Mapping[int, Json]
    paused: Mapping[int, PauseStatistics]
    """task id -> its pauses, for those that ever had any (plain tuples when decoded)"""


@dataclass(frozen=True, slots=True)
class Ping:
    """Somebody else offers itself for your container: answer by Pong if you live."""


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer of a stream manager that lives."""

    container: int


@dataclass(frozen=True, slots=True)
class HeartbeatAck:
    """The master lives."""


@dataclass(frozen=True, slots=True)
class Command:
    """From the command line to the master: activate, deactivate, drain, stats, update, cancel."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """The master's answer to a Command."""

    ok: bool
    data: Json


FromInstance = (
    RegisterInstance
    | InstanceHeartbeat
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | CheckpointStored
    | CheckpointFailed
    | Restored
    | RestoreFailed
)
ToInstance = (
    Plan
    | Pause
    | Resync
    | QuiescenceProbe
    | FinishBolts
    | Superseded
    | TriggerCheckpoint
    | CheckpointCompleted
)
FromStreamManager = (
    RegisterStreamManager
    | Heartbeat
    | Pong
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | InstanceReplaced
    | CheckpointStored
    | CheckpointFailed
    | Restored
    | RestoreFailed
)
ToStreamManager = (
    Plan
    | QuiescenceProbe
    | FinishBolts
    | RegistrationRejected
    | Ping
    | HeartbeatAck
    | TriggerCheckpoint
    | CheckpointCompleted
)
Message = (
    FromInstance
    | ToInstance
    | FromStreamManager
    | ToStreamManager
    | BackPressureCause
    | Command
    | Reply
)

_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        RegisterInstance, InstanceHeartbeat, QuiescenceReport, SpoutFinished, BoltFinished,
        InstanceFailed, InstanceReplaced, Plan, Pause, QuiescenceProbe, FinishBolts, Resync,
        Superseded, BackPressureCause, RegisterStreamManager, RegistrationRejected, Heartbeat,
        HeartbeatAck, Command, Reply, Ping, Pong, TriggerCheckpoint, CheckpointStored,
        CheckpointFailed, CheckpointCompleted, Restored, RestoreFailed,
    )
}  # fmt: skip
_FIELDS = {
    name: tuple(each.name for each in dataclasses.fields(kind)) for name, kind in _CLASSES.items()
}


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= WHOLE_NUMBER_MAX


def _are_whole(value: object) -> bool:
    return type(value) is tuple and all(map(_is_whole, value))


def _is_json(value: object) -> bool:
    return type(value) is dict and all(type(key) is str for key in value)


def _is_paused(value: object) -> bool:
    if type(value) is not tuple or len(value) != len(PauseStatistics._fields):
        return False
    causes, *numbers = value
    return _are_whole(causes) and all(type(each) in (float, int) for each in numbers)


def _by_number(is_value: Callable[[object], bool]) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        return type(value) is dict and all(
            _is_whole(key) and is_value(each) for key, each in value.items()
        )

    return check


_CHECKS: dict[Any, Callable[[object], bool]] = {
    int: _is_whole,
    bool: lambda value: type(value) is bool,
    str: lambda value: type(value) is str,
    Json: _is_json,
    tuple[int, ...]: _are_whole,
    Mapping[int, Json]: _by_number(_is_json),
    Mapping[int, PauseStatistics]: _by_number(_is_paused),
}
_FIELD_CHECKS = {
    name: tuple((field, _CHECKS[kind]) for field, kind in get_type_hints(each).items())
    for name, each in _CLASSES.items()
}


def _parts(value: Any) -> Iterable[Any]:
    return chain(value, value.values()) if type(value) is dict else value


def _nests_too_deep(value: tuple[Any, ...]) -> bool:
    level: list[Any] = [value]
    for _ in range(NESTING_MAX):
        # Most are full of numbers: those are looked through without a Python loop.
        nested = [each for each in level if not _NESTED.isdisjoint(map(type, _parts(each)))]
        level = [part for each in nested for part in _parts(each) if type(part) in _NESTED]
        if not level:
            return False
    return True


def encode(message: Message) -> bytes:
    """A message as bytes."""
    name = type(message).__name__
    data: bytes = msgpack.packb([name, *(getattr(message, field) for field in _FIELDS[name])])
    return data


class Encoder:
    """Encodes messages; one that goes to many receivers in a row, such as a plan, only once."""

    def __init__(self) -> None:
        self._message: Message | None = None
        self._data = b""

    def encode(self, message: Message) -> bytes:
        """A message as bytes."""
        if message is not self._message:
            self._data, self._message = encode(message), message
        return self._data


def decode(data: bytes) -> Any:
    """Bytes as a message (one of `Message`), its fields of their types; else ProtocolError.

    What is inside of a Json field is for the receiver to check.
    """
    try:
        name, *fields = msgpack.unpackb(data, use_list=False, strict_map_key=False)
        message: Message = _CLASSES[name](*fields)
    except Exception as error:
        reason = repr(error)[:ERROR_CHARACTERS]
        raise ProtocolError(f"not a control message: {reason}") from error
    if _nests_too_deep(tuple(fields)):
        raise ProtocolError(f"not a control message: {name} nests more than {NESTING_MAX} deep")
    if len(fields) != len(_FIELD_CHECKS[name]):
        raise ProtocolError(f"not a control message: {name} with {len(fields)} fields")
    for (field, is_valid), value in zip(_FIELD_CHECKS[name], fields, strict=True):
        if not is_valid(value):
            found = reprlib.repr(value)[:ERROR_CHARACTERS]
            raise ProtocolError(f"not a control message: the {field} of {name} is {found}")
    return message
