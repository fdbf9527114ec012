"""Messages of the control plane: frozen dataclasses; message_codec.py makes bytes of them.

The unions at the end say who says what to whom.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from heron_core.version import PROTOCOL, VERSION

Json = Mapping[str, Any]


class RestoreTrouble(Enum):
    """Why a state cannot be had, as it matters to what a person can do."""

    AWAY = "away"
    """The store cannot be reached, or does not answer as it should."""
    DAMAGED = "damaged"
    """A file is not what was saved."""
    GONE = "gone"
    """The store is there, and a file is not in it."""
    REFUSED = "refused"
    """The component does not take it."""


@dataclass(frozen=True, slots=True)
class RegisterInstance:
    """An instance's first word to its stream manager, on its control socket."""

    task: int
    incarnation: int
    pid: int
    predecessor: str = ""
    """How the process ended that this one replaces; empty for the first one, and when it is said
    again."""
    born_ms: int = 0
    """When the process began, by its host's monotonic clock. Of two processes of a task the later
    one stays, whichever registers last: one that was stopped may wake up again."""
    next_try_ms: int = 0
    """If the process ends at once, the next one waits so long; 0 if it does not."""
    version: str = VERSION
    """Of the engine that the process runs."""
    protocol: int = PROTOCOL


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
    held: bool = False
    """Nothing is left to do here but for tuples that wait: a bolt has neither acked nor failed them
    (an open window has them), or a spout waits for their outcome, and is not idle because of it."""


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
class TraceReport:
    """What an instance has executed of the tuple trees that are traced (heron_core.traces)."""

    task: int
    report: Json


@dataclass(frozen=True, slots=True)
class SampleTuples:
    """From the master, on to the instances of `tasks`: report the next `count` tuples that you send
    on a stream, as long as they come within so many seconds."""

    sample: int
    tasks: tuple[int, ...]
    stream: str
    count: int
    secs: int


@dataclass(frozen=True, slots=True)
class TuplesSampled:
    """Some of the tuples that SampleTuples has asked an instance for."""

    task: int
    sample: int
    tuples: Json


@dataclass(frozen=True, slots=True)
class InstanceFailed:
    """User code could not be loaded or initialised; the process is about to exit."""

    task: int
    error: str
    next_try_ms: int = 0
    """The next process waits so long; 0 if that is not known."""


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
    next_try_ms: int = 0
    """If the process that serves the task now ends at once, the next one waits so long."""


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    """From the master, on to the spouts: save your state, and send a barrier behind your last
    tuple. Only for processes that work by the plan of this epoch."""

    checkpoint: int
    epoch: int
    tasks: tuple[int, ...] = ()
    """Where no checkpoints are taken: who is to save its state for the update of that number."""
    aligned: tuple[int, ...] = ()
    """Tasks whose input no barrier of the checkpoint overtakes: their state is to be divided."""


@dataclass(frozen=True, slots=True)
class OvertakeInput:
    """From a stream manager: the barrier of a checkpoint has waited too long behind the input of
    the task. It has been handed over with all that was in front of it, and is to be taken at once;
    what is in front of it and not processed is saved with the state. For processes of the plan of
    this epoch."""

    checkpoint: int
    epoch: int


@dataclass(frozen=True, slots=True)
class CheckpointStored:
    """An instance's state of a checkpoint is in the checkpoint store."""

    task: int
    checkpoint: int
    size_bytes: int
    """0 if it keeps none."""
    aligned_ms: int = 0
    """From the first barrier of its sources to the last one; its stream manager fills it in."""
    input_messages: int = 0
    """Input that the barrier has overtaken, and that is saved with the state."""
    input_bytes: int = 0


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A bolt has given up tuples since the last completed checkpoint, and this one covers them:
    said before CheckpointStored."""

    task: int
    checkpoint: int
    component: str


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
    gave_up: tuple[str, ...] = ()
    """The bolts that have given up tuples which it covers: no spout in front of them gets an ack
    for what it has emitted for this checkpoint."""


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
    trouble: str = RestoreTrouble.AWAY.value
    """A RestoreTrouble."""


@dataclass(frozen=True, slots=True)
class RestoreWanted:
    """A bolt raised by the plan of this epoch: all are to go back, which undoes what it has done
    before, and it tries again."""

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
    version: str = VERSION
    """Of the engine that the process runs."""
    protocol: int = PROTOCOL


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
    | TraceReport
    | TuplesSampled
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | CheckpointStored
    | GivenUp
    | CheckpointFailed
    | Restored
    | RestoreFailed
    | RestoreWanted
)
ToInstance = (
    Plan
    | Pause
    | Resync
    | QuiescenceProbe
    | FinishBolts
    | SampleTuples
    | Superseded
    | TriggerCheckpoint
    | OvertakeInput
    | CheckpointCompleted
)
FromStreamManager = (
    RegisterStreamManager
    | Heartbeat
    | Pong
    | TraceReport
    | TuplesSampled
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | InstanceReplaced
    | CheckpointStored
    | GivenUp
    | CheckpointFailed
    | Restored
    | RestoreFailed
    | RestoreWanted
)
ToStreamManager = (
    Plan
    | QuiescenceProbe
    | FinishBolts
    | SampleTuples
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
