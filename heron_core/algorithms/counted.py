"""What processes had counted that have ended: sums, so that a component's numbers never fall."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from heron_core.algorithms.histogram import merged
from heron_core.algorithms.user_metrics import summed

Snapshot = Mapping[str, Any]

SUMS = (
    "executed", "acked", "failed", "failed_for_good", "expired", "ticks", "errors",
    "callback_errors", "fenced", "late", "undeclared",
)  # fmt: skip
DELIVERIES = ("sent", "processed")
"""Of an instance; not known of a task of a query."""
MAY_LACK = (*DELIVERIES, "undeclared")
"""What some snapshots do not have: those of a query, and of an engine that does not count it yet
(`heronpy update --engine` mixes both)."""
KINDS = ("execute", "process", "complete")
BY_STREAM = ("emitted", "inputs")
"""What a snapshot counts by stream; `inputs` only that of a bolt."""


class Counted(Struct):
    """The sum of the snapshots of some processes."""

    processes: int = 0
    emitted: float = 0
    sums: dict[str, float] = field(default_factory=dict)
    """By names of SUMS and DELIVERIES."""
    streams: dict[str, dict[str, float]] = field(default_factory=dict)
    """By names of BY_STREAM: stream -> how many."""
    user_totals: dict[str, Any] = field(default_factory=dict)
    latencies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By names of KINDS: total_secs, number, histogram."""

    @staticmethod
    def of(snapshots: Iterable[Snapshot]) -> "Counted":
        """The sum of these."""
        counted = Counted()
        for each in snapshots:
            counted.add(each)
        return counted

    def add(self, snapshot: Snapshot) -> None:
        """One process more."""
        sums = {key: snapshot.get(key, 0) for key in (*SUMS, *DELIVERIES)}
        latencies = {kind: snapshot[kind] for kind in KINDS}
        streams = {key: dict(snapshot.get(key, {})) for key in BY_STREAM}
        emitted = sum(snapshot["emitted"].values())
        self.join(Counted(1, emitted, sums, streams, dict(snapshot["user_totals"]), latencies))

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
            if before is None or not before["number"]:
                self.latencies[kind] = latency
            elif latency["number"]:
                self.latencies[kind] = _joined(before, latency)

    def to_json(self) -> dict[str, Any]:
        """As a master keeps it for its successor: all but the latencies, which are large."""
        return {
            "processes": self.processes,
            "emitted": self.emitted,
            "sums": self.sums,
            "streams": self.streams,
            "user_totals": self.user_totals,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Counted":
        """The inverse; KeyError, TypeError or AttributeError for what is
        none."""
        sums = {str(key): number + 0 for key, number in data["sums"].items()}
        streams = {
            str(key): {str(stream): number + 0 for stream, number in numbers.items()}
            for key, numbers in data.get("streams", {}).items()
        }
        totals = dict(data["user_totals"])
        return Counted(int(data["processes"]), data["emitted"] + 0, sums, streams, totals)


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "total_secs": one["total_secs"] + other["total_secs"],
        "number": one["number"] + other["number"],
        "histogram": merged((one["histogram"], other["histogram"])),
    }
