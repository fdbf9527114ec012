"""Counts of ended processes: sums, so that a component's numbers never decrease."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from heron_core.algorithms.user_metrics import summed
from heron_core.instance_report import (
    DISTRIBUTIONS,
    TOTALS,
    Distribution,
    InstanceReport,
    SummedNumbers,
    measures_of,
)

SUMS: tuple[str, ...] = tuple(
    name for name, measure in measures_of(SummedNumbers).items() if measure.summed in TOTALS
)
DELIVERIES = ("sent", "processed")
"""Of an instance; not known of a task of a query."""
BY_STREAM: Mapping[str, str] = {
    "emitted": "emitted_by_stream",
    "inputs": "executed_by_input",
    "forgotten": "forgotten_by_attribute",
}
"""Names of a report's counters by stream (or other name) in a master's statistics -> field."""


class Counted(Struct):
    """The sum of the reports of some processes."""

    processes: int = 0
    emitted: float = 0
    sums: dict[str, float] = field(default_factory=dict)
    """By names of SUMS and DELIVERIES."""
    streams: dict[str, dict[str, float]] = field(default_factory=dict)
    """By names of BY_STREAM: stream -> how many."""
    user_totals: dict[str, Any] = field(default_factory=dict)
    latencies: dict[str, Distribution] = field(default_factory=dict)
    """By names of DISTRIBUTIONS."""

    @staticmethod
    def of(reports: Iterable[InstanceReport]) -> "Counted":
        """The sum of these."""
        counted = Counted()
        for each in reports:
            counted.add(each)
        return counted

    def add(self, report: InstanceReport) -> None:
        """Add one process."""
        sums = {key: getattr(report, key) for key in (*SUMS, *DELIVERIES)}
        latencies = {kind: getattr(report, kind) for kind in DISTRIBUTIONS}
        streams = {key: dict(getattr(report, name)) for key, name in BY_STREAM.items()}
        emitted = sum(report.emitted_by_stream.values())
        self.join(Counted(1, emitted, sums, streams, dict(report.user_totals), latencies))

    def join(self, other: "Counted") -> None:
        """Some processes more."""
        self.processes += other.processes
        self.emitted += other.emitted
        for key, number in other.sums.items():
            self.sums[key] = self.sums.get(key, 0) + number
        for key, numbers in other.streams.items():
            known = self.streams.setdefault(key, {})
            for stream, number in numbers.items():
                known[stream] = known.get(stream, 0) + number
        if other.user_totals:
            self.user_totals = summed((self.user_totals, other.user_totals))
        for kind, latency in other.latencies.items():
            before = self.latencies.get(kind)
            if before is None or not before.number:
                self.latencies[kind] = latency
            elif latency.number:
                self.latencies[kind] = before.joined(latency)

    def to_json(self) -> dict[str, Any]:
        """Record for a successor of the master: all counts except latencies, which are large."""
        return {
            "processes": self.processes,
            "emitted": self.emitted,
            "sums": self.sums,
            "streams": self.streams,
            "user_totals": self.user_totals,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Counted":
        """The inverse; KeyError, TypeError or AttributeError for a malformed record."""
        sums = {str(key): number + 0 for key, number in data["sums"].items()}
        streams = {
            str(key): {str(stream): number + 0 for stream, number in numbers.items()}
            for key, numbers in data.get("streams", {}).items()
        }
        totals = dict(data["user_totals"])
        return Counted(int(data["processes"]), data["emitted"] + 0, sums, streams, totals)
