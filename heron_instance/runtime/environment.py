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

Clock = Callable[[], float]
CallSoon = Callable[[Callable[[], None]], None]
CallLater = Callable[[float, Callable[[], None]], None]
Wrap = Callable[[str, Callable[..., Any]], Callable[..., Any]]
Construct = Callable[[ComponentSpec, Any], EngineSpout | EngineBolt]


def _wall_ms() -> int:
    return int(time.time() * 1000)


def _always() -> bool:
    return True


def _go_on(secs: float) -> None:
    """Time is no matter."""


def _reported_to_nobody(message: FromInstance) -> None:
    """There is no stream manager."""


def _call_now(function: Callable[[], None]) -> None:
    function()


def _identity(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    return call


class NewestStateStore(Protocol):
    """What a task has saved by itself, where no checkpoints are taken."""

    latest: int
    """The highest number that one has, after `load`."""

    def load(self) -> bytes | None:
        """The newest, for a process that replaces another; None if there is none. HeronError if it
        cannot be had."""


class InstanceEnvironment(Struct, frozen=True):
    """The services of one instance."""

    clock: Clock
    rng: Random
    send: Send
    admit: Admit
    logger: logging.Logger
    """Takes what the engine logs."""
    call_soon: CallSoon = _call_now
    call_later: CallLater | None = None
    """None: a timer in a thread of its own, whose call then comes by `call_soon`."""
    construct: Construct = construct
    wrap: Wrap = _identity
    """Given "emit", "emit_batch", "ack" or "fail" and what does it, returns what user code is to
    call."""

    may_send: MaySend = _always
    """Whether `admit` would return at once."""
    rest: Callable[[float], object] = _go_on
    """Does nothing for so many seconds, in the middle of a send."""
    load_state: Callable[[int, int], bytes] | None = None
    """The state of a task in a checkpoint, given the checkpoint and the task, from the checkpoint
    store; HeronError if it cannot be had. None where nobody takes checkpoints."""

    waits_for_state: bool = False
    """Whether the component is only made when it is known with which state it begins. (The tester
    makes it at once, and again when it is restored.)"""

    fails_at_once: bool = False
    """Whether a bolt that raises never tries again: a user's test is to see what it raised."""

    poll: Callable[[], None] | None = None
    """In the main thread, between two tuples: take the control messages that have come. None where
    they are taken anyway."""

    report: Callable[[FromInstance], None] = _reported_to_nobody
    """Sends a control message, in the main thread."""

    newest_state: NewestStateStore | None = None
    """Of a topology that runs at least once: what its components with state have saved."""
    load_moved: Callable[[int, int], bytes] | None = None
    """The state of a task that was saved for an update, given the update's number and the task;
    HeronError if it cannot be had. None where checkpoints are taken."""

    incarnation: Incarnation = field(default_factory=Incarnation)
    """Which process of its task this is."""
    run_store: RunStore | None = None
    """Where components keep records of the run; None where processes do not replace each other."""
    wall_ms: Callable[[], int] = _wall_ms
    """What time it is, in ms since 1970: for people."""
    component_logger: logging.Logger | None = None
    """What user code finds as `self.logger`; None: `logger` as well."""

    @property
    def is_direct(self) -> bool:
        """Whether user code calls the collector itself, nothing around it."""
        return self.wrap is _identity

    def later(self, secs: float, function: Callable[[], None]) -> None:
        """Have `function` called in the main thread in `secs` seconds."""
        if self.call_later is not None:
            self.call_later(secs, function)
            return
        timer = threading.Timer(secs, self.call_soon, (function,))
        timer.daemon = True
        timer.start()
