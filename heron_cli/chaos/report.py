"""Report of a chaos run, for the terminal and as JSON."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heron_cli.chaos.faults import Fault
from heron_cli.component_table import plain_table
from heron_core.exit_codes import INCOMPLETE, ExitCode
from heron_core.stats import TopologyStats

HEADINGS = ("process", "action", "faults", "replaced", "back after", "slowest")


@dataclass(frozen=True, slots=True)
class Tuples:
    """Tuple counts over all spouts. `lost` counts deliveries of the topology."""

    acked: int = 0
    failed: int = 0
    failed_for_good: int = 0
    lost: int = 0

    @staticmethod
    def of(stats: TopologyStats) -> "Tuples":
        """By the topology's numbers."""
        spouts = [each for each in stats.components.values() if each.type == "spout"]
        return Tuples(
            sum(each.acked for each in spouts),
            sum(each.failed for each in spouts),
            sum(each.failed_for_good for each in spouts),
            stats.lost,
        )

    def since(self, before: "Tuples") -> "Tuples":
        """The difference, at least 0: a restore may subtract tuples."""
        return Tuples(
            max(0, self.acked - before.acked),
            max(0, self.failed - before.failed),
            max(0, self.failed_for_good - before.failed_for_good),
            max(0, self.lost - before.lost),
        )


@dataclass(frozen=True, slots=True)
class ChaosReport:
    """The faults of a run, and the topology's state at the end."""

    topology: str
    seed: int
    secs: float
    faults: Sequence[Fault]
    tuples: Tuples
    problem: str = ""
    """Reason of an early end or a missing recovery; empty on success."""

    def exit_code(self) -> int:
        """1 for a topology that has not recovered, 3 for lost tuples, else 0."""
        if self.problem:
            return ExitCode.FAILED
        return INCOMPLETE if self.tuples.failed_for_good or self.tuples.lost else 0

    def text(self) -> str:
        """A table by kind of process and action, and the tuple counts."""
        table = plain_table(HEADINGS, rows(self.faults)) if self.faults else "without a fault"
        return f"{table}\n{self.summary()}"

    def summary(self) -> str:
        """One line, or two with a problem."""
        tuples = self.tuples
        line = (
            f"{self.topology}: {len(self.faults)} faults in {self.secs:.0f} s (seed {self.seed}), "
            f"{tuples.acked:,} tuples acked, {tuples.failed:,} failed and replayed or given up, "
            f"{tuples.failed_for_good:,} failed for good, {tuples.lost:,} deliveries lost"
        )
        return f"{line}\n{self.topology}: {self.problem}" if self.problem else line

    def as_json(self) -> dict[str, Any]:
        """For another program; times are seconds."""
        return {
            "topology": self.topology,
            "seed": self.seed,
            "secs": round(self.secs, 3),
            "problem": self.problem,
            "acked": self.tuples.acked,
            "failed": self.tuples.failed,
            "failed_for_good": self.tuples.failed_for_good,
            "lost": self.tuples.lost,
            "faults": [_as_json(each) for each in self.faults],
        }


def rows(faults: Sequence[Fault]) -> list[tuple[str, ...]]:
    """One row per kind of process and action."""
    by_kind: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault((fault.process.kind, fault.action), []).append(fault)
    return [
        (kind, action, str(len(group)), str(sum(each.replaced for each in group)), *_times(group))
        for (kind, action), group in sorted(by_kind.items())
    ]


def _times(group: Sequence[Fault]) -> tuple[str, str]:
    """Median and maximum of recovery times in seconds."""
    secs = [each.back_secs for each in group if each.back_secs is not None]
    if not secs:
        return "-", "-"
    return f"{statistics.median(secs):.1f} s", f"{max(secs):.1f} s"


def _as_json(fault: Fault) -> dict[str, Any]:
    return {
        "at_secs": round(fault.at_secs, 3),
        "kind": fault.process.kind,
        "process": fault.process.name,
        "pid": fault.process.pid,
        "action": fault.action,
        "harm_secs": round(fault.harm_secs, 3),
        "back_secs": None if fault.back_secs is None else round(fault.back_secs, 3),
        "replaced": fault.replaced,
    }
