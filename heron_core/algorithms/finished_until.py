"""Finished-until bound of a queue or of a spout's trees: a lower bound, from regular observations.

A queue is FIFO and numbers its messages; a spout numbers its roots. A time for each message would
cost more on the hot path than the bound is worth. Instead each observation keeps a *sample*: the
time, and the greatest number begun by then. An open number above a sample's number began after the
sample, so the newest sample below the oldest open number is a bound:

    samples  10 s: up to 40    11 s: up to 52    12 s: up to 61
    open     55, 58, 61  ->  finished until 11 s

The bound is late by the time between two observations at most, and never ahead.
"""

from collections import deque
from itertools import islice
from typing import NamedTuple

SAMPLES_MAX = 256
"""Samples kept. Beyond the limit every second sample is removed, and samples come half as often: a
stall of an hour is known to half a minute, in constant memory."""


class OpenNumbers(NamedTuple):
    """Range of the open numbers: begun and not finished."""

    oldest: int
    newest: int
    """An upper bound is enough, if later numbers are greater."""


class FinishedUntil:
    """The bound for one queue, or for the trees of one spout."""

    def __init__(self, since: float) -> None:
        """`since`: lower bound of all begin times, in seconds of any monotonic clock."""
        self._samples: deque[tuple[float, int]] = deque([(since, -1)])
        """(time, greatest number begun by then), oldest first; the first time is the bound"""
        self._apart_secs = 0.0
        """Least time between two samples."""

    @property
    def at(self) -> float:
        """The bound, in seconds of the clock of `observe`."""
        return self._samples[0][0]

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._samples)

    def observe(self, now: float, numbers: OpenNumbers | None) -> float:
        """The bound now, given the open numbers (None without any). The bound never falls."""
        samples = self._samples
        if numbers is None:
            samples.clear()
            samples.append((now, -1))
            self._apart_secs = 0.0
            return now
        if now - samples[-1][0] >= self._apart_secs:
            samples.append((now, numbers.newest))
        while len(samples) > 1 and samples[1][1] < numbers.oldest:
            samples.popleft()
        if len(samples) > SAMPLES_MAX:
            self._samples = deque((samples[0], *islice(samples, 2, None, 2)))
            self._apart_secs = 2 * (now - samples[0][0]) / SAMPLES_MAX
        return self.at
