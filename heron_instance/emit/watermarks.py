"""What the readers of an instance are told of event time, behind what was emitted before.

Tuples that are emitted behind the last watermark, by a tick or a thread, take it back at their
reader, which waits for another one: so the last watermark is sent again behind such tuples.
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
        """Whether the last thing they were told is that nothing more comes."""
        return self._sent_ms == END_OF_TIME

    def is_news(self, watermark_ms: int) -> bool:
        """Whether anybody is to hear of it."""
        is_higher = watermark_ms > self._sent_ms
        return (is_higher or self._is_stale(watermark_ms)) and self._outbox.is_read

    def _is_stale(self, watermark_ms: int) -> bool:
        """Whether it is the last one, and tuples were emitted behind it."""
        is_repeated = watermark_ms == self._sent_ms == END_OF_TIME
        return is_repeated and self._outbox.deliveries != self._deliveries

    def send(self, watermark_ms: int) -> None:
        """From here on no tuple is below it, if that is news."""
        if not self.is_news(watermark_ms):
            return
        outbox = self._outbox
        self._sent_ms = watermark_ms
        outbox.flush()
        self._deliveries = outbox.deliveries
        outbox.send([encode_watermark(outbox.epoch, outbox.task, 0, watermark_ms)])

    def take_back(self, watermark_ms: int) -> None:
        """It was the last watermark, and more tuples come all the same; the one before stands."""
        self._sent_ms = watermark_ms

    def go_on(self, before: "WatermarkOutput") -> None:
        """In place of another one: the readers were told what it has told them."""
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
        """When it passes whatever is kept; None while it does not wait."""

    def may_pass(self, watermark_ms: int, keeps_tuples: bool) -> bool:
        """Whether a watermark may be sent now."""
        if watermark_ms < END_OF_TIME or not (self._counts_acks and keeps_tuples):
            self._due = None
            return True
        now = self._clock()
        if self._due is None:
            self._due = now + self._timeout_secs
        return now >= self._due
