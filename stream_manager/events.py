"""Events and actions of a stream manager (core.py maps events to actions).

Data plane events are not frozen, for speed per batch; they are never modified.
"""

from collections.abc import Mapping

from msgspec import Struct

from heron_core.plans import PackingPlan
from heron_core.wire.frames import Frames
from heron_core.wire.merged import merge
from heron_core.wire.messages import (
    BackupFetched,
    BackupStored,
    FromStreamManager,
    LogLevels,
    RunShell,
    ShellRan,
    StateAnswered,
    ToInstance,
)


class FromInstance(Struct):
    """A data-plane message of a local instance's process `incarnation`."""

    task: int
    incarnation: int
    frames: Frames


class FromPeer(Struct):
    """A message of another stream manager: a link frame, and usually more behind it."""

    frames: Frames


class FromInstanceControl(Struct, frozen=True):
    """A control message of a local instance's process `incarnation`."""

    task: int
    incarnation: int
    message: object


class FromMaster(Struct, frozen=True):
    """A control message of the topology master."""

    message: object


class FromClient(Struct, frozen=True):
    """A message of a client, over the connection `client`."""

    client: bytes
    message: object


class StreamManagerMalformed(Struct, frozen=True):
    """Bytes came that are no message; `reason` says why."""

    reason: str


class StreamManagerOtherEngine(Struct, frozen=True):
    """An instance of another protocol registers; `reason` says that, and the cure."""

    task: int
    incarnation: int
    reason: str


class MasterConnected(Struct, frozen=True):
    """A connection to a topology master was opened."""

    registers: bool = True
    """Whether to send the own identity; False if already in transit."""


class MasterReplaced(Struct, frozen=True):
    """The connection to the topology master broke, and another master is in the state store."""


class PeerBlocked(Struct, frozen=True):
    """A peer's socket took no more, from the message with this number on; 0: a link frame alone."""

    container: int
    number: int


class PeerWritable(Struct, frozen=True):
    """A peer's socket takes messages again."""

    container: int


class ShellEnded(Struct, frozen=True):
    """A command beside the container has ended."""

    result: ShellRan


class StreamManagerTimer(Struct, frozen=True):
    """Time has passed; comes several times a second."""


class InputTaken(Struct, frozen=True):
    """All available input is processed: send the results, merged by receiver."""


ControlEvent = (
    FromInstanceControl
    | FromMaster
    | FromClient
    | StreamManagerMalformed
    | StreamManagerOtherEngine
    | MasterConnected
    | MasterReplaced
    | PeerBlocked
    | PeerWritable
    | ShellEnded
    | StreamManagerTimer
)
"""All that are about something else than messages of the data plane."""
Event = FromInstance | FromPeer | InputTaken | ControlEvent


class ToLocal(Struct):
    """Put a data-plane message on the way to a local instance's process."""

    task: int
    incarnation: int
    frames: Frames


class ToPeer(Struct):
    """Try to send some messages as one to another stream manager; PeerBlocked if its socket is
    full."""

    container: int
    number: int
    """Of the message on the link; 0 for a link frame alone."""
    link: bytes
    """The link frame."""
    waiting: list[tuple[int, Frames]]
    """(destination task, message) of the merged messages"""

    @property
    def frames(self) -> Frames:
        """The messages as one, behind the link frame."""
        if not self.waiting:
            return [self.link]
        return [self.link, *merge([frames for _, frames in self.waiting])]


class ToLocalControl(Struct, frozen=True):
    """Send a control message to a local instance."""

    task: int
    incarnation: int
    message: ToInstance


class ToMaster(Struct, frozen=True):
    """Send a message to the topology master."""

    message: FromStreamManager


class ToClient(Struct, frozen=True):
    """Answer a client, if its connection still exists."""

    client: bytes
    message: StateAnswered | BackupStored | BackupFetched


class ConnectPeers(Struct, frozen=True):
    """These are the peers' addresses now (container -> address); drop other connections."""

    addresses: Mapping[int, str]


class ApplyPacking(Struct, frozen=True):
    """The topology is scaled: let the executor run this container's instances by `packing`."""

    packing: PackingPlan


class StartShell(Struct, frozen=True):
    """Run a shell command beside the container; ShellEnded is the answer."""

    request: RunShell


class FindMaster(Struct, frozen=True):
    """The master is silent: look its address up again and connect."""


class StreamManagerLog(Struct, frozen=True):
    """One line for the log."""

    text: str


class StreamManagerLogLevels(Struct, frozen=True):
    """Set the log levels of this process."""

    levels: LogLevels


class StreamManagerExit(Struct, frozen=True):
    """End this process, with a reason for the log."""

    reason: str
    code: int


Instruction = (
    ToLocal
    | ToPeer
    | ToLocalControl
    | ToMaster
    | ToClient
    | ConnectPeers
    | ApplyPacking
    | StartShell
    | FindMaster
    | StreamManagerLog
    | StreamManagerLogLevels
    | StreamManagerExit
)
