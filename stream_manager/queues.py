"""Queues to local instances, with a window; queues to peers are in peer_queue.

A queue counts bytes and tuples. Delivered input without a report is bounded, in bytes and in
time; further input waits here, where it is counted and becomes a cause when too long.

Idle: at once; busy: merged. An instance that has processed everything, or is fast and has little
left (options.at_once_bytes), receives available input at once. While busy, new input waits until
it amounts to a message (options.pipelined_bytes): many small messages become few large ones, and
a busy instance never waits for the next message.

Seven limits answer two questions:

    how much may be handed and not yet processed?
        options.window_bytes      1 MiB: the loss when an instance dies, whatever its speed
        HANDED_SECS_MAX           the same in time, for a slow instance
        UNKNOWN_TUPLES_MAX        the same before the first report, when the speed is unknown
        options.high_water_tuples the same in tuples, as an instance may turn slow at any moment
    how much is worth a message?
        options.pipelined_bytes   64 KiB, for a busy instance
        PIPELINED_SHARE           of the tuples that may be handed: the same for small ones
        options.at_once_bytes     anything, for a fast instance with less than this left

The limits are independent: bytes bound the memory, time the current delay, and tuples the delay
after the instance has turned slow. A delivery is at least one message.
"""

from itertools import chain

from msgspec import Struct

from heron_core.native import MessageQueue
from heron_core.wire.frames import Frames, epoch_of
from heron_core.wire.merged import MERGED_BYTES_MAX, MERGED_MESSAGES_MAX
from heron_engine.stream_manager.consumer_rate import ConsumerRate
from heron_engine.stream_manager.fan_out import FanOut

HANDED_SECS_MAX = 0.25
"""A slow instance is handed no more work at once: so it can be paused, and little dies with it."""
UNKNOWN_TUPLES_MAX = 64
"""The limit for an instance of unknown speed."""
PIPELINED_SHARE = 0.25
"""Of the tuples that an instance may be handed: it works on three quarters when more is sent."""
ANY_TUPLES = 1 << 62
"""Effectively unlimited."""


class PressureLimits(Struct, frozen=True):
    """A queue with more than this is too long."""

    bytes: int
    tuples: int
    secs: float
    """High-water mark in time."""


