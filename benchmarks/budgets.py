"""Budgets of the engine, with the figures of the last runs.

python -m benchmarks.budgets

Reads benchmarks/results/*.json without measuring. The budgets of the races are defined here, the
rest in their benchmarks.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.report import RESULTS, table

Json = Mapping[str, Any]
RACES = ("one_hop", "word_count")
OTHERS = (
    "latency", "startup", "memory", "cpu_shares", "recovery", "slow_and_cheap", "control_plane",
    "exact_recovery", "large_state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Budget:
    """One limit for one engine variant of a race; with `peer` the limit of a ratio."""

    race: str
    engine: str
    figure: str
    limit: float
    what: str
    style: str = ".2f"
    peer: str | None = None

    @property
    def is_least(self) -> bool:
        """Whether more is better: rates and ratios, but not CPU per tuple."""
        return self.peer is not None or self.figure == "tuples_per_second"


RATE, CPU = "tuples_per_second", "cpu_seconds_per_million"
AT_MOST_ONCE, ACKED = "engine-at-most-once", "engine-acked"
BUDGETS = (
    Budget("one_hop", AT_MOST_ONCE, RATE, 600_000, "messages/s", ",.0f"),
    Budget("one_hop", AT_MOST_ONCE, CPU, 3.0, "CPU-s per million"),
    Budget("one_hop", AT_MOST_ONCE, "cpu", 2.0, "CPU against bytewax", peer="bytewax"),
    Budget("one_hop", ACKED, RATE, 300_000, "messages/s", ",.0f"),
    Budget("one_hop", ACKED, CPU, 6.0, "CPU-s per million"),
    Budget("one_hop", ACKED, "cpu", 1.25, "CPU against bytewax", peer="bytewax"),
    Budget("word_count", AT_MOST_ONCE, CPU, 3.5, "CPU-s per million words"),
    Budget("word_count", AT_MOST_ONCE, "cpu", 1.67, "CPU against pathway", peer="pathway"),
    Budget(
        "word_count",
        AT_MOST_ONCE,
        "cpu",
        0.56,
        "CPU against the hand-written one",
        peer="handwritten",
    ),
    Budget("word_count", ACKED, CPU, 5.0, "CPU-s per million words"),
    Budget("word_count", ACKED, "cpu", 2.0, "CPU against bytewax", peer="bytewax"),
    Budget("word_count", ACKED, "cpu", 1.33, "CPU against pathway", peer="pathway"),
)


def budget_table() -> str:
    """A row for each budget whose benchmark has results."""
    many = results_of("many_instances").get("budget_rows", [])
    return table(["what", "budget", "measured", "met"], [*many, *race_rows(), *figure_rows()])


def race_rows() -> Iterator[list[str]]:
    """Budgets of the races."""
    for each in BUDGETS:
        spread = spread_in(results_of(each.race), each)
        if spread is not None:
            median = spread["median"]
            met = median >= each.limit if each.is_least else median <= each.limit
            sign = "≥" if each.is_least else "≤"
            what = f"{each.race}, {each.engine}: {each.what}"
            limit = f"{sign} {each.limit:{',.0f' if each.limit > 1000 else 'g'}}"
            yield [what, limit, spread_cell(spread, each.style), verdict(met)]


def figure_rows() -> Iterator[list[str]]:
    """Budgets of the benchmarks without contenders."""
    for name in OTHERS:
        for each in results_of(name).get("figures", []):
            if each["met"] is not None:
                what = f"{name}: {each['what']}{each['unit'] and ', ' + each['unit']}"
                cell = spread_cell(each["spread"], ".3f" if each["unit"] in ("s", "ms") else ".1f")
                yield [what, each["limit"], cell, verdict(each["met"])]


def results_of(benchmark: str) -> Json:
    """Results of the benchmark's last run, empty without a run."""
    path = RESULTS / f"{benchmark}.json"
    found: Json = json.loads(path.read_text()) if path.exists() else {}
    return found


def spread_in(results: Json, budget: Budget) -> Json | None:
    """Median, lowest and highest value of the limited figure, if measured."""
    if budget.peer is None:
        found = [each for each in results.get("summaries", ()) if each["name"] == budget.engine]
    else:
        pair = (budget.engine, budget.peer)
        ratios = results.get("ratios", ())
        found = [each for each in ratios if (each["engine"], each["peer"]) == pair]
    spread: Json | None = found[0][budget.figure] if found else None
    return spread


def spread_cell(spread: Json, style: str) -> str:
    """`median (lowest to highest)`."""
    numbers = [f"{spread[name]:{style}}" for name in ("median", "lowest", "highest")]
    return f"{numbers[0]} ({numbers[1]} to {numbers[2]})"


def verdict(met: bool) -> str:
    """Yes or no."""
    return "yes" if met else "no"


if __name__ == "__main__":
    print(budget_table())
