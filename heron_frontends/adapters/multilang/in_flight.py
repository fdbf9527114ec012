"""The tuples that are in a bolt's child: which they are, and how many it may not have read yet.

A tuple is answered when the child acked or failed it, or when it has answered a heartbeat that was
written behind it, for it reads in order. So a child that collects a large batch before it acks any
is not mistaken for one that does not keep up. The same holds for a tick, which a child may leave
without an ack: what it emits for the tick comes before its answer. Pure.
"""

from itertools import count, takewhile
from typing import Any

from heron_frontends.adapters.multilang.protocol import OWN_ID


class ChildInFlight:
    """Tuples by the id that the child knows them by, oldest first."""

    def __init__(self) -> None:
        self.unanswered = 0
        self._unsettled: dict[str, Any] = {}
        """None for one that was failed here while the child still has it."""
        self._ticks: list[int] = []
        """The numbers of those that are not answered, oldest first; never changed in place, so any
        thread may look."""
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
        """Take a tuple in; returns its id, which no other tuple ever has."""
        self._last = next(self._numbers)
        key = str(self._last)
        self._unsettled[key] = tup
        self.unanswered += 1
        return key

    def settle(self, key: str) -> Any:
        """The child acked or failed a tuple: the tuple, or None if it was failed here before.

        KeyError for an id that is not in the child.
        """
        tup = self._unsettled.pop(key)
        if int(key) > self._answered_up_to:
            self.unanswered -= 1
        return tup

    def mark_failed(self, key: str) -> Any:
        """A tuple fails here: the tuple if it had not failed before. The child still has it."""
        tup = self._unsettled.get(key)
        if tup is not None:
            self._unsettled[key] = None
        return tup

    def anchors(self, keys: list[str]) -> tuple[list[Any], list[str]]:
        """The tuples of these ids, and the ids that are none; heartbeats and ticks are neither."""
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
        """The last heartbeat asked is answered: what was written before it is read."""
        edge = self._answered_up_to = self._asked_behind
        newer = takewhile(lambda key: int(key) > edge, reversed(self._unsettled))
        self.unanswered = sum(1 for _ in newer)
        self._ticks = [each for each in self._ticks if each > edge]

    def clear(self) -> list[Any]:
        """The child is gone: the tuples that went with it."""
        lost = [tup for tup in self._unsettled.values() if tup is not None]
        self._unsettled.clear()
        self._ticks = []
        self.unanswered = 0
        return lost