class InstanceQueue:
    """Input in transit to one local instance."""

    def __init__(
        self,
        window_bytes: int,
        pipelined_bytes: int,
        at_once_bytes: int = 0,
        handed_tuples_max: int = ANY_TUPLES,
        is_fed: bool = True,
    ) -> None:
        self.is_fed = is_fed
        """Whether other tasks send to the instance. A spout's queue has results of its own
        roots."""
        self._window_bytes = window_bytes
        self._handed_tuples_max = handed_tuples_max
        self._pipelined_bytes = pipelined_bytes
        self._at_once_bytes = at_once_bytes
        self.incarnation: int | None = None
        """Random id of the task's current process; None: not connected."""
        self.superseded: set[int] = set()
        """Earlier processes of the task: one that was only stopped may wake up again."""
        self.born_ms = 0
        """When the process began, by the host's monotonic clock."""
        self.waiting = MessageQueue()
        self.handed = MessageQueue()
        """Handed over and not yet reported as processed, oldest first."""
        self._rate = ConsumerRate()
        self._paused_secs = 0.0
        """How long back-pressure had held the task in all when it last reported."""
        self.fan_out = FanOut()
        self.retains = False
        """Whether the instance has reported tuples as processed, and neither acked nor failed
        them."""
        self.left = 0
        """Messages that have left the queue: processed, lost with a process, or dropped."""
        self.beyond_bytes = self.beyond_tuples = 0
        """Part of the delivered input, taken along by a barrier above the limits. Counts as
        queued for the marks."""

    @property
    def waiting_bytes(self) -> int:
        """Queued bytes."""
        return self.waiting.size

    @property
    def waiting_tuples(self) -> int:
        """Queued tuples."""
        return self.waiting.items

    @property
    def handed_bytes(self) -> int:
        """Bytes delivered to the instance and not yet reported as processed."""
        return self.handed.size

    @property
    def handed_tuples(self) -> int:
        """Tuples delivered to the instance and not yet reported as processed."""
        return self.handed.items

    @property
    def is_worth_a_message(self) -> bool:
        """Whether the queue amounts to a delivery to a busy instance."""
        pipelined_tuples = PIPELINED_SHARE * self._handed_tuples_max
        return (
            self.waiting_bytes >= self._pipelined_bytes
            or self._work(self.waiting_tuples) >= pipelined_tuples
        )

    def set_limits(self, limits: PressureLimits, now: float) -> None:
        """Sizes at which new input is inspected before all available input is read: enough for a
        message, or too much for the queue."""
        waiting, weight = self.waiting, self.fan_out.weight
        long_tuples = limits.tuples / weight - self.beyond_tuples
        if not self._rate.is_known:
            long_tuples = min(long_tuples, UNKNOWN_TUPLES_MAX - self.beyond_tuples)
        if secs := self._rate.secs_per_tuple(self.handed_tuples, now):
            long_tuples = min(long_tuples, limits.secs / secs - self.handed_tuples)
        waiting.limit(
            self._pipelined_bytes, limits.bytes - self.beyond_bytes,
            PIPELINED_SHARE * self._handed_tuples_max / weight, long_tuples,
        )  # fmt: skip

    def _work(self, tuples: int) -> float:
        """Weight of input tuples: their number, or the number of their output tuples."""
        return tuples * self.fan_out.weight

    @property
    def is_open(self) -> bool:
        """Whether the instance may be handed now what waits."""
        if self.incarnation is None:
            return False
        if not self.handed or self._has_much:
            return not self.handed
        has_little = self.handed_bytes < self._at_once_bytes and self._rate.is_quick
        return has_little or self.is_worth_a_message

    @property
    def _has_much(self) -> bool:
        """Whether the delivery limit is reached."""
        return (
            self.handed_bytes >= self._window_bytes
            or self._work(self.handed_tuples) >= self._handed_tuples_max
        )

    @property
    def is_ready(self) -> bool:
        """Whether something waits that may be handed over now."""
        return bool(self.waiting) and self.is_open

    @property
    def pending_tuples(self) -> int:
        """Tuples in transit: queued, or delivered and not yet reported as processed."""
        return self.waiting_tuples + self.handed_tuples

    def pending_secs(self, now: float) -> float:
        """Estimated processing time of the input in transit."""
        return self.pending_tuples * self._rate.secs_per_tuple(self.handed_tuples, now)

    @property
    def queued_bytes(self) -> int:
        """Bytes above the delivery limits: queued, or taken along by a barrier."""
        return self.waiting_bytes + self.beyond_bytes

    @property
    def queued_tuples(self) -> int:
        """Tuples above the delivery limits: queued, or taken along by a barrier."""
        return self.waiting_tuples + self.beyond_tuples

    @property
    def queued_work(self) -> float:
        """Weight of the queue, in tuples: queued tuples, or their output tuples if more."""
        return self._work(self.queued_tuples)

    @property
    def is_too_much_for_a_start(self) -> bool:
        """Whether the queue is long for an instance of unknown speed."""
        return not self._rate.is_known and self.queued_tuples > UNKNOWN_TUPLES_MAX

    @property
    def pending_bytes(self) -> int:
        """Bytes on their way: waiting, or handed over and not yet processed."""
        return self.waiting_bytes + self.handed_bytes

    def offer(self, frames: Frames) -> None:
        """Add a message, which waits for delivery."""
        self.waiting.put(0, frames)

    def take(self, now: float) -> list[Frames]:
        """Input to deliver now, as one message; empty if none."""
        if not self.waiting or not self.is_open:
            return []
        return list(self._hand(self._messages_to_hand(now), now))

    def is_pending(self, message: Frames) -> bool:
        """Whether a message that was offered is not processed yet."""
        return any(each is message for each in chain(self.waiting, self.handed))

    def take_through(self, last: Frames, now: float) -> list[Frames]:
        """Queued messages up to `last`, as one message, regardless of limits; empty if none."""
        number = next((at for at, each in enumerate(self.waiting, 1) if each is last), 0)
        if not number:
            return []
        fitting = self.waiting.fitting(MERGED_MESSAGES_MAX, MERGED_BYTES_MAX)
        taken = self._hand(min(number, fitting), now)
        self.beyond_bytes += taken.size
        self.beyond_tuples += taken.items
        return list(taken)

    def _hand(self, number: int, now: float) -> MessageQueue:
        taken = self.waiting.take(number)
        self.handed.extend(taken)
        self._rate.handed(now)
        return taken

    def _messages_to_hand(self, now: float) -> int:
        """Number of messages at the front for one delivery: at least one."""
        if len(self.waiting) == 1:
            return 1
        bytes_max = min(MERGED_BYTES_MAX, self._window_bytes - self.handed_bytes)
        return self.waiting.fitting(MERGED_MESSAGES_MAX, bytes_max, self._tuples_max(now))

    def _tuples_max(self, now: float) -> float:
        """How many tuples the instance may be handed as one message."""
        most = self._handed_tuples_max / self.fan_out.weight - self.handed_tuples
        secs = self._rate.secs_per_tuple(self.handed_tuples, now)
        if not self._rate.is_known or not secs:
            return min(most, UNKNOWN_TUPLES_MAX)
        return min(most, HANDED_SECS_MAX / secs)

    def processed(
        self, messages: int, busy_secs: float, now: float, paused_secs: float = 0.0
    ) -> None:
        """The instance has processed its oldest `messages`, in the reported time; back-pressure
        has paused its task for `paused_secs` in total."""
        done = self.handed.take(messages)
        done_tuples = done.items
        self.left += len(done)
        if self.beyond_bytes:  # delivered last
            self.beyond_bytes = min(self.beyond_bytes, self.handed_bytes)
            self.beyond_tuples = min(self.beyond_tuples, self.handed_tuples)
        paused = max(0.0, paused_secs - self._paused_secs)
        self._paused_secs = paused_secs
        self._rate.processed(done_tuples, busy_secs, bool(self.handed), now, paused)
        self.fan_out.processed(done_tuples)

    def drop_before(self, epoch: int) -> int:
        """Drop messages of earlier plans; returns their number."""
        waiting = list(self.waiting)
        self.waiting.clear()
        for frames in waiting:
            if epoch_of(frames) >= epoch:
                self.offer(frames)
        dropped = len(waiting) - len(self.waiting)
        self.left += dropped
        return dropped

    def replaced(self, incarnation: int, born_ms: int = 0) -> list[Frames]:
        """A new process serves the task; returns the input lost with its predecessor."""
        self.born_ms = born_ms
        if self.incarnation is not None:
            self.superseded.add(self.incarnation)
        self.incarnation = incarnation
        lost = list(self.handed)
        self.left += len(lost)
        self.handed.clear()
        self.retains = False
        self.beyond_bytes = self.beyond_tuples = 0
        self._rate.replaced()
        return lost

    def validate(self) -> None:
        """AssertionError if the byte count is wrong, or messages wait needlessly."""
        self.waiting.validate()
        self.handed.validate()
        assert self.incarnation is not None or not self.handed
        assert 0 <= self.beyond_bytes <= self.handed_bytes
        assert 0 <= self.beyond_tuples <= self.handed_tuples
