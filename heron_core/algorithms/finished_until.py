"""Until when everything that began is finished: a lower bound, from looks at regular times.

A queue is FIFO and numbers its messages, a spout numbers its roots. Neither keeps a time for each:
on the hot path that costs more than the number is worth. Instead each look notes a *mark*: the
time, and the greatest number begun by then. What is open now and has a greater number than a mark
has begun after that mark, so the newest mark below the oldest open number is a bound:

    marks   10 s: up to 40    11 s: up to 52    12 s: up to 61
    open    55, 58, 61  ->  all that began by 11 s is finished

The bound is late by the time between two looks at most, and never too far ahead.
"""

from collections import deque
from itertools import islice
from typing import NamedTuple

MARKS_MAX = 256
"""Marks kept. With more every second one is left out, and marks come half as often: the bound
within a stall of an hour is known to half a minute, in memory that does not grow."""


class OpenNumbers(NamedTuple):
    """The numbers of what is begun and not finished."""

    oldest: int
    newest: int
    """Or any greater number that nothing has which begins later."""


class FinishedUntil:
    """The bound for one queue, or for the trees of one spout."""

    def __init__(self, since: float) -> None:
        """`since`: nothing that will be open began before, in seconds of any monotonic clock."""
        self._marks: deque[tuple[float, int]] = deque([(since, -1)])
        """(time, greatest number begun by then), oldest first; the first one is the bound"""
        self._apart_secs = 0.0
        """Least time between two marks."""

    @property
    def at(self) -> float:
        """All that began before this time is finished, in seconds of the clock of `look`."""
        return self._marks[0][0]

    def __len__(self) -> int:
        """Marks kept."""
        return len(self._marks)

    def look(self, now: float, numbers: OpenNumbers | None) -> float:
        """The bound now, given what is open (None: nothing). The bound never falls."""
        marks = self._marks
        if numbers is None:
            marks.clear()
            marks.append((now, -1))
            self._apart_secs = 0.0
            return now
        if now - marks[-1][0] >= self._apart_secs:
            marks.append((now, numbers.newest))
        while len(marks) > 1 and marks[1][1] < numbers.oldest:
            marks.popleft()
        if len(marks) > MARKS_MAX:
            self._marks = deque((marks[0], *islice(marks, 2, None, 2)))
            self._apart_secs = 2 * (now - marks[0][0]) / MARKS_MAX
        return self.at
