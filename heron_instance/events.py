"""Events and instructions of an instance (core.py maps events to instructions).

The main thread delivers the events of the main loop and carries out its instructions; the
control thread has its own events and instructions. `Stopped` may come from any thread.
"""

from msgspec import Struct

from heron_core.state.file_snapshot import StateBytes
from heron_core.wire.frames import Frames
from heron_core.wire.messages import FromInstance, LogLevels, ToInstance

# --- of the main thread ---------------------------------------------------------------------------


class Turn(Struct, frozen=True):
    """The main loop begins, or a wait is over."""


class InstanceReceived(Struct):
    """A message of the data connection. Not frozen: one is made for each batch, and making a
    frozen one takes three times as long."""

    frames: Frames


class InputEmpty(Struct, frozen=True):
    """No message is available."""


# --- of any thread --------------------------------------------------------------------------------


class Stopped(Struct, frozen=True):
    """The process is to end after the call of user code that is under way (SIGTERM)."""


# --- of the control thread ------------------------------------------------------------------------


class Connected(Struct, frozen=True):
    """The control connection is made."""


class ControlReceived(Struct, frozen=True):
    """A message of the stream manager on the control connection."""

    message: ToInstance


class InstanceTimer(Struct, frozen=True):
    """Time has passed; comes at `InstanceCore.next_heartbeat` or before."""


Event = Turn | InstanceReceived | InputEmpty | Stopped | Connected | ControlReceived | InstanceTimer


# --- instructions ---------------------------------------------------------------------------------


class Receive(Struct, frozen=True):
    """Main thread: the next event is InstanceReceived, or InputEmpty without input."""


class Wait(Struct, frozen=True):
    """Main thread: the next event is Turn, as soon as `Wake` was asked for or at `until`."""

    until: float
    for_input: bool
    """Or as soon as there is a message to receive. Not while back-pressure holds a bolt."""


class FinishLoop(Struct, frozen=True):
    """Main thread: the main loop is over; close the component, then the process ends."""


class SendControl(Struct, frozen=True):
    """Send a message on the control connection."""

    message: FromInstance


class Wake(Struct, frozen=True):
    """`SharedState` changed: end the main thread's wait, and its wait in `admit` if it may send."""


class InstanceExit(Struct, frozen=True):
    """End the process immediately, from the control thread: a replacement is running."""

    reason: str


class ReportLongCall(Struct, frozen=True):
    """A call of user code has not returned for so long: log it, and where it is."""

    secs: float


class InstanceLogLevels(Struct, frozen=True):
    """Control thread: set the log levels of this process."""

    levels: LogLevels


class SaveState(Struct, frozen=True):
    """Main thread: have the state of a checkpoint written to the store by another thread, which
    then says CheckpointStored or CheckpointFailed."""

    checkpoint: int
    state: StateBytes
    moves: bool = False
    """Where no checkpoints are taken: it is for an update of that number, and not our newest."""


class InstanceLog(Struct, frozen=True):
    """One line for the log, as a warning."""

    text: str


Instruction = (
    Receive
    | Wait
    | FinishLoop
    | SendControl
    | Wake
    | InstanceExit
    | ReportLongCall
    | InstanceLogLevels
    | SaveState
    | InstanceLog
)


def name_of(step: Event | Instruction) -> str:
    """Short name of an event or instruction: the class of its message, or its own class."""
    return type(getattr(step, "message", step)).__name__
