"""Tuples in flight in a bolt's child, and the number that the child may not have read yet.

A tuple is answered once the child has acked or failed the tuple, or has answered a later heartbeat,
since the child reads in order. So a child that collects a large batch before the first ack counts
as keeping up. The rule covers ticks too, though a child need not ack a tick: its emits for the tick
precede the answer. Pure.
"""

from itertools import count, takewhile
from typing import Any

from heron_frontends.adapters.multilang.protocol import OWN_ID


class ChildInFlight:
    """Tuples by id in the child's messages, oldest first."""

    def __init__(self) -> None:
        self.unanswered = 0
        self._unsettled: dict[str, Any] = {}
        """None for a tuple failed by the instance while the child still has it."""
        self._ticks: list[int] = []
        """Numbers of unanswered ticks, oldest first; replaced, never changed in place, so any
        thread may read the list.
        """
        self._numbers = count(1)
        self._last = 0
        self._asked_behind = 0
        self._answered_up_to = 0

    def __len__(self) -> int:
        return len(self._unsettled)

    @property
    def has_tick(self) -> bool:
        """Whether the child may be at work on a tick."""
        return bool(self._ticks)

    def own_number(self) -> int:
        """A number for a heartbeat."""
        return next(self._numbers)

    def add_tick(self) -> int:
        """A number for a tick, which is written behind all tuples so far."""
        self._last = next(self._numbers)
        self._ticks = [*self._ticks, self._last]
        return self._last

    def settle_own(self, key: str) -> None:
        """The child acked or failed a tick, or a heartbeat, which needs neither."""
        self._ticks = [each for each in self._ticks if key != f"{OWN_ID}{each}"]

    def add(self, tup: Any) -> str:
        """Add a tuple; returns its id, unique for the life of the instance."""
        self._last = next(self._numbers)
        key = str(self._last)
        self._unsettled[key] = tup
        self.unanswered += 1
        return key

    def settle(self, key: str) -> Any:
        """Settle a tuple that the child acked or failed; returns None for a tuple failed earlier.

        KeyError for an id that is not in the child.
        """
        tup = self._unsettled.pop(key)
        if int(key) > self._answered_up_to:
            self.unanswered -= 1
        return tup

    def mark_failed(self, key: str) -> Any:
        """Mark a tuple failed while the child still has it; returns None if already failed."""
        tup = self._unsettled.get(key)
        if tup is not None:
            self._unsettled[key] = None
        return tup

    def anchors(self, keys: list[str]) -> tuple[list[Any], list[str]]:
        """Tuples of `keys`, and the unknown ids; ids of heartbeats and ticks are skipped."""
        unsettled = self._unsettled
        found = [unsettled[key] for key in keys if unsettled.get(key) is not None]
        unknown = [key for key in keys if key not in unsettled and not key.startswith(OWN_ID)]
        return found, unknown

    def pop_oldest(self) -> Any:
        """Take the oldest tuple out as if the child had settled it."""
        return self.settle(next(iter(self._unsettled)))

    def ask(self) -> None:
        """A heartbeat is written behind all tuples and ticks so far."""
        self._asked_behind = self._last

    def answer(self) -> None:
        """The last heartbeat is answered: the child has read everything written before."""
        edge = self._answered_up_to = self._asked_behind
        newer = takewhile(lambda key: int(key) > edge, reversed(self._unsettled))
        self.unanswered = sum(1 for _ in newer)
        self._ticks = [each for each in self._ticks if each > edge]

    def clear(self) -> list[Any]:
        """Forget a dead child; returns its unsettled tuples."""
        lost = [tup for tup in self._unsettled.values() if tup is not None]
        self._unsettled.clear()
        self._ticks = []
        self.unanswered = 0
        return lost
