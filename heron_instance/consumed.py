"""What an instance has processed and its stream manager has not been told of yet."""

from collections import deque
from typing import Protocol

from heron_core.wire.frames import Frames, size_of
from heron_core.wire.packets import encode_consumed

CONSUMED_BYTES = 256 * 1024
"""Processed batches are reported when they amount to this, or when there is nothing else to do: a
quarter of the window, so the stream manager always has room to send more."""
REPORT_SECS = 0.05
"""A slow bolt reports as often as this: its stream manager measures by it how fast it is."""


class Taker(Protocol):
    """What a message is delivered to."""

    @property
    def taken(self) -> int:
        """The number of the last tuple that it has taken."""

    @property
    def begun(self) -> int:
        """The number of the last one that has begun."""


class Consumed:
    """Messages that are processed and not reported."""

    __slots__ = ("_bytes", "_bytes_max", "_due", "_later", "_secs", "messages")

    def __init__(self, bytes_max: int = CONSUMED_BYTES) -> None:
        self.messages = 0
        """Processed since the last report."""
        self._bytes_max = bytes_max
        self._later: deque[tuple[Frames, float, int]] = deque()
        self._bytes = 0
        self._secs = 0.0
        """How long user code has worked on them."""
        self._due = 0.0
        """When they are to be reported, also if more is there to process."""

    def add(self, frames: Frames, started: float, now: float) -> None:
        """A message is processed, on which user code has worked since then."""
        if not self.messages:
            self._due = now + REPORT_SECS
        self._secs += now - started
        self.messages += 1
        self._bytes += size_of(frames)

    def worked(self, secs: float) -> None:
        """A message was cut short after so long: it is processed later."""
        self._secs += secs

    def delivered(self, frames: Frames, started: float, now: float, to: Taker) -> None:
        """As `add`; if its last tuple has not begun, when it has."""
        taken = to.taken
        if taken > to.begun:
            self._later.append((frames, started, taken))
        else:
            self.add(frames, started, now)

    def begun(self, number: float, now: float) -> bool:
        """The tuples up to that number have begun: the messages before it count as processed.
        Whether they are to be reported now."""
        while self._later and self._later[0][2] <= number:
            frames, started, _ = self._later.popleft()
            self.add(frames, started, now)
        return self.messages > 0 and self.is_due(now)

    def is_due(self, now: float) -> bool:
        """Whether they are to be reported now."""
        return self._bytes >= self._bytes_max or now >= self._due

    def report(self, epoch: int, task: int) -> Frames:
        """What tells of them; nothing is left to report then."""
        report = encode_consumed(epoch, task, self.messages, self._secs)
        self.messages = self._bytes = 0
        self._secs = 0.0
        return report

    def validate(self, is_spout: bool) -> None:
        """AssertionError if what is counted does not fit together; between two events."""
        assert (self.messages == 0) == (self._bytes == 0), "bytes without messages"
        assert is_spout or self._bytes < self._bytes_max, f"{self._bytes} bytes are not reported"
