"""Timers: a heap of times, and the items of each time, in order."""

import heapq
from collections.abc import Hashable, Iterator
from typing import Any


class Timers:
    """An item occurs at most once per time; removal costs only the entry of the time."""

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
        """Remove an item, if present."""
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
        """The earliest due time; None if empty."""
        while self._times and not self._items[self._times[0]]:
            del self._items[heapq.heappop(self._times)]
        return self._times[0] if self._times else None

    def last_ms(self) -> int | None:
        """The latest time at which something is due."""
        return max((time for time, items in self._items.items() if items), default=None)

    def clear(self) -> None:
        """Remove all items."""
        self._times.clear()
        self._items.clear()
