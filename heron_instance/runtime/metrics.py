"""What one instance counts since its start, for its reports (heron_core.instance_report).

Execute latency: time in `process` (or `next_tuple`); process latency: from receipt to ack; complete
latency: from a spout's emit to its ack. Sums and counts are of all tuples for execute latency, of
a sample of 1 in 16 for the others; histograms are of samples (heron_core.algorithms.histogram).
"""

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from heron_core.algorithms.histogram import bucket_of
from heron_core.instance_report import (
    DISTRIBUTIONS,
    NOTHING_REPORTED,
    NUMBERS,
    Distribution,
    InstanceReport,
)
from heron_core.records import replace

_NUMBERS_OF = attrgetter(*NUMBERS)


class Latencies:
    """Sum, number and histogram of one kind of latency."""

    def __init__(self) -> None:
        self.total_secs = 0.0
        self.number = 0
        self.histogram: dict[int, int] = {}

    def add(self, duration_secs: float, number: int = 1) -> None:
        """Count `number` durations that took `duration_secs` each in the mean."""
        self.total_secs += duration_secs * number
        self.number += number
        self.sample(duration_secs)

    def sample(self, duration_secs: float) -> None:
        """Add a measured duration to the histogram."""
        bucket = bucket_of(duration_secs)
        self.histogram[bucket] = self.histogram.get(bucket, 0) + 1

    def snapshot(self) -> Distribution:
        """Current values; from any thread."""
        return Distribution(self.total_secs, self.number, dict(self.histogram))


class Metrics:
    """Numbers of a report counted by the driver: `metrics.NAME += 1`, for each field of
    SummedNumbers. AttributeError for an unknown name. Collector and outbox have their own
    numbers, fetched by the driver's `statistics`."""

    __slots__ = (*NUMBERS, *DISTRIBUTIONS, "busy_secs", "last_error")

    busy_secs: float
    last_error: str | None
    execute: Latencies
    process: Latencies
    complete: Latencies

    def __init__(self) -> None:
        for name in NUMBERS:
            setattr(self, name, 0)
        for name in DISTRIBUTIONS:
            setattr(self, name, Latencies())
        self.busy_secs = 0.0
        self.last_error = None

    if TYPE_CHECKING:  # the slots are invisible to mypy

        def __getattr__(self, name: str) -> int: ...

        def __setattr__(self, name: str, value: int) -> None: ...

    def report(self, **more: Any) -> InstanceReport:
        """All numbers, with `more` fields of a report; numbers of the process are added later."""
        found: dict[str, Any] = dict(zip(NUMBERS, _NUMBERS_OF(self), strict=True))
        for name in DISTRIBUTIONS:
            found[name] = getattr(self, name).snapshot()
        found["busy_secs"], found["last_error"] = self.busy_secs, self.last_error
        return replace(NOTHING_REPORTED, **{**found, **more})
