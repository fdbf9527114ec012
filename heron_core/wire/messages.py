"""Messages of the control plane: typed structs; message_codec.py makes bytes of these.

A message is an array of its class's name and its fields, in the order of their declaration. The
unions at the end list the messages of each direction.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from heron_core.log_levels import SetLevel as SetLevel
from heron_core.version import PROTOCOL, VERSION
from heron_core.wire.checkpoint_messages import BackupFetched as BackupFetched
from heron_core.wire.checkpoint_messages import BackupStored as BackupStored
from heron_core.wire.checkpoint_messages import CheckpointStored as CheckpointStored
from heron_core.wire.checkpoint_messages import FetchBackup as FetchBackup
from heron_core.wire.checkpoint_messages import StoreBackup as StoreBackup
from heron_core.wire.field_types import WHOLE_NUMBER_MAX as WHOLE_NUMBER_MAX
from heron_core.wire.field_types import Amount as Amount
from heron_core.wire.field_types import Json as Json
from heron_core.wire.field_types import Whole as Whole
from heron_core.wire.incident_messages import IncidentRecorded as IncidentRecorded
from heron_core.wire.incident_messages import RecordIncident as RecordIncident
from heron_core.wire.query_messages import QueryOutcome as QueryOutcome
from heron_core.wire.query_messages import QueryState as QueryState
from heron_core.wire.query_messages import SampleTuples as SampleTuples
from heron_core.wire.query_messages import StateAnswered as StateAnswered
from heron_core.wire.query_messages import StateQuestion as StateQuestion
from heron_core.wire.shell_messages import RunShell as RunShell
from heron_core.wire.shell_messages import ShellRan as ShellRan


class RestoreTrouble(Enum):
    """Why a state cannot be restored, as far as the reason matters for a person's next step."""

    AWAY = "away"
    """The store cannot be reached, or does not answer as it should."""
    DAMAGED = "damaged"
    """A file differs from the saved one."""
    GONE = "gone"
    """The store can be reached, and a file is missing."""
    LOST = "lost"
    """The state was in memory alone, and all its containers have been replaced."""
    REFUSED = "refused"
    """The component refuses the state."""


class Registration(Struct, frozen=True, array_like=True):
    """The beginning of each registration, in every protocol, so that engines of different protocols
    can still report the difference."""

    protocol: int = PROTOCOL
    version: str = VERSION
    """Version of the engine that the process runs."""


class RegisterInstance(Registration, frozen=True, array_like=True, tag=True, kw_only=True):
    """An instance's first message to its stream manager, on its control socket."""

    task: Whole
    incarnation: Whole
    pid: Whole
    predecessor: str = ""
    """How the predecessor of this process ended; empty for the first process, and in a
    repetition."""
    born_ms: Whole = 0
    """Start of the process by its host's monotonic clock. Of two processes of a task the later
    stays, in any order of registration: a stopped process may wake up again."""
    next_try_ms: Whole = 0
    """Pause before the next process if this one ends at once; 0 for no pause."""


class InstanceHeartbeat(Struct, frozen=True, array_like=True, tag=True):
    """An instance lives; `metrics` is the instance's report (heron_core.instance_report)."""

    task: Whole
    metrics: Json
    live_queries: Mapping[str, Whole] = {}
    """Questions that clients have put to the process itself, by the names of query_counts.py."""


class QuiescenceReport(Struct, frozen=True, array_like=True, tag=True):
    """Answer to QuiescenceProbe: deliveries sent, processed, and whether all is done."""

    task: Whole
    round_number: Whole
    sent: Whole
    processed: Whole
    idle: bool
    epoch: Whole
    """Epoch of the instance's plan: the route of tuples emitted from now on."""
    is_waiting: bool = False
    """Whether only waiting tuples are left: a bolt has neither acked nor failed its tuples (an open
    window has them), or a spout waits for outcomes, and is not idle because of the wait."""
    may_fail: bool = False
    """Whether a bolt can fail its held tuples at any time, as windows can."""
    paused: bool = False
    """Whether back-pressure holds the instance."""


class SpoutFinished(Struct, frozen=True, array_like=True, tag=True):
    """The spout of the task has finished (`finished`), or has more to emit again."""

    task: Whole
    finished: bool


class BoltFinished(Struct, frozen=True, array_like=True, tag=True):
    """The bolt's on_finish has run, and the tuples emitted in it are on their way."""

    task: Whole


class TraceReport(Struct, frozen=True, array_like=True, tag=True):
    """Executions of an instance for the tuple trees that are traced (heron_core.traces)."""

    task: Whole
    report: Json


