"""What processes had counted that have ended: sums, so that a component's numbers never fall."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_core.algorithms.histogram import merged
from heron_core.algorithms.user_metrics import summed

Snapshot = Mapping[str, Any]

SUMS = (
    "executed", "acked", "failed", "failed_for_good", "expired", "ticks", "errors",
    "callback_errors", "fenced", "late",
)  # fmt: skip
DELIVERIES = ("sent", "processed")
"""Of an instance; not known of a task of a query."""
KINDS = ("execute", "process", "complete")


@dataclass(slots=True)
class Counted:
    """The sum of the snapshots of some processes."""

    processes: int = 0
    emitted: float = 0
    sums: dict[str, float] = field(default_factory=dict)
    """By names of SUMS and DELIVERIES."""
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
        emitted = sum(snapshot["emitted"].values())
        self.join(Counted(1, emitted, sums, dict(snapshot["user_totals"]), latencies))

    def join(self, other: "Counted") -> None:
        """Some processes more."""
        self.processes += other.processes
        self.emitted += other.emitted
        for key, number in other.sums.items():
            self.sums[key] = self.sums.get(key, 0) + number
        if other.user_totals:
            self.user_totals = summed((self.user_totals, other.user_totals))
        for kind, latency in other.latencies.items():
            known = self.latencies.get(kind)
            if known is None or not known["number"]:
                self.latencies[kind] = latency
            elif latency["number"]:
                self.latencies[kind] = _joined(known, latency)

    def to_json(self) -> dict[str, Any]:
        """As a master keeps it for its successor: all but the latencies, which are large."""
        return {
            "processes": self.processes,
            "emitted": self.emitted,
            "sums": self.sums,
            "user_totals": self.user_totals,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Counted":
        """The inverse; KeyError or TypeError for what is none."""
        sums = {str(key): number + 0 for key, number in data["sums"].items()}
        totals = dict(data["user_totals"])
        return Counted(int(data["processes"]), data["emitted"] + 0, sums, totals)


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "total_secs": one["total_secs"] + other["total_secs"],
        "number": one["number"] + other["number"],
        "histogram": merged((one["histogram"], other["histogram"])),
    }
