"""A set of ids in which whole numbers that follow each other take next to no memory."""

from bisect import bisect_right
from collections.abc import Iterable

Id = int | str | bytes


class Ids:
    """Ids of rows: whole numbers as ranges, texts and bytes one by one."""

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        """Range i has the numbers from _starts[i] up to but not including _ends[i]; ranges are in
        order and never touch."""
        self._others: set[Id] = set()
        for each in ids:
            self.add(each)

    def __contains__(self, value: Id) -> bool:
        if not isinstance(value, int):
            return value in self._others
        at = bisect_right(self._starts, value) - 1
        return at >= 0 and value < self._ends[at]

    def __len__(self) -> int:
        inside = sum(end - start for start, end in zip(self._starts, self._ends, strict=True))
        return inside + len(self._others)

    def add(self, value: Id) -> None:
        """Put an id in; nothing happens if it is there."""
        if not isinstance(value, int):
            self._others.add(value)
        elif value not in self:
            self._add_number(value)

    def _add_number(self, value: int) -> None:
        after = bisect_right(self._starts, value)
        joins_before = after > 0 and self._ends[after - 1] == value
        joins_after = after < len(self._starts) and self._starts[after] == value + 1
        if joins_before and joins_after:
            self._ends[after - 1] = self._ends.pop(after)
            del self._starts[after]
        elif joins_before:
            self._ends[after - 1] = value + 1
        elif joins_after:
            self._starts[after] = value
        else:
            self._starts.insert(after, value)
            self._ends.insert(after, value + 1)

    @property
    def ranges(self) -> int:
        """How many ranges hold the numbers."""
        return len(self._starts)
