"""Benchmarks without contenders: rounds of figures, their spread, budgets, JSON and a table."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine, machine_lines
from benchmarks.measure import BenchmarkError
from benchmarks.report import RESULTS, cell, table
from benchmarks.rounds import LEAST_ROUNDS, Spread, spread_of

Round = Mapping[str, float]
"""Name of a figure -> value in one round."""


@dataclass(frozen=True, slots=True)
class Column:
    """Title of a figure in the table, its unit, number format and budget."""

    name: str
    what: str
    unit: str
    style: str = ".2f"
    at_most: float | None = None
    at_least: float | None = None

    @property
    def limit(self) -> str:
        """The budget for the tables, empty without one."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"

    def is_met(self, value: float) -> bool | None:
        """Whether the value is within the budget; None without a budget."""
        if self.at_most is not None:
            return value <= self.at_most
        return None if self.at_least is None else value >= self.at_least


@dataclass(frozen=True, slots=True)
class Figure:
    """Summary of a figure's rounds; `met` is None without a budget."""

    name: str
    what: str
    unit: str
    values: tuple[float, ...]
    spread: Spread
    limit: str
    """The budget for the tables."""
    met: bool | None


def run(
    benchmark: str,
    description: str | None,
    columns: Sequence[Column],
    one_round: Callable[[], Round],
    warm_up: Callable[[], object] | None = None,
) -> None:
    """Read the command line, run the rounds, write JSON and print the table."""
    options = parse(description)
    described = machine({})
    try:
        if warm_up is not None:
            warm_up()
        rounds = [tell(number, options.rounds, one_round()) for number in range(options.rounds)]
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
    figures = [figure_of(each, rounds) for each in columns]
    path = write(benchmark, described, figures)
    print(f"wrote {path.relative_to(RESULTS.parent.parent)}", file=sys.stderr)
    print(f"{machine_lines(described)}\n\n{figures_table(columns, figures)}")


def parse(description: str | None) -> argparse.Namespace:
    """Parse --rounds; a wrong value ends the program with a message."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS)
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds must be at least {LEAST_ROUNDS}, or the median means nothing")
    return options


def tell(number: int, rounds: int, values: Round) -> Round:
    """Report the progress on standard error."""
    text = "  ".join(f"{name} {value:.3f}" for name, value in values.items())
    print(f"round {number + 1}/{rounds}  {text}", file=sys.stderr)
    return values


def figure_of(column: Column, rounds: Sequence[Round]) -> Figure:
    """A column over all rounds."""
    values = tuple(each[column.name] for each in rounds)
    spread = spread_of(values)
    met = column.is_met(spread.median)
    return Figure(column.name, column.what, column.unit, values, spread, column.limit, met)


def figures_table(columns: Sequence[Column], figures: Sequence[Figure]) -> str:
    """A row per figure: title, budget, median (lowest to highest)."""
    rows = [
        [
            f"{one.what}, {one.unit}" if one.unit else one.what,
            one.limit,
            cell(one.spread, column.style),
            {None: "", True: "yes", False: "no"}[one.met],
        ]
        for column, one in zip(columns, figures, strict=True)
    ]
    return table(["what", "budget", "measured", "met"], rows)


def write(benchmark: str, described: Mapping[str, Any], figures: Sequence[Figure]) -> Path:
    """Write benchmarks/results/NAME.json; returns where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{benchmark}.json"
    content = {
        "benchmark": benchmark,
        "machine": dict(described),
        "figures": [asdict(each) for each in figures],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path
