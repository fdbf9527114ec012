"""The items of one source in the client, kept until the topology has acked them. Pure.

    put ─► waiting ─► sent to a session (within its demand) ─► acked, or abandoned by its spout
              ▲                │
              └────────────────┘ the session ends: its items wait again, in their order

A session is a connection of an instance of the source. An item may be sent twice: delivery is at
least once, and an ack of any session counts.
"""

import heapq
from collections.abc import Hashable, Iterable

from heron_connectors.bridge.frames import Part

EndSession = Hashable


class ClientItems:
    """Items of one source, numbered from 1 on."""

    def __init__(self, window: int) -> None:
        """`window`: limit of the items without an ack, to bound the client's memory."""
        self._window = window
        self._items: dict[int, bytes] = {}
        self._waiting: list[int] = []
        """A heap: returned items are older than all others."""
        self._sent: dict[EndSession, set[int]] = {}
        self._demands: dict[EndSession, int] = {}
        self._last = 0
        self.acked_count = self.abandoned_count = self.repeated_count = 0
        self.is_ended = False

    @property
    def unsettled(self) -> int:
        """Number of items neither acked nor abandoned."""
        return len(self._items)

    @property
    def is_full(self) -> bool:
        """Whether `put` has to wait."""
        return len(self._items) >= self._window

    @property
    def is_over(self) -> bool:
        """Whether the source has ended and all its items are settled."""
        return self.is_ended and not self._items

    def put(self, data: bytes) -> int:
        """Take an item; returns its number."""
        assert not self.is_full
        assert not self.is_ended
        self._last += 1
        self._items[self._last] = data
        heapq.heappush(self._waiting, self._last)
        return self._last

    def attach(self, session: EndSession) -> None:
        """A connection begins, without demand."""
        self._sent[session] = set()
        self._demands[session] = 0

    def demand(self, session: EndSession, number: int) -> None:
        """A session takes so many more items."""
        self._demands[session] += number

    def detach(self, session: EndSession) -> None:
        """A connection has ended: its items wait for another connection."""
        self._demands.pop(session, None)
        for number in self._sent.pop(session, ()):
            if number in self._items:
                heapq.heappush(self._waiting, number)
                self.repeated_count += 1

    def take(self) -> list[tuple[EndSession, list[Part]]]:
        """The items to send now, spread over the sessions with demand, the largest first."""
        taken: dict[EndSession, list[Part]] = {}
        while self._waiting:
            session = max(self._demands, key=self._demands.__getitem__, default=None)
            if session is None or self._demands[session] <= 0:
                break
            number = heapq.heappop(self._waiting)
            if number in self._items:
                self._demands[session] -= 1
                self._sent[session].add(number)
                taken.setdefault(session, []).append((number, self._items[number]))
        return list(taken.items())

    def acked(self, numbers: Iterable[int]) -> None:
        """Settle items; unknown numbers were settled before."""
        self.acked_count += self._settle(numbers)

    def abandoned(self, numbers: Iterable[int]) -> None:
        """Settle items whose replays are over."""
        self.abandoned_count += self._settle(numbers)

    def _settle(self, numbers: Iterable[int]) -> int:
        settled = [number for number in numbers if self._items.pop(number, None) is not None]
        for sent in self._sent.values():
            sent.difference_update(settled)
        return len(settled)
