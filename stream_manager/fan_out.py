"""How many tuples come of one that an instance processes, for the consumer that gets most of them.

A short queue before a bolt that makes a thousand tuples of each is a long one for whoever gets
them: what waits is counted by what will come of it.
"""

from heron_core.wire.frames import Header

FADE_TUPLES = 64
"""So many processed tuples count as much as all before them: user code may change its ways."""


class FanOut:
    """Counted by what the instance sends and by what it reports."""

    __slots__ = ("_emitted", "_processed", "weight")

    def __init__(self) -> None:
        self.weight = 1.0
        """Of a tuple of its input: itself, or what comes of it if that is more."""
        self._emitted: dict[tuple[int, int], float] = {}
        """(kind of batch, task or container) -> tuples for it"""
        self._processed = 0.0

    def emitted(self, head: Header) -> None:
        """The instance sends a batch."""
        where = head.kind, head.destination
        self._emitted[where] = self._emitted.get(where, 0.0) + head.items

    def processed(self, tuples: int) -> None:
        """It has processed some of its input."""
        self._processed += tuples
        if self._processed > 2 * FADE_TUPLES:
            left = FADE_TUPLES / self._processed
            self._processed *= left
            self._emitted = {where: each * left for where, each in self._emitted.items()}
        if self._emitted and self._processed:
            self.weight = max(1.0, max(self._emitted.values()) / self._processed)
