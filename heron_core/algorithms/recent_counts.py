"""Recent counts of a component: growth of its instances' counters, by the second. Pure.

Statements about failures concern the present. A share since the start would show a failure after
a healthy week only ten minutes late, and a recovery equally late. Growth is assigned to the
second of the report: working instances report each second.
"""

from collections import deque
from collections.abc import Mapping

from heron_core.algorithms.histogram import merged
from heron_core.instance_report import DISTRIBUTIONS, Distribution, InstanceReport
from heron_core.stats import RecentCounts

KEPT_SECS = 60.0
"""Percentiles cover a minute: fewer calls of a slow bolt would miss its slowest."""
NEWEST_SECS = 9.0
"""Of failures: with the second in which a report came they are gone ten seconds after their
cure."""
OF_MINUTE = {"expired": "expired", "acked_in_minute": "acked"}
"""Field of RecentCounts -> counter, for counters over KEPT_SECS."""
NUMBERS: tuple[str, ...] = tuple(
    name for name in RecentCounts.__struct_fields__ if name != "secs" and name not in OF_MINUTE
)


class _Second:
    """Counts of one second."""

    __slots__ = ("at", "histograms", "numbers")

    def __init__(self, at: int) -> None:
        self.at = at
        self.numbers: dict[str, float] = {}
        self.histograms: dict[str, dict[int, int]] = {}
        """Kind of duration -> bucket -> how many."""


class RecentGrowth:
    """Counts of one component."""

    def __init__(self) -> None:
        self._seconds: deque[_Second] = deque()

    def add(self, report: InstanceReport, before: InstanceReport | None, now: float) -> None:
        """A report and the process's previous report; None: the first report."""
        second = self._second(now)
        for name in (*NUMBERS, "expired"):
            grown = getattr(report, name) - (getattr(before, name) if before is not None else 0)
            if grown > 0:
                second.numbers[name] = second.numbers.get(name, 0) + grown
        for kind in DISTRIBUTIONS:
            self._add_durations(second, kind, report, before)

    def _add_durations(
        self, second: _Second, kind: str, report: InstanceReport, before: InstanceReport | None
    ) -> None:
        after: Distribution = getattr(report, kind)
        known: Distribution = getattr(before, kind) if before is not None else Distribution()
        if after.number == known.number:
            return
        buckets = second.histograms.setdefault(kind, {})
        for bucket, number in after.histogram.items():
            grown = number - known.histogram.get(bucket, 0)
            if grown > 0:
                buckets[bucket] = buckets.get(bucket, 0) + grown

    def _second(self, now: float) -> _Second:
        if not self._seconds or self._seconds[-1].at != int(now):
            self._seconds.append(_Second(int(now)))
            self._forget(now)
        return self._seconds[-1]

    def _forget(self, now: float) -> None:
        while self._seconds and now - self._seconds[0].at > KEPT_SECS:
            self._seconds.popleft()

    def counts(self, now: float) -> RecentCounts:
        """The sums of the newest seconds; of what is not acked in time those of a minute, as such
        tuples end together, once in a time-out."""
        self._forget(now)
        newest: dict[str, float] = {}
        for second in self._seconds:
            if now - second.at <= NEWEST_SECS:
                _add(newest, second.numbers)
        whole: dict[str, float] = {}
        for second in self._seconds:
            _add(whole, second.numbers)
        return RecentCounts(
            secs=NEWEST_SECS + 1,
            **{name: int(newest.get(name, 0)) for name in NUMBERS},
            **{name: int(whole.get(what, 0)) for name, what in OF_MINUTE.items()},
        )

    def histograms(self, now: float) -> dict[str, dict[int, int]]:
        """Kind -> the durations of the last minute: bucket -> how many."""
        self._forget(now)
        return {
            kind: merged(second.histograms.get(kind, {}) for second in self._seconds)
            for kind in DISTRIBUTIONS
        }


def _add(sums: dict[str, float], more: Mapping[str, float]) -> None:
    for name, number in more.items():
        sums[name] = sums.get(name, 0) + number
