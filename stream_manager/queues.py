"""Queues towards local instances (with a window) and towards peers (blocked or not).

A queue counts bytes. The window bounds what was handed to an instance and not yet reported as
processed; the rest waits here, where it is counted and named as a cause when it grows.
"""

from collections import deque

from heron_core.wire.frames import Frames, size_of

PEER_BURST = 16
"""Messages tried each time a peer's socket is writable: about what its buffer takes."""


class InstanceQueue:
    """What is on its way to one local instance."""

    def __init__(self, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self.incarnation: int | None = None
        """Random number of the process that serves the task now; None: not there yet."""
        self.superseded: set[int] = set()
        """Earlier processes of the task: one that was only stopped may wake up again."""
        self.waiting: deque[Frames] = deque()
        self.waiting_bytes = 0
        self.handed: deque[Frames] = deque()
        """Handed over and not yet reported as processed, oldest first."""
        self.handed_bytes = 0

    @property
    def open(self) -> bool:
        """Whether the instance may be handed a message now."""
        return self.incarnation is not None and self.handed_bytes < self._window_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes on their way: waiting, or handed over and not yet processed."""
        return self.waiting_bytes + self.handed_bytes

    def offer(self, frames: Frames) -> bool:
        """Take a message; True if it is to be handed over at once, else it waits."""
        if self.open and not self.waiting:
            self._hand(frames)
            return True
        self.waiting.append(frames)
        self.waiting_bytes += size_of(frames)
        return False

    def _hand(self, frames: Frames) -> None:
        self.handed.append(frames)
        self.handed_bytes += size_of(frames)

    def processed(self, messages: int) -> None:
        """The instance has processed its oldest `messages`."""
        for _ in range(min(messages, len(self.handed))):
            self.handed_bytes -= size_of(self.handed.popleft())

    def next(self) -> Frames | None:
        """The next waiting message if it may be handed over now."""
        if not self.waiting or not self.open:
            return None
        frames = self.waiting.popleft()
        self.waiting_bytes -= size_of(frames)
        self._hand(frames)
        return frames

    def replaced(self, incarnation: int) -> list[Frames]:
        """Another process serves the task; returns what its predecessor took along."""
        if self.incarnation is not None:
            self.superseded.add(self.incarnation)
        self.incarnation = incarnation
        lost = list(self.handed)
        self.handed.clear()
        self.handed_bytes = 0
        return lost

    def validate(self) -> None:
        """AssertionError unless the bytes are those of the messages, and none waits needlessly."""
        assert self.waiting_bytes == sum(map(size_of, self.waiting))
        assert self.handed_bytes == sum(map(size_of, self.handed))
        assert not (self.waiting and self.open), "a message waits for nothing"
        assert self.incarnation is not None or not self.handed


class PeerQueue:
    """What waits for another stream manager whose socket takes no more."""

    def __init__(self) -> None:
        self.blocked = False
        """Whether the socket is to be watched until it takes messages again; nothing waits if not.
        """
        self.waiting: deque[tuple[int, Frames]] = deque()
        """(destination task, one of them for a fan-out, 0 if none; message)"""
        self.waiting_bytes = 0

    def put(self, destination: int, frames: Frames) -> None:
        """Add a message at the end."""
        self.waiting.append((destination, frames))
        self.waiting_bytes += size_of(frames)

    def put_back(self, unsent: list[tuple[int, Frames]]) -> None:
        """The socket refused these messages: they stay the first, in their order."""
        self.blocked = True
        self.waiting.extendleft(reversed(unsent))
        self.waiting_bytes += sum(size_of(frames) for _, frames in unsent)

    def burst(self) -> list[tuple[int, Frames]]:
        """The socket takes messages again: the next few; blocked as long as more wait."""
        taken = [self.waiting.popleft() for _ in range(min(PEER_BURST, len(self.waiting)))]
        self.waiting_bytes -= sum(size_of(frames) for _, frames in taken)
        self.blocked = bool(self.waiting)
        return taken

    def destinations(self) -> set[int]:
        """The tasks for which something waits."""
        return {task for task, _ in self.waiting} - {0}

    def validate(self) -> None:
        """AssertionError unless the bytes are those of the messages, and none waits needlessly."""
        assert self.waiting_bytes == sum(size_of(frames) for _, frames in self.waiting)
        assert self.blocked or not self.waiting
