"""Queue to another stream manager: messages wait, are numbered, and are retained until
acknowledged."""

from collections.abc import Iterator
from itertools import islice

from heron_core.native import MessageQueue
from heron_core.wire.frames import Frames
from heron_core.wire.merged import MERGED_BYTES_MAX, MERGED_MESSAGES_MAX
from heron_engine.stream_manager.link import LINK_BYTES_MAX, Numbered, Outgoing

PEER_BURST = 16
"""Merged messages tried when a peer's socket is writable: about the size of its buffer."""


class PeerQueue:
    """The queue to one other stream manager, and the sending direction of its link."""

    def __init__(self, bytes_max: int = LINK_BYTES_MAX, generation: int = 0) -> None:
        """`bytes_max`: limit of unacknowledged data; further messages wait."""
        self._bytes_max = bytes_max
        self.blocked = False
        """Whether to poll the socket until it accepts messages again."""
        self.outgoing = Outgoing(bytes_max, generation)
        self.unnumbered = MessageQueue(is_tagged=True)
        self.unnumbered.bytes_limit = MERGED_BYTES_MAX
        """(destination task, one of several for a fan-out, 0 for none; message), not yet
        numbered"""

    @property
    def waiting_bytes(self) -> int:
        """Unsent data: counted by back-pressure."""
        return self.unnumbered.size + self.outgoing.untransmitted_bytes

    def put(self, destination: int, frames: Frames) -> None:
        """Add a message at the end."""
        self.unnumbered.put(destination, frames)

    def take_fresh(self) -> set[int]:
        """Tasks of messages added since the last call."""
        fresh, self.unnumbered.fresh = self.unnumbered.fresh, 0
        return {task for task, _ in islice(reversed(self.unnumbered.messages), fresh)}

    @property
    def is_full_message(self) -> bool:
        """Whether unnumbered messages fill a merged message."""
        return self.unnumbered.size >= MERGED_BYTES_MAX

    @property
    def is_ready(self) -> bool:
        """Whether something is to be handed to the socket, and may be."""
        has_more = bool(self.unnumbered) and self.outgoing.has_capacity
        return not self.blocked and (has_more or self.outgoing.untransmitted_bytes > 0)

    def take(self, now: float) -> Numbered | None:
        """The next message for the socket; None if the queue is empty, or above the limit."""
        if self.unnumbered and self.outgoing.has_capacity and not self.outgoing.untransmitted_bytes:
            self._number(now)
        return self.outgoing.transmit()

    def _number(self, now: float) -> None:
        number = self.unnumbered.fitting(MERGED_MESSAGES_MAX, MERGED_BYTES_MAX)
        taken = self.unnumbered.take(number)
        self.outgoing.number(list(taken), taken.size, now)

    def refused(self, number: int) -> None:
        """The socket is full from the numbered message on."""
        self.blocked = True
        self.outgoing.refused(number)

    def burst(self, now: float) -> Iterator[Numbered]:
        """The next few messages for a writable socket; `blocked` if more remain."""
        self.blocked = False
        for _ in range(PEER_BURST):
            if (message := self.take(now)) is None:
                return
            yield message
        self.blocked = self.is_ready

    def restart(self, generation: int) -> list[tuple[int, Frames]]:
        """Restart the numbers of a link that cannot be continued; returns messages possibly
        lost."""
        lost = self.outgoing.restart()
        self.outgoing = Outgoing(self._bytes_max, generation)
        return lost

    def waiting(self) -> list[tuple[int, Frames]]:
        """(destination task, message) of all unsent messages."""
        return [*self.outgoing.untransmitted(), *self.unnumbered]

    def is_stuck(self, now: float) -> bool:
        """Whether messages wait for a peer that does not receive or acknowledge."""
        return (self.blocked and self.waiting_bytes > 0) or self.outgoing.is_overdue(now)

    def destinations(self) -> set[int]:
        """Tasks with queued messages."""
        return {task for task, _ in self.waiting()} - {0}

    def validate(self) -> None:
        """AssertionError if the byte count is wrong."""
        self.unnumbered.validate()
        self.outgoing.validate()
