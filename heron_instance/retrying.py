"""A bolt's process after an exception of user code, in a topology with checkpoints.

The process requests a restore of the topology, pauses until then, and is careful afterwards
(attempts.py). The instance's core consults the object before each step.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from heron_core.errors import ProtocolError
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_instance import attempts
from heron_instance.attempts import Attempts, Call, Rows, kind_of
from heron_instance.control_core import Identity
from heron_instance.emit.dead_letters import fault_of
from heron_instance.events import Instruction, SendControl
from heron_instance.input.raised import UserCodeRaised
from heron_instance.shared_state import SharedState

REASON_MAX = 300
"""Characters of what was raised, for people to read."""
AWAIT_SECS = 1.0
"""Poll interval for a restored topology; the plan itself wakes waiting threads."""


class RetryHost(attempts.Host, Protocol):
    """What is needed of the instance's core."""

    identity: Identity

    def enqueue(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""

    def delivered(self, frames: Frames, started: float) -> None:
        """A message is processed, on which user code has worked since then."""


class RetryingBolt:
    """One bolt with undo of calls that raise."""

    def __init__(self, host: RetryHost, clock: Callable[[], float]) -> None:
        self._host = host
        self._clock = clock
        self._attempts: Attempts | None = None
        self._ask_at: float | None = None
        """Time of the restore of the topology; None if not needed, or done."""
        self._raised: UserCodeRaised | None = None
        """Reason for waiting; None if not waiting."""

    def raised(self, raised: UserCodeRaised) -> None:
        """Effects since the newest checkpoint are void."""
        driver, attempts = self._host.bolt, self._attempts
        if self._raised is None and attempts is not None and attempts.abandons(raised):
            driver.abandon_call(raised.where, fault_of(raised.__cause__))
            return
        driver.outbox.discard()
        if self._raised is not None:
            return
        driver.awaits_restore, self._raised = True, raised
        pause_secs = raised.pause_secs
        if attempts is not None:
            attempts.forget()
            pause_secs = attempts.restore_pause_secs(raised)
        self._ask_at = self._clock() + pause_secs

    def note_restore(self) -> None:
        """The topology is restored, for our sake or another's."""
        if self._raised is not None and self._attempts is None and self._host.bolt.can_undo:
            options = self._host.bolt.options
            self._attempts = Attempts(self._host, options.retries, self._kind())
        if self._attempts is not None:
            self._attempts.forget()
        self._raised = self._ask_at = None

    def _kind(self) -> attempts.Kind:
        instance = self._host.instance
        return kind_of(instance.adapter, self._host.bolt.options.state_backend)

    def checkpoint_completed(self) -> None:
        """Earlier input is final and never replayed."""
        if self._attempts is not None:
            self._attempts.checkpoint_completed()
        self._host.bolt.checkpoint_completed()

    # --- the main loop ------------------------------------------------------------------------

    def _await_restore(self, raised: UserCodeRaised, now: float) -> float:
        """Request the restore when due; returns the seconds to wait."""
        if self._ask_at is None:
            return AWAIT_SECS
        if now < self._ask_at:
            return self._ask_at - now
        self._ask_at = None
        who, epoch = self._host.identity.task, self._host.bolt.outbox.epoch
        reason = " ".join(str(raised).split())[:REASON_MAX]
        self._host.enqueue(SendControl(messages.RestoreWanted(who, epoch, reason)))
        return AWAIT_SECS

    def advance(self, shared: SharedState) -> float | None:
        """Make a due attempt: seconds until the next, 0 if made; None without anything to retry."""
        if self._raised is not None:
            return self._await_restore(self._raised, self._clock())
        attempts = self._attempts
        if attempts is None:
            return None
        if attempts.holds and not shared.active:
            # Operations that wait for a checkpoint, such as new code, need not wait for the tuple.
            self.raised(
                UserCodeRaised(attempts.where, "it is not processed, and the topology pauses")
            )
            return 0.0
        return self._try(attempts, self._clock()) if shared.may_send else None

    def _try(self, attempts: Attempts, now: float) -> float | None:
        if attempts.unit is None:
            if attempts.is_over:
                self._attempts = None
                return None
            if not self._host.bolt.take_tick(now):
                return None
            attempts.begin(_tick(now))
        if now < attempts.due:
            return attempts.due - now
        try:
            raised = attempts.go_on(now)
        except ProtocolError as error:
            self._host.bolt.drop_malformed([], error)
            attempts.drop()
            return 0.0
        if raised is not None:
            self.raised(raised)
        return 0.0

    @property
    def is_trying(self) -> bool:
        """Whether a message, a tick or on_finish is under way, and may have to be undone."""
        return self._attempts is not None and self._attempts.unit is not None

    def takes(self, frames: Frames, first: int, is_handed: bool) -> bool:
        """Whether a message, from the tuple at `first` on, is tried with care; if not, it is for
        the driver. `is_handed`: whether the stream manager waits for word of it."""
        attempts, driver = self._attempts, self._host.bolt
        if attempts is None:
            return False
        head = header_of(frames)
        if head.epoch < driver.fence or head.kind not in (FrameKind.DATA, FrameKind.WATERMARK):
            return False
        done = partial(self._host.delivered, frames, self._clock()) if is_handed else _nothing
        if head.kind == FrameKind.DATA:
            driver.reopen(head.source)
            attempts.begin(Rows(frames, done, first))
        else:
            attempts.begin(Call(lambda driver: driver.deliver(frames), done, "a watermark", True))
        return True

    def is_due(self, now: float) -> bool:
        """Whether a tick is due, and tried with care."""
        return self._attempts is not None and self._host.bolt.next_tick <= now

    def finishes(self, done: Callable[[], None]) -> bool:
        """Whether on_finish is tried with care, or when the topology has been restored."""
        if self._raised is not None:
            return True
        if self._attempts is None:
            return False
        self._attempts.begin(Call(lambda driver: driver.finish(), done, "on_finish"))
        return True


def _tick(now: float) -> Call:
    return Call(lambda driver: driver.run_tick(now), _nothing, "process_tick")


def _nothing() -> None:
    pass
