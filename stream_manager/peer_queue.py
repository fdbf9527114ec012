"""What is for another stream manager: it waits, is numbered, and is kept until it has arrived."""

from collections.abc import Iterator
from itertools import islice

from heron_core.native import MessageQueue
from heron_core.wire.frames import Frames
from heron_core.wire.merged import MERGED_BYTES_MAX, MERGED_MESSAGES_MAX
from heron_engine.stream_manager.link import LINK_BYTES_MAX, Numbered, Outgoing

PEER_BURST = 16
"""Merged messages tried each time a peer's socket is writable: about what its buffer takes."""


class PeerQueue:
    """The queue towards one other stream manager, and the sending direction of its link."""

    def __init__(self, bytes_max: int = LINK_BYTES_MAX, generation: int = 0) -> None:
        """`bytes_max`: what is kept until it is acknowledged; the rest waits."""
        self._bytes_max = bytes_max
        self.blocked = False
        """Whether the socket is to be watched until it takes messages again."""
        self.outgoing = Outgoing(bytes_max, generation)
        self.unnumbered = MessageQueue(is_tagged=True)
        self.unnumbered.bytes_limit = MERGED_BYTES_MAX
        """(destination task, one of them for a fan-out, 0 if none; message), not numbered yet"""

    @property
    def waiting_bytes(self) -> int:
        """What the socket was not handed: back-pressure counts it."""
        return self.unnumbered.size + self.outgoing.untransmitted_bytes

    def put(self, destination: int, frames: Frames) -> None:
        """Add a message at the end."""
        self.unnumbered.put(destination, frames)

    def take_fresh(self) -> set[int]:
        """The tasks for which something was put since the last call."""
        fresh, self.unnumbered.fresh = self.unnumbered.fresh, 0
        return {task for task, _ in islice(reversed(self.unnumbered.messages), fresh)}

    @property
    def is_full_message(self) -> bool:
        """Whether what waits fills a merged message."""
        return self.unnumbered.size >= MERGED_BYTES_MAX

    @property
    def is_ready(self) -> bool:
        """Whether something is to be handed to the socket, and may be."""
        has_more = bool(self.unnumbered) and self.outgoing.has_capacity
        return not self.blocked and (has_more or self.outgoing.untransmitted_bytes > 0)

    def take(self, now: float) -> Numbered | None:
        """The next message for the socket; None if nothing waits, or too much is kept."""
        if self.unnumbered and self.outgoing.has_capacity and not self.outgoing.untransmitted_bytes:
            self._number(now)
        return self.outgoing.transmit()

    def _number(self, now: float) -> None:
        number = self.unnumbered.fitting(MERGED_MESSAGES_MAX, MERGED_BYTES_MAX)
        taken = self.unnumbered.take(number)
        self.outgoing.number(list(taken), taken.size, now)

    def refused(self, number: int) -> None:
        """The socket took no more, from this message on."""
        self.blocked = True
        self.outgoing.refused(number)

    def burst(self, now: float) -> Iterator[Numbered]:
        """The socket takes messages again: the next few; blocked as long as there are more."""
        self.blocked = False
        for _ in range(PEER_BURST):
            if (message := self.take(now)) is None:
                return
            yield message
        self.blocked = self.is_ready

    def restart(self, generation: int) -> list[tuple[int, Frames]]:
        """The link cannot be continued: numbers start again; returns what may not have arrived."""
        lost = self.outgoing.restart()
        self.outgoing = Outgoing(self._bytes_max, generation)
        return lost

    def waiting(self) -> list[tuple[int, Frames]]:
        """(destination task, message) of all that the socket was not handed."""
        return [*self.outgoing.untransmitted(), *self.unnumbered]

    def is_stuck(self, now: float) -> bool:
        """Whether something waits for a peer that takes nothing, or does not acknowledge it."""
        return (self.blocked and self.waiting_bytes > 0) or self.outgoing.is_overdue(now)

    def destinations(self) -> set[int]:
        """The tasks for which something waits."""
        return {task for task, _ in self.waiting()} - {0}

    def validate(self) -> None:
        """AssertionError unless the bytes are those of the messages."""
        self.unnumbered.validate()
        self.outgoing.validate()