class LogLevels(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to all instances: every log level that differs from the config
    (heron_core.log_levels)."""

    levels: tuple[SetLevel, ...]


class TuplesSampled(Struct, frozen=True, array_like=True, tag=True):
    """Some of the tuples that SampleTuples has asked an instance for."""

    task: Whole
    sample: Whole
    tuples: Json


class InstanceFailed(Struct, frozen=True, array_like=True, tag=True):
    """User code could not be loaded or initialised; the process is about to exit."""

    task: Whole
    error: str
    next_try_ms: Whole = 0
    """Pause before the next process; 0 if that is not known."""


class InstanceReplaced(Struct, frozen=True, array_like=True, tag=True):
    """From a stream manager: another process serves the task, because the previous process
    ended."""

    task: Whole
    reason: str
    """How the previous process ended."""
    lost: Whole
    """Deliveries handed to the process, not reported as processed, and not replayed."""
    failed: Whole
    """Tracked tuples whose deliveries the process had been handed: these have failed at their
    spouts."""
    next_try_ms: Whole = 0
    """Pause before the next process if the one that serves the task now ends at once."""


class TriggerCheckpoint(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the spouts: save your state, and send a barrier after your last tuple.
    For processes of the plan of this epoch."""

    checkpoint: Whole
    epoch: Whole
    aligned: tuple[Whole, ...] = ()
    """Tasks whose input no barrier of the checkpoint overtakes: their state is to be divided."""


class OvertakeInput(Struct, frozen=True, array_like=True, tag=True):
    """From a stream manager: the barrier of a checkpoint has waited too long behind the input of
    the task. The barrier was delivered after all previous input, and is to be taken at once; the
    unprocessed previous input is saved with the state. For processes of the plan of this epoch."""

    checkpoint: Whole
    epoch: Whole


class SaveForUpdate(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to these instances, in a topology without checkpoints: save the state for
    the update of this number. Repeated until each has answered."""

    update: Whole
    epoch: Whole
    tasks: tuple[Whole, ...]


class SavedForUpdate(Struct, frozen=True, array_like=True, tag=True):
    """An instance's state for an update is stored."""

    task: Whole
    update: Whole
    size_bytes: Whole
    """Bytes of the state; 0 if the instance keeps none."""


class NotSavedForUpdate(Struct, frozen=True, array_like=True, tag=True):
    """An instance's state for an update could not be saved; `reason` has the cause in one line."""

    task: Whole
    update: Whole
    reason: str


class DeferFails(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to these spouts, in a topology without checkpoints: call `fail` only when
    the update of this number is over. Repeated until each has answered."""

    update: Whole
    epoch: Whole
    tasks: tuple[Whole, ...]


class FailsDeferred(Struct, frozen=True, array_like=True, tag=True):
    """A spout defers `fail` for an update."""

    task: Whole
    update: Whole


class TuplesAbandoned(Struct, frozen=True, array_like=True, tag="GivenUp"):
    """A bolt's process has abandoned tuples or calls, or counted others, within this checkpoint:
    sent before CheckpointStored."""

    task: Whole
    checkpoint: Whole
    component: str
    is_new: bool = True
    """Whether the process abandoned any that no completed checkpoint covers."""
    counted: Mapping[str, Amount] = {}
    """All such counts since the process began (heron_core.algorithms.covered_counts.numbers_of)."""


class CheckpointFailed(Struct, frozen=True, array_like=True, tag=True):
    """An instance's state could not be saved, or its sources were not aligned; `reason` has the
    cause in one line."""

    task: Whole
    checkpoint: Whole
    reason: str


class CheckpointCompleted(Struct, frozen=True, array_like=True, tag=True):
    """From the master, on to the instances: all states of the checkpoint are stored, and from now
    on the topology is restored from this checkpoint. For processes of the plan of this epoch."""

    checkpoint: Whole
    epoch: Whole
    abandoning: tuple[str, ...] = ()
    """Bolts that have abandoned tuples covered by the checkpoint: an upstream spout gets no ack for
    its tuples of this checkpoint."""


class Restored(Struct, frozen=True, array_like=True, tag=True):
    """An instance's process has the state with which the plan of this epoch begins."""

    task: Whole
    incarnation: Whole
    epoch: Whole
    """Epoch of the plan; 0: the process came when the others had gone on already, and has no
    state."""


class RestoreFailed(Struct, frozen=True, array_like=True, tag=True):
    """An instance cannot have the state with which the plan of this epoch begins."""

    task: Whole
    epoch: Whole
    reason: str
    trouble: str = RestoreTrouble.AWAY.value
    """A RestoreTrouble."""


class RestoreWanted(Struct, frozen=True, array_like=True, tag=True):
    """A bolt raised by the plan of this epoch: all instances are to be restored, which undoes the
    bolt's work, and the bolt tries again."""

    task: Whole
    epoch: Whole
    reason: str


class Plan(Struct, frozen=True, array_like=True, tag=True):
    """The physical plan (plans.physical_to_json), to stream managers and on to instances."""

    plan: Json


class Pause(Struct, frozen=True, array_like=True, tag=True):
    """Back-pressure: the instance takes no input and emits nothing while `on`."""

    on: bool


class Resync(Struct, frozen=True, array_like=True, tag=True):
    """The stream manager is new and does not know the instance yet: say RegisterInstance again."""


class QuiescenceProbe(Struct, frozen=True, array_like=True, tag=True):
    """Asks every instance for QuiescenceReport; the rounds of probes are numbered."""

    round_number: Whole


class FinishBolts(Struct, frozen=True, array_like=True, tag=True):
    """Run on_finish in these tasks."""

    tasks: tuple[Whole, ...]


class Superseded(Struct, frozen=True, array_like=True, tag=True):
    """End: another process has taken this one's place; `reason` has the cause in one line."""

    reason: str


class BackPressureCause(Struct, frozen=True, array_like=True, tag=True):
    """Between stream managers: the queue towards `task` passed its high or low water mark."""

    task: Whole
    on: bool


class TreesLost(Struct, frozen=True, array_like=True, tag=True):
    """Between stream managers: the process of `task` has died with tuples that were neither acked
    nor failed. Their roots are unknown, so all trees that may have come to the task fail."""

    task: Whole


class RegisterStreamManager(Registration, frozen=True, array_like=True, tag=True, kw_only=True):
    """A stream manager offers itself to the topology master."""

    container: Whole
    incarnation: Whole
    address: str
    host: str
    pid: Whole
    epoch: Whole
    """Epoch of the stream manager's plan, 0 for none: a master that took over may know an older
    plan."""
    predecessor: str = ""
    """How the predecessor ended; empty for the first stream manager, and in a repetition."""
    socket_path: str = ""


class RegistrationRejected(Struct, frozen=True, array_like=True, tag=True):
    """The master rejects the stream manager, with the reason (naming the present stream
    manager)."""

    reason: str


class PauseStatistics(NamedTuple):
    """One instance's pauses by back-pressure; on the wire an array in this order."""

    causes: tuple[Whole, ...]
    """The tasks that pause the instance now; empty if it runs."""
    paused_secs: float
    """Seconds of all pauses since the stream manager runs."""
    this_pause_secs: float
    """Seconds of the pause that lasts; 0 if the instance runs."""
    share: float
    """Share of the last ten seconds in which the instance was paused, 0 to 1."""


class Heartbeat(Struct, frozen=True, array_like=True, tag=True):
    """A stream manager lives: its own counters and the newest reports of its instances."""

    container: Whole
    metrics: Json
    instances: Mapping[Whole, Json]
    paused: Mapping[Whole, PauseStatistics]
    """task id -> its pauses, for the tasks that ever had any"""


class Ping(Struct, frozen=True, array_like=True, tag=True):
    """Another process offers itself for your container: answer by Pong if you live."""


class Pong(Struct, frozen=True, array_like=True, tag=True):
    """The answer of a stream manager that lives."""

    container: Whole


class HeartbeatAck(Struct, frozen=True, array_like=True, tag=True):
    """The master lives."""


class Command(Struct, frozen=True, array_like=True, tag=True):
    """From the command line to the master: activate, deactivate, drain, stats, update, cancel."""

    name: str
    arguments: Json


class Reply(Struct, frozen=True, array_like=True, tag=True):
    """The master's answer to a Command."""

    ok: bool
    data: Json


UpdateAnswer = SavedForUpdate | NotSavedForUpdate | FailsDeferred
StateMessage = (
    UpdateAnswer
    | CheckpointStored
    | TuplesAbandoned
    | CheckpointFailed
    | Restored
    | RestoreFailed
    | RestoreWanted
)
"""Messages of an instance about its state: saved, restored, or neither."""
FromInstance = (
    RegisterInstance
    | InstanceHeartbeat
    | TraceReport
    | TuplesSampled
    | IncidentRecorded
    | StateAnswered
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | StateMessage
)
ToInstance = (
    Plan
    | Pause
    | Resync
    | QuiescenceProbe
    | FinishBolts
    | SampleTuples
    | RecordIncident
    | LogLevels
    | QueryState
    | Superseded
    | TriggerCheckpoint
    | SaveForUpdate
    | DeferFails
    | OvertakeInput
    | CheckpointCompleted
)
FromStreamManager = (
    RegisterStreamManager
    | Heartbeat
    | Pong
    | TraceReport
    | TuplesSampled
    | IncidentRecorded
    | ShellRan
    | StateAnswered
    | QuiescenceReport
    | SpoutFinished
    | BoltFinished
    | InstanceFailed
    | InstanceReplaced
    | StateMessage
)
ToStreamManager = (
    Plan
    | QuiescenceProbe
    | FinishBolts
    | SampleTuples
    | RecordIncident
    | RunShell
    | LogLevels
    | QueryState
    | RegistrationRejected
    | Ping
    | HeartbeatAck
    | TriggerCheckpoint
    | SaveForUpdate
    | DeferFails
    | CheckpointCompleted
)
Message = (
    FromInstance
    | ToInstance
    | FromStreamManager
    | ToStreamManager
    | BackPressureCause
    | TreesLost
    | StateQuestion
    | StoreBackup
    | BackupStored
    | FetchBackup
    | BackupFetched
    | Command
    | Reply
)
