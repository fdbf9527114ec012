"""What an instance needs from outside: time, chance, the wire, a log, the main thread's calls."""

import logging
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from msgspec import Struct, field

from heron_api.incarnation import Incarnation
from heron_api.run_store import RunStore
from heron_core.component import EngineBolt, EngineSpout
from heron_core.topology import ComponentSpec
from heron_core.wire.messages import FromInstance
from heron_frontends.adapters.construct import construct
from heron_instance.emit.output_buffers import Admit, MaySend, Send
from heron_instance.flight_recorder import FlightRecorder

Clock = Callable[[], float]
CallSoon = Callable[[Callable[[], None]], None]
CallLater = Callable[[float, Callable[[], None]], None]
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]
Construct = Callable[[ComponentSpec, Any], EngineSpout | EngineBolt]


def _wall_ms() -> int:
    return int(time.time() * 1000)


def _always_final(checkpoint: int) -> bool:
    return True


def _always() -> bool:
    return True


def _go_on(secs: float) -> None:
    """Time is no matter."""


def _reported_to_nobody(message: FromInstance) -> None:
    """Stub without a stream manager."""


def _call_now(function: Callable[[], None]) -> None:
    function()


def _identity(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    return call


class NewestStateStore(Protocol):
    """What a task has saved by itself, where no checkpoints are taken."""

    latest: int
    """The highest number of a saved state, after `load`."""
    loaded: tuple[int, bytes | None]
    """Number and state returned by `load`; 0 and None without a state."""

    def load(self) -> bytes | None:
        """The newest state, for a replacement process; None without one. HeronError if
        unavailable."""


class InstanceEnvironment(Struct, frozen=True):
    """The services of one instance."""

    clock: Clock
    rng: Random
    send: Send
    admit: Admit
    logger: logging.Logger
    """Receives the engine's log lines."""
    call_soon: CallSoon = _call_now
    call_later: CallLater | None = None
    """None: a timer in a separate thread, which makes the call by `call_soon`."""
    construct: Construct = construct
    wrap: Wrap = _identity
    """Given "emit", "emit_batch", "ack" or "fail" and its implementation, returns the function
    for user code."""

    may_send: MaySend = _always
    """Whether `admit` would return at once."""
    rest: Callable[[float], object] = _go_on
    """Does nothing for so many seconds, in the middle of a send."""
    load_state: Callable[[int, int], bytes] | None = None
    """The state of a task in a checkpoint, from the checkpoint store; HeronError if unavailable.
    None without checkpoints."""

    is_final: Callable[[int], bool] = _always_final
    """Whether a complete checkpoint of a number cannot be lost: others are not announced to
    components (heron_core.state.backup)."""

    waits_for_state: bool = False
    """Whether the component is created only after its initial state is known. (The tester creates
    the component at once, and again on a restore.)
    """

    fails_at_once: bool = False
    """Whether a failing bolt is never retried: a user's test should see the exception."""

    poll: Callable[[], None] | None = None
    """In the main thread, between two tuples: take the control messages received. None if another
    thread takes control messages.
    """

    report: Callable[[FromInstance], None] = _reported_to_nobody
    """Sends a control message, in the main thread."""

    first_state: bytes | None = None
    """With which the first object begins, in a replay."""
    newest_state: NewestStateStore | None = None
    """Saved states under at-least-once delivery."""
    load_moved: Callable[[int, int], bytes] | None = None
    """State of a task saved for an update, given the update's number and the task; HeronError if
    unavailable. None in topologies with checkpoints.
    """

    incarnation: Incarnation = field(default_factory=Incarnation)
    """Identity of the task's process."""
    run_store: RunStore | None = None
    """Where components keep records of the run; None where processes do not replace each other."""
    wall_ms: Callable[[], int] = _wall_ms
    """Current time, in ms since 1970, for display."""
    recorder: FlightRecorder | None = None
    """Records the instance's steps; None without `topology.flight.recorder`."""
    component_logger: logging.Logger | None = None
    """The user's `self.logger`; None: `logger`."""

    @property
    def is_direct(self) -> bool:
        """Whether user code calls the collector directly."""
        return self.wrap is _identity

    def note_begin(self) -> None:
        """Note the created component for the flight recorder, unless the component waits for its
        state.
        """
        if self.recorder is not None and not self.waits_for_state:
            newest = self.newest_state
            self.recorder.began(*((0, None) if newest is None else newest.loaded))

    def later(self, secs: float, function: Callable[[], None]) -> None:
        """Have `function` called in the main thread in `secs` seconds."""
        if self.call_later is not None:
            self.call_later(secs, function)
            return
        timer = threading.Timer(secs, self.call_soon, (function,))
        timer.daemon = True
        timer.start()
