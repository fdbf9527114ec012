"""What is due at which time: a heap of times, and for each what was asked for, in order."""

import heapq
from collections.abc import Hashable, Iterator
from typing import Any


class Timers:
    """An item stands at most once at a time; removing one costs nothing but its time's entry."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._items: dict[int, dict[Hashable, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._items.values()))

    def add(self, time_ms: int, item: Hashable) -> None:
        """`item` is due at `time_ms`."""
        items = self._items.get(time_ms)
        if items is None:
            items = self._items[time_ms] = {}
            heapq.heappush(self._times, time_ms)
        items[item] = None

    def remove(self, time_ms: int, item: Hashable) -> None:
        """It is not due any more, if it was."""
        items = self._items.get(time_ms)
        if items is not None:
            items.pop(item, None)

    def due(self, now_ms: int) -> Iterator[tuple[int, list[Any]]]:
        """(time, items) of all times up to `now_ms`, the earliest first; they are forgotten."""
        while self._times and self._times[0] <= now_ms:
            time_ms = heapq.heappop(self._times)
            items = self._items.pop(time_ms)
            if items:
                yield time_ms, list(items)

    def all(self) -> list[tuple[int, Any]]:
        """(time, item) of all that is due at any time, the earliest first."""
        return [(time_ms, item) for time_ms in sorted(self._items) for item in self._items[time_ms]]

    def next_ms(self) -> int | None:
        """The earliest time at which something is due; None for never."""
        while self._times and not self._items[self._times[0]]:
            del self._items[heapq.heappop(self._times)]
        return self._times[0] if self._times else None

    def last_ms(self) -> int | None:
        """The latest time at which something is due."""
        return max((time for time, items in self._items.items() if items), default=None)

    def clear(self) -> None:
        """Nothing is due."""
        self._times.clear()
        self._items.clear()
