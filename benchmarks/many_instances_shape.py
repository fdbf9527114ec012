"""Shapes and results of benchmarks.many_instances, shared by the engine and Storm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.tallies import Tally, quantile_ms

SIZES: Mapping[int, tuple[int, int, int]] = {
    5: (1, 2, 2),
    20: (4, 8, 8),
    60: (12, 24, 24),
    200: (40, 80, 80),
}
"""Instances -> spouts, mids, sinks."""
PENDING = 1_000
"""Roots of one spout under way: the engine's default, given to both."""


@dataclass(frozen=True, slots=True)
class Window:
    """How long a run warms up, and how long it is measured."""

    warm_up_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A topology, run once a round."""

    size: int
    variant: str = "single"
    acked: bool = True
    per_call: int = 1
    grouping: str = "SHUFFLE"
    containers: int = 1
    pending: int = PENDING

    @property
    def parallelism(self) -> tuple[int, int, int]:
        """Spouts, mids, sinks."""
        return SIZES[self.size]

    @property
    def instances_text(self) -> str:
        """The sizes as the environment variable has them."""
        return ",".join(map(str, self.parallelism))

    @property
    def instances(self) -> int:
        """All instances."""
        return sum(self.parallelism)

    @property
    def sink_tasks(self) -> range:
        """The last ones: tasks are numbered in the topology's order."""
        return range(self.instances - self.parallelism[2] + 1, self.instances + 1)

    @property
    def copies(self) -> int:
        """Tuples at the sinks for each spout tuple."""
        return self.parallelism[1] if self.grouping == "ALL" else 1

    def __str__(self) -> str:
        acked = "acked" if self.acked else "not acked"
        return f"{'+'.join(map(str, self.parallelism))} {self.variant} {acked}"


VARIANTS: Mapping[str, Mapping[str, object]] = {
    "single": {},
    "calls of 200": {"per_call": 200},
    "ALL": {"grouping": "ALL"},
    "4 containers": {"containers": 4},
}
"""Name -> difference to a single tuple per call, by shuffle, in a single container."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one run, by role of the process (titles.py) where possible."""

    shape: Shape
    seconds: float
    counts: Sequence[int]
    """The columns of benchmarks.tallies over all tasks."""
    cpu_seconds: Mapping[str, float]
    wake_ups: Mapping[str, float]
    preemptions: int
    messages: Mapping[str, float] = field(default_factory=dict)
    """Counters of the stream managers that moved."""

    @property
    def trees(self) -> float:
        """Acked spout tuples; without acks, tuples whose copies all arrived at the sinks."""
        if self.shape.acked:
            return self.counts[Tally.ACKED]
        return self.counts[Tally.EXECUTED] / self.shape.copies

    @property
    def trees_per_second(self) -> float:
        """Per second of wall time."""
        return self.trees / self.seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        """CPU-seconds of all processes for a million trees; infinite when nothing moved."""
        used = sum(self.cpu_seconds.values())
        return used / self.trees * 1e6 if self.trees else float("inf")

    def latency_ms(self, share: float) -> float:
        """Quantile of the complete latency; NaN without acks."""
        return quantile_ms(self.counts[Tally.LATENCIES :], share)

    @property
    def failed(self) -> int:
        """Trees that failed or were not acked in time."""
        return self.counts[Tally.FAILED]

    def per_thousand(self, of_name: Mapping[str, float]) -> dict[str, float]:
        """Figures per thousand trees."""
        return {name: value / self.trees * 1e3 for name, value in of_name.items() if self.trees}
