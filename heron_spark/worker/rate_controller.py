"""How much the spouts may emit for a batch: as much as a batch of the wanted length can take."""

from collections.abc import Iterable, Mapping
from typing import Any

FIRST = 1000
"""Deliveries of one task for the first batch: a bolt of 1 ms per tuple is done in a second, and a
fast topology reaches a million in four batches.
"""
GROWTH_MAX = 8.0
SHRINK_MAX = 0.125
LEAST_SECS = 1e-6


class RateController:
    """One host's quota: the deliveries that each of its spout tasks may make for a batch."""

    def __init__(self, most: int, target_secs: float) -> None:
        self._most = max(1, most)
        self._target_secs = target_secs
        self._quota_reached = False
        self.quota = min(self._most, FIRST)

    def begin(self, worked_secs: float) -> int:
        """Start a batch; returns the quota, given the work of the previous batch on all levels.

        Spark's own part of a batch does not count as work: fewer tuples would not shorten it. The
        quota only grows if the previous batch reached the quota.
        """
        factor = self._target_secs / max(worked_secs, LEAST_SECS)
        if factor < 1.0 or self._quota_reached:
            factor = min(GROWTH_MAX, max(SHRINK_MAX, factor))
            self.quota = min(self._most, max(1, int(self.quota * factor)))
        self._quota_reached = False
        return self.quota

    def quota_reached(self) -> None:
        """A spout has reached the quota."""
        self._quota_reached = True


def worked_secs(results: Iterable[Mapping[str, Any]], level_of: Mapping[int, int]) -> float:
    """How long a batch's work took: levels in turn, the tasks of a level beside each other."""
    slowest: dict[int, float] = {}
    for each in results:
        level = level_of[each["task"]]
        slowest[level] = max(slowest.get(level, 0.0), each["secs"])
    return sum(slowest.values())
