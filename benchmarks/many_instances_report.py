"""The tables of benchmarks.many_instances."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.many_instances_shape import Measured, Shape
from benchmarks.report import cell, table
from benchmarks.rounds import spread_of

ENGINE, STORM = "engine", "Storm, one JVM"
SHARES: Mapping[int, float] = {20: 0.8, 60: 0.6, 200: 0.4}
"""Instances -> the least share of the trees per CPU-second at 5 instances (design budget)."""
STORM_FROM = 20
"""Instances from which on the engine is to be ahead of Storm."""
P50_MS_MAX, P50_SIZE = 300.0, 60
"""Budget of the complete latency's median, and for which size."""

Runs = Mapping[tuple[str, Shape], Measured]


def one_line(name: str, one: Measured) -> str:
    """A run for the eye that waits."""
    latency = f"  p50 {one.latency_ms(0.5):.1f} p99 {one.latency_ms(0.99):.1f} ms"
    return (
        f"{name:15} {one.shape!s:32} {one.trees_per_second:10,.0f} trees/s "
        f"{one.cpu_seconds_per_million:8.1f} CPU-s per million{latency if one.shape.acked else ''}"
    )


def markdown(rounds: Sequence[Runs]) -> str:
    """Figures, what a thousand trees take, budget rows."""
    parts = [figures_table(rounds), costs_table(rounds)]
    rows = list(budget_rows(rounds))
    if rows:
        parts.append(table(["what", "budget", "measured", "met"], rows))
    return "\n\n".join(parts)


def figures_table(rounds: Sequence[Runs]) -> str:
    """Speed, CPU and latency: median (lowest to highest)."""
    header = ["instances", "who", "trees/s", "CPU-s per million trees", "p50 ms", "p99 ms",
              "failed"]  # fmt: skip
    rows = []
    for name, shape in rounds[0]:
        runs = [each[name, shape] for each in rounds]
        rows.append([
            str(shape),
            name,
            cell(spread_of(one.trees_per_second for one in runs), ",.0f"),
            cell(spread_of(one.cpu_seconds_per_million for one in runs), ",.1f"),
            *(quantile_cell(runs, share) for share in (0.5, 0.99)),
            f"{median(one.failed for one in runs):,.0f}",
        ])  # fmt: skip
    return table(header, rows)


def quantile_cell(runs: Sequence[Measured], share: float) -> str:
    """The median of a quantile of the latency, empty without acks."""
    values = [one.latency_ms(share) for one in runs]
    return "" if any(map(math.isnan, values)) else f"{median(values):,.1f}"


def costs_table(rounds: Sequence[Runs]) -> str:
    """CPU shares, wake-ups and stream managers' counters by role."""
    per = "per 1,000 trees"
    header = ["instances", "who", "% of CPU", f"wake-ups {per}", f"preemptions {per}",
              f"stream managers' counters {per}"]  # fmt: skip
    rows = []
    for name, shape in rounds[0]:
        runs = sorted(
            (each[name, shape] for each in rounds), key=lambda one: one.cpu_seconds_per_million
        )
        one = runs[(len(runs) - 1) // 2]
        used = sum(one.cpu_seconds.values()) or math.inf
        shares = {role: seconds / used * 100 for role, seconds in one.cpu_seconds.items()}
        rows.append([
            str(shape),
            name,
            listed(shares, 1.0),
            listed(one.per_thousand(one.wake_ups), 1.0),
            f"{one.preemptions / one.trees * 1e3:,.0f}" if one.trees else "",
            listed(one.per_thousand(one.messages), 0.0),
        ])  # fmt: skip
    return table(header, rows)


def listed(figures: Mapping[str, float], at_least: float) -> str:
    """`name figure`, the largest first."""
    chosen = [each for each in figures.items() if each[1] >= at_least]
    return ", ".join(
        f"{name} {value:,.{0 if value >= 10 else 1}f}"
        for name, value in sorted(chosen, key=lambda each: -each[1])
    )


def budget_rows(rounds: Sequence[Runs]) -> Iterator[list[str]]:
    """The lines of the budget table that these runs have figures for."""
    base = Shape(5)
    for size, least in SHARES.items():
        shape = Shape(size)
        if all((ENGINE, each) in rounds[0] for each in (base, shape)):
            what = f"{shape}: trees per CPU-second against {base}"
            yield ratio_row(rounds, what, (ENGINE, base), (ENGINE, shape), least)
        if size >= STORM_FROM and all((name, shape) in rounds[0] for name in (ENGINE, STORM)):
            what = f"{shape}: trees per CPU-second against Storm"
            yield ratio_row(rounds, what, (STORM, shape), (ENGINE, shape), 1.0)
    if (ENGINE, Shape(P50_SIZE)) in rounds[0]:
        spread = spread_of(each[ENGINE, Shape(P50_SIZE)].latency_ms(0.5) for each in rounds)
        what = f"{Shape(P50_SIZE)}: complete latency, p50, ms"
        met = spread.median <= P50_MS_MAX
        yield [what, f"≤ {P50_MS_MAX:g}", cell(spread, ".1f"), "yes" if met else "no"]


def ratio_row(
    rounds: Sequence[Runs],
    what: str,
    than: tuple[str, Shape],
    one: tuple[str, Shape],
    least: float,
) -> list[str]:
    """How many times `one` makes of a CPU-second what `than` makes, round by round."""
    spread = spread_of(
        each[than].cpu_seconds_per_million / each[one].cpu_seconds_per_million for each in rounds
    )
    met = "yes" if spread.median >= least else "no"
    return [what, f"≥ {least:g}", cell(spread, ".2f"), met]
