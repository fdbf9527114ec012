"""How many tuples come of one that an instance processes, for the consumer that gets most of them.

A short queue before a bolt that makes a thousand tuples of each is a long one for whoever gets
them: what waits is counted by what will come of it.
"""

from heron_core.wire.frames import FrameKind, Header

FADE_TUPLES = 64
"""So many processed tuples count as much as all before them: user code may change its ways."""


class FanOut:
    """Counted by what the instance sends and by what it reports."""

    __slots__ = ("_processed", "sent", "weight")

    def __init__(self) -> None:
        self.weight = 1.0
        """Of a tuple of its input: itself, or what comes of it if that is more."""
        self.sent: dict[int, float] = {}
        """Task, or container below zero of what is fanned out there -> tuples for it"""
        self._processed = 0.0

    def emitted(self, head: Header) -> None:
        """The instance sends a batch."""
        where = head.destination if head.kind == FrameKind.DATA else -head.destination
        self.sent[where] = self.sent.get(where, 0.0) + head.items

    def processed(self, tuples: int) -> None:
        """It has processed some of its input."""
        self._processed += tuples
        if self._processed > 2 * FADE_TUPLES:
            left = FADE_TUPLES / self._processed
            self._processed *= left
            self.sent = {where: each * left for where, each in self.sent.items()}
        if self.sent and self._processed:
            self.weight = max(1.0, max(self.sent.values()) / self._processed)
