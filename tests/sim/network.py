"""Connections between simulated processes: each keeps its order, some delay or repeat.

Guarantees of zmq are kept (order within one connection, a message is whole or lost), everything
else happens: delay, loss of messages under way at a death or at a break between live processes,
full sockets. A repeated message follows at once, as after a reconnect; never after a later one.
"""

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Generic, TypeVar

from tests.sim.clock import Clock

T = TypeVar("T")


class Channel(Generic[T]):
    """One direction of one connection."""

    def __init__(
        self, clock: Clock, rng: Random, delay_secs: float = 0.0, repeated_share: float = 0.0
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._delay_secs = delay_secs
        self._repeated_share = repeated_share
        self._latest_due = 0.0
        self._under_way: deque[tuple[float, T]] = deque()
        self.cut = False
        self.loses = False
        """The network drops all messages."""
        self.breaking_share = 0.0
        """How often the connection breaks with a message on it."""

    def __len__(self) -> int:
        return len(self._under_way)

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in self._under_way)

    def send(self, item: T) -> None:
        """Put a message on the way."""
        if self.loses:
            return
        if self._delay_secs:
            due = self._clock.now + self._rng.random() * self._delay_secs
            self._latest_due = max(due, self._latest_due)
        self._under_way.append((self._latest_due, item))
        if self._repeated_share and self._rng.random() < self._repeated_share:
            self._under_way.append((self._latest_due, item))
        if self.breaking_share and self._rng.random() < self.breaking_share:
            self.break_off()

    @property
    def ready(self) -> bool:
        """Whether a message has arrived."""
        found = bool(self._under_way) and self._under_way[0][0] <= self._clock.now
        return found and not self.cut

    def take(self) -> T:
        """The first arrived message."""
        return self._under_way.popleft()[1]

    def lose_first(self) -> None:
        """The receiver died: messages under way are lost, the rest stays."""
        for _ in range(self._rng.randint(0, len(self._under_way))):
            self._under_way.popleft()

    def lose_last(self) -> None:
        """The sender died: unsent messages are lost, the rest arrives."""
        for _ in range(self._rng.randint(0, len(self._under_way))):
            self._under_way.pop()

    def break_off(self) -> None:
        """The connection breaks and is made again: some messages under way are lost, perhaps behind
        messages still unread from the old connection, and before messages on the new one. The
        receiver reads both connections in turn."""
        under_way = list(self._under_way)
        first = self._rng.randint(0, len(under_way))
        behind = self._rng.randint(first, len(under_way))
        old, new = deque(under_way[:first]), deque(under_way[behind:])
        self._under_way.clear()
        while old or new:
            is_old = bool(old) and (not new or self._rng.random() < 0.5)
            self._under_way.append((old if is_old else new).popleft())

    def lose_middle(self, successor: "Channel[T]") -> None:
        """The connection broke: some messages had arrived, some are lost, and the last had not left
        the sender, and go by the next connection."""
        unsent = self._rng.randint(0, len(self._under_way))
        left = [self._under_way.pop() for _ in range(unsent)]
        self.lose_last()
        for _, item in reversed(left):
            successor.send(item)

    def move_to(self, successor: "Channel[T]") -> None:
        """Arrived messages are read before messages of the next connection."""
        while self._under_way:
            successor.send(self._under_way.popleft()[1])

    def clear(self) -> None:
        """Drop all messages."""
        self._under_way.clear()
