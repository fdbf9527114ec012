"""What one instance counts, cumulative since its start, and its snapshot for the master.

Execute latency: time in `process` (or `next_tuple`); process latency: from receipt to ack; complete
latency: from a spout's emit to its ack. Sums and counts are of all tuples for execute latency, of
a sample of 1 in 16 for the others; histograms are of samples (heron_core.algorithms.histogram).
"""

from collections.abc import Mapping
from typing import Any

from heron_core.algorithms.histogram import bucket_of


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
        """Put one measured duration into the histogram."""
        bucket = bucket_of(duration_secs)
        self.histogram[bucket] = self.histogram.get(bucket, 0) + 1

    def snapshot(self) -> dict[str, Any]:
        """Plain values for a message."""
        return {
            "total_secs": self.total_secs,
            "number": self.number,
            "histogram": dict(self.histogram),
        }


class Metrics:
    """The counters of one instance; the collector and the outbox hold those of their own."""

    def __init__(self) -> None:
        self.executed = 0
        self.acked = 0
        self.failed = 0
        self.failed_for_good = 0
        """Of the failed, as things stand: those that nobody has replayed with success."""
        self.expired = 0
        self.ticks = 0
        self.errors = 0
        self.callback_errors = 0
        """Of the errors: those outside of a tuple's processing, which fail no tuple."""
        self.undeclared = 0
        """Tuples that a bolt without declared outputs has emitted: they were dropped."""
        self.fenced = 0
        """Batches of an older plan that were dropped."""
        self.busy_secs = 0.0
        self.last_error: str | None = None
        self.execute = Latencies()
        self.process = Latencies()
        self.complete = Latencies()

    def snapshot(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """All counters as plain values, with what the core adds (emitted, pending, …)."""
        return {
            "executed": self.executed,
            "acked": self.acked,
            "failed": self.failed,
            "failed_for_good": self.failed_for_good,
            "expired": self.expired,
            "ticks": self.ticks,
            "errors": self.errors,
            "callback_errors": self.callback_errors,
            "undeclared": self.undeclared,
            "fenced": self.fenced,
            "busy_secs": self.busy_secs,
            "last_error": self.last_error,
            "execute": self.execute.snapshot(),
            "process": self.process.snapshot(),
            "complete": self.complete.snapshot(),
            "user": {},
            "user_totals": {},
            "stuck_secs": 0.0,
            **more,
        }
