"""Output tuples per input tuple of an instance, for the consumer with the most tuples.

A short queue before a bolt that emits a thousand tuples per input is a long queue for its
consumers: queued tuples are weighted by their expected output.
"""

from heron_core.wire.frames import FrameKind, Header

FADE_TUPLES = 64
"""So many processed tuples count as much as all before them: user code may change its ways."""


class FanOut:
    """Estimated from the instance's output and reports."""

    __slots__ = ("_processed", "sent", "weight")

    def __init__(self) -> None:
        self.weight = 1.0
        """Weight of an input tuple: 1, or the number of its output tuples if larger."""
        self.sent: dict[int, float] = {}
        """Task, or negative container number for fan-outs there -> number of tuples"""
        self._processed = 0.0

    def emitted(self, head: Header) -> None:
        """The instance sends a batch."""
        where = head.destination if head.kind == FrameKind.DATA else -head.destination
        self.sent[where] = self.sent.get(where, 0.0) + head.items

    def processed(self, tuples: int) -> None:
        """The instance has processed input."""
        self._processed += tuples
        if self._processed > 2 * FADE_TUPLES:
            left = FADE_TUPLES / self._processed
            self._processed *= left
            self.sent = {where: each * left for where, each in self.sent.items()}
        if self.sent and self._processed:
            self.weight = max(1.0, max(self.sent.values()) / self._processed)
