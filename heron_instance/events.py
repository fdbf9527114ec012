"""What can happen to an instance, and what it can decide to do (core.py joins them).

The main thread brings the events of the main loop and gets its instructions; the control thread
has events and instructions of its own. `Stopped` may come from any thread.
"""

from dataclasses import dataclass

from heron_core.state.file_snapshot import StateBytes
from heron_core.wire.frames import Frames
from heron_core.wire.messages import FromInstance, ToInstance

# --- of the main thread ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """The main loop begins, or a wait is over."""


@dataclass(slots=True)
class Received:
    """A message of the data connection. Not frozen: one is made for each batch, and making a
    frozen one takes three times as long."""

    frames: Frames


@dataclass(frozen=True, slots=True)
class InputEmpty:
    """There is no message to receive."""


# --- of any thread --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stopped:
    """The process is to end after the call of user code that is under way (SIGTERM)."""


# --- of the control thread ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Connected:
    """The control connection is made."""


@dataclass(frozen=True, slots=True)
class ControlReceived:
    """A message of the stream manager on the control connection."""

    message: ToInstance


@dataclass(frozen=True, slots=True)
class Timer:
    """Time has passed; comes at `InstanceCore.next_heartbeat` or before."""


Event = Turn | Received | InputEmpty | Stopped | Connected | ControlReceived | Timer


# --- instructions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Receive:
    """Main thread: the next event is Received, or InputEmpty if nothing is there."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Main thread: the next event is Turn, as soon as `Wake` was asked for or at `until`."""

    until: float
    for_input: bool
    """Or as soon as there is a message to receive. Not while back-pressure holds a bolt."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Main thread: the main loop is over; close the component, then the process ends."""


@dataclass(frozen=True, slots=True)
class SendControl:
    """Send a message on the control connection."""

    message: FromInstance


@dataclass(frozen=True, slots=True)
class Wake:
    """`SharedState` changed: end the main thread's wait, and its wait in `admit` if it may send."""


@dataclass(frozen=True, slots=True)
class Exit:
    """End the process at once, from the control thread: another one has replaced it."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReportLongCall:
    """A call of user code has not returned for so long: log it, and where it is."""

    secs: float


@dataclass(frozen=True, slots=True)
class SaveState:
    """Main thread: have the state of a checkpoint written to the store by another thread, which
    then says CheckpointStored or CheckpointFailed."""

    checkpoint: int
    state: StateBytes
    moves: bool = False
    """Where no checkpoints are taken: it is for an update of that number, and not our newest."""


@dataclass(frozen=True, slots=True)
class Log:
    """One line for the log, as a warning."""

    text: str


Instruction = Receive | Wait | Finish | SendControl | Wake | Exit | ReportLongCall | SaveState | Log


def name_of(step: Event | Instruction) -> str:
    """An event or an instruction in a word: its message's class if it has one, or its own."""
    return type(getattr(step, "message", step)).__name__
