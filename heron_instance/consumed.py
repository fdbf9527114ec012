"""What an instance has processed and its stream manager has not been told of yet."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from heron_core.wire.frames import Frames, size_of
from heron_core.wire.packets import encode_consumed

CONSUMED_BYTES = 256 * 1024
"""Report threshold of processed batches, besides idle input: a quarter of the window, so that
the stream manager always has room to send."""
REPORT_SECS = 0.05
"""Report interval of a slow bolt: the stream manager measures the bolt's speed by reports."""


class Sender(Protocol):
    """Buffers of a task."""

    @property
    def task(self) -> int:
        """Its id."""


class Reporter(Protocol):
    """Author of a report."""

    @property
    def outbox(self) -> Sender:
        """Sender of acks and emits."""

    @property
    def retains(self) -> bool:
        """Whether tuples of processed messages are neither acked nor failed."""


class Taker(Protocol):
    """Target of a message."""

    @property
    def taken(self) -> int:
        """Number of the last received tuple."""

    @property
    def begun(self) -> int:
        """Number of the last started tuple."""


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
        """Time of the next report while input is available."""

    def add(self, frames: Frames, started: float, now: float) -> None:
        """A message is processed, on which user code has worked since then."""
        if not self.messages:
            self._due = now + REPORT_SECS
        self._secs += now - started
        self.messages += 1
        self._bytes += size_of(frames)

    def add_several(self, messages: Sequence[Frames], secs: float, now: float) -> None:
        """Like `add`, of messages that are processed together."""
        if not self.messages:
            self._due = now + REPORT_SECS
        self._secs += secs
        self.messages += len(messages)
        self._bytes += sum(map(size_of, messages))

    def room(self) -> int:
        """Bytes until a report is due."""
        return self._bytes_max - self._bytes

    def worked(self, secs: float) -> None:
        """A message was cut short after so long: it is processed later."""
        self._secs += secs

    def delivered(self, frames: Frames, started: float, now: float, to: Taker) -> None:
        """Like `add`; counted when the message's last tuple has started."""
        taken = to.taken
        if taken > to.begun:
            self._later.append((frames, started, taken))
        else:
            self.add(frames, started, now)

    def begun(self, number: float, now: float) -> bool:
        """Tuples up to the number have started: earlier messages count as processed. Whether a
        report is due."""
        while self._later and self._later[0][2] <= number:
            frames, started, _ = self._later.popleft()
            self.add(frames, started, now)
        return self.messages > 0 and self.is_due(now)

    def is_due(self, now: float) -> bool:
        """Whether they are to be reported now."""
        return self._bytes >= self._bytes_max or now >= self._due

    def report(self, epoch: int, by: Reporter) -> Frames:
        """The report; resets the counts."""
        report = encode_consumed(epoch, by.outbox.task, self.messages, self._secs, by.retains)
        self.messages = self._bytes = 0
        self._secs = 0.0
        return report

    def validate(self, is_spout: bool) -> None:
        """AssertionError if what is counted does not fit together; between two events."""
        assert (self.messages == 0) == (self._bytes == 0), "bytes without messages"
        assert is_spout or self._bytes < self._bytes_max, f"{self._bytes} bytes are not reported"
