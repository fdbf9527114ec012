"""Events and actions of the topology master (core.py maps events to actions)."""

from typing import Any, assert_never

from msgspec import Struct, field

from heron_core.topology_events import TopologyEvent, event_text
from heron_core.traces import Execution
from heron_core.wire.messages import (
    Command,
    FromStreamManager,
    HeartbeatAck,
    LogLevels,
    Reply,
    RunShell,
    ShellRan,
    ToStreamManager,
)

ABOUT = ("container", "task", "name")
"""Message fields that identify the subject."""


class MasterReceived(Struct, frozen=True):
    """A message of the connection `sender` (opaque bytes of the transport)."""

    sender: bytes
    message: FromStreamManager | Command


class MasterMalformed(Struct, frozen=True):
    """Bytes came that are no message; `reason` says why."""

    reason: str


class MasterOtherEngine(Struct, frozen=True):
    """A stream manager of another protocol offers itself; `reason` says that, and the cure."""

    sender: bytes
    reason: str


class MasterShellEnded(Struct, frozen=True):
    """A command beside container 0 has ended."""

    result: ShellRan


class MasterTimer(Struct, frozen=True):
    """Time has passed; comes many times a second."""

    stored: bool = True
    """Whether the state store has received all writes so far."""


class StatesSought(Struct, frozen=True):
    """Content of a checkpoint in the store, as seen on the topology master's host."""

    checkpoint: int
    folder: str
    """Location of the store, as opened by processes."""
    missing: tuple[int, ...] = ()
    """The tasks whose state is not there."""
    failure: str = ""
    """Why the store cannot be read; empty if it was."""


Event = (
    MasterReceived
    | MasterMalformed
    | MasterOtherEngine
    | MasterShellEnded
    | MasterTimer
    | StatesSought
)


class Send(Struct, frozen=True):
    """Send a message to a connection."""

    receiver: bytes
    message: ToStreamManager | Reply


class StorePlan(Struct, frozen=True):
    """Write the physical plan to the state store."""

    plan: dict[str, Any]


class StorePacking(Struct, frozen=True):
    """Write the packing plan that is to be to the state store, and have the
    containers adapted to it."""

    packing: dict[str, Any]


class StoreState(Struct, frozen=True):
    """Write the topology's execution state to the state store."""

    state: str
    reason: str
    draining: bool = False
    update: dict[str, Any] = field(default_factory=dict)
    """Update record for a master that takes over (update/machine.py)."""


class StoreStatistics(Struct, frozen=True):
    """Record the statistics for a master that takes over."""

    statistics: dict[str, Any]


class StoreCheckpoints(Struct, frozen=True):
    """Write to the state store which checkpoints are complete, and the highest number."""

    checkpoints: dict[str, Any]


class MasterStartShell(Struct, frozen=True):
    """Run a shell command beside container 0; MasterShellEnded is the answer."""

    request: RunShell


class SeekStates(Struct, frozen=True):
    """Look whether the states of a checkpoint's tasks are in the checkpoint store that the master
    sees; StatesSought is the answer."""

    checkpoint: int
    tasks: tuple[int, ...]


class DescribeCheckpoint(Struct, frozen=True):
    """Write the checkpoint's description into the checkpoint store, after all its states."""

    checkpoint: int
    at: float
    """When it was triggered, in seconds since 1970."""
    at_end: str = ""
    """Phase of the end during the checkpoint; empty before the end."""


class DiscardCheckpoint(Struct, frozen=True):
    """Remove a checkpoint's states from the checkpoint store: it will not be restored."""

    checkpoint: int


class ExportTrace(Struct, frozen=True):
    """Spans are to be made of this and exported, if traces are wanted."""

    task: int
    executions: tuple[Execution, ...]


class WriteEvent(Struct, frozen=True):
    """Something happened that people want to know: a line for events.log."""

    event: TopologyEvent


class MasterLogLevels(Struct, frozen=True):
    """Set the log levels of this process."""

    levels: LogLevels


class MasterLog(Struct, frozen=True):
    """One line for the log."""

    text: str


Instruction = (
    Send
    | StorePlan
    | StorePacking
    | StoreState
    | StoreStatistics
    | StoreCheckpoints
    | MasterStartShell
    | SeekStates
    | DescribeCheckpoint
    | DiscardCheckpoint
    | ExportTrace
    | WriteEvent
    | MasterLogLevels
    | MasterLog
)


def cause_of(event: Event) -> str:
    """An event in a few words, for the transition log."""
    match event:
        case MasterTimer():
            return "Timer"
        case MasterMalformed(reason):
            return f"malformed: {reason}"
        case MasterShellEnded(result):
            return f"the end of command {result.run}"
        case MasterOtherEngine(sender, reason):
            return f"of another engine: {sender!r}"
        case StatesSought(checkpoint, _, missing, failure):
            return f"states of checkpoint {checkpoint}: {failure or f'{len(missing)} not seen'}"
        case MasterReceived(sender, message):
            about = next((getattr(message, each) for each in ABOUT if hasattr(message, each)), "")
            return f"{type(message).__name__}({about}) from {sender!r}"
        case _:
            assert_never(event)


def effect_of(instruction: Instruction) -> str | None:
    """An instruction in a few words, for the transition log; None if it is routine."""
    match instruction:
        case Send(_, HeartbeatAck() | Reply()) | StoreStatistics() | ExportTrace():
            return None
        case WriteEvent(event):
            return event_text(event)
        case Send(_, message):
            return type(message).__name__
        case StoreState(state, reason):
            return f"StoreState {state} {reason}".rstrip()
        case MasterLog(text):
            return text
        case (
            StorePlan()
            | StorePacking()
            | StoreCheckpoints()
            | MasterStartShell()
            | SeekStates()
            | DescribeCheckpoint()
            | DiscardCheckpoint()
            | MasterLogLevels()
        ):
            return type(instruction).__name__
        case _:
            assert_never(instruction)
