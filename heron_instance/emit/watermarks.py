"""Watermarks sent by an instance to its readers, after earlier emits.

Tuples emitted after the last watermark, by a tick or a thread, invalidate the end at their
readers, which wait for a new end: so the last watermark is repeated after such tuples.
"""

from collections.abc import Callable

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK
from heron_core.wire.packets import encode_watermark
from heron_instance.emit.output_buffers import Outbox
from heron_instance.options import InstanceOptions


class WatermarkOutput:
    """Sends each watermark once, in order with the tuples."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._sent_ms = NO_WATERMARK
        self._deliveries = 0
        """Of the outbox, when the newest watermark was sent."""

    @property
    def is_ended(self) -> bool:
        """Whether the last message was the end of the data."""
        return self._sent_ms == END_OF_TIME

    def is_news(self, watermark_ms: int) -> bool:
        """Whether to send the watermark: it is higher than the last, or repeats the end after
        later tuples. False without readers."""
        is_higher = watermark_ms > self._sent_ms
        return (is_higher or self._is_stale(watermark_ms)) and self._outbox.is_read

    def _is_stale(self, watermark_ms: int) -> bool:
        """Whether tuples were emitted after the last watermark."""
        is_repeated = watermark_ms == self._sent_ms == END_OF_TIME
        return is_repeated and self._outbox.deliveries != self._deliveries

    def send(self, watermark_ms: int) -> None:
        """Send a higher watermark: a lower bound of all later tuples."""
        if not self.is_news(watermark_ms):
            return
        outbox = self._outbox
        self._sent_ms = watermark_ms
        outbox.flush()
        self._deliveries = outbox.deliveries
        outbox.send([encode_watermark(outbox.epoch, outbox.task, 0, watermark_ms)])

    def take_back(self, watermark_ms: int) -> None:
        """Withdraw the end: more tuples follow, and the previous watermark is valid."""
        self._sent_ms = watermark_ms

    def go_on(self, before: "WatermarkOutput") -> None:
        """Take over the watermark of the previous object."""
        self._sent_ms, self._deliveries = before._sent_ms, before._deliveries

    def send_again(self) -> None:
        """The readers may not know what they were told: a stream manager was replaced, say."""
        self._sent_ms = NO_WATERMARK


class EndOfInput:
    """When the last watermark of a bolt may pass the tuples that it keeps, until a tick say: behind
    them, or after a message timeout. What is still kept then has failed."""

    def __init__(
        self, counts_acks: bool, options: InstanceOptions, clock: Callable[[], float]
    ) -> None:
        """`counts_acks`: a tuple without an ack is kept; others may leave their acks out."""
        self._counts_acks = counts_acks
        self._timeout_secs = options.message_timeout_secs
        self._clock = clock
        self._due: float | None = None
        """The watermark that releases all retained data; None while not waiting."""

    def may_pass(self, watermark_ms: int, keeps_tuples: bool) -> bool:
        """Whether a watermark may be sent now."""
        if watermark_ms < END_OF_TIME or not (self._counts_acks and keeps_tuples):
            self._due = None
            return True
        now = self._clock()
        if self._due is None:
            self._due = now + self._timeout_secs
        return now >= self._due
