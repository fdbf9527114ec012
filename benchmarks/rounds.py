"""Contenders in turn, round after round, and the report of their runs.

A B C A B C rather than A A B B C C: on a shared machine the load drifts, so only figures of one
round may be divided by each other, and the reported figure is the median of the ratios.
"""

import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Run, measure

REPOSITORY = Path(__file__).resolve().parent.parent
# Fewer rounds give a median equal to a single run.
LEAST_ROUNDS = 3
# Counts of sentences must stay whole, so every count is a multiple of this number.
COUNT_STEP = 1000


@dataclass(frozen=True, slots=True)
class Contender:
    """One program in the race: `command(count)` is the command line for `count` tuples.

    `share` scales a slow or fast contender's count to an equal run time. `tracked`: whether each
    tuple is acked.
    """

    name: str
    command: Callable[[int], list[str]]
    share: float = 1.0
    tracked: bool = False
    is_engine: bool = False

    def count(self, base: int) -> int:
        """Tuples of the contender for the benchmark's count `base`."""
        return max(1, round(base * self.share / COUNT_STEP)) * COUNT_STEP


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, lowest and highest of one figure over the rounds."""

    median: float
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of one contender's runs."""

    name: str
    tracked: bool
    tuples_per_second: Spread
    cpu_seconds_per_million: Spread
    startup_seconds: Spread
    peak_pss_bytes: Spread


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times the engine beats a peer, over the rounds; below 1 the peer wins."""

    engine: str
    peer: str
    speed: Spread
    cpu: Spread


@dataclass(frozen=True, slots=True)
class Results:
    """Results of one benchmark: rounds hold the runs in order."""

    benchmark: str
    machine: dict[str, Any]
    rounds: list[list[Run]]
    summaries: list[Summary]
    ratios: list[Ratio]


def spread_of(values: Iterable[float]) -> Spread:
    """Median, lowest and highest of at least one value."""
    ordered = sorted(values)
    return Spread(statistics.median(ordered), ordered[0], ordered[-1])


def median_of(runs: Sequence[Run]) -> Run:
    """The run in the middle by CPU per tuple (of an even number, the cheaper of the two)."""
    return sorted(runs, key=lambda run: run.cpu_seconds_per_million)[(len(runs) - 1) // 2]


def compete(
    benchmark: str,
    contenders: Sequence[Contender],
    rounds: int,
    count: int,
    machine: dict[str, Any],
) -> Results:
    """Run everything, one run at a time; raises BenchmarkError when any run fails."""
    done = [run_round(contenders, number, rounds, count) for number in range(1, rounds + 1)]
    return Results(
        benchmark=benchmark,
        machine=machine,
        rounds=done,
        summaries=[summarise(one, runs_of(one.name, done)) for one in contenders],
        ratios=ratios(contenders, done),
    )


def run_round(contenders: Sequence[Contender], number: int, rounds: int, count: int) -> list[Run]:
    """Each contender once, in turn; says on standard error how it goes."""
    runs = []
    for contender in contenders:
        command = contender.command(contender.count(count))
        run = measure(contender.name, command, directory=REPOSITORY)
        print(f"round {number}/{rounds}  {one_line(run)}", file=sys.stderr)
        runs.append(run)
    return runs


def one_line(run: Run) -> str:
    """A run for the eye that waits."""
    return (
        f"{run.name:24} {run.tuples_per_second:12,.0f}/s  "
        f"{run.cpu_seconds_per_million:7.2f} CPU-s per million  {run.wall_seconds:6.2f} s"
    )


def runs_of(name: str, rounds: Sequence[Sequence[Run]]) -> list[Run]:
    """The runs of one contender, one per round."""
    return [run for one in rounds for run in one if run.name == name]


def summarise(contender: Contender, runs: Sequence[Run]) -> Summary:
    """Median and spread of all that was measured."""
    return Summary(
        name=contender.name,
        tracked=contender.tracked,
        tuples_per_second=spread_of(run.tuples_per_second for run in runs),
        cpu_seconds_per_million=spread_of(run.cpu_seconds_per_million for run in runs),
        startup_seconds=spread_of(run.startup_seconds for run in runs),
        peak_pss_bytes=spread_of(run.peak_pss_bytes for run in runs),
    )


def ratios(contenders: Sequence[Contender], rounds: Sequence[Sequence[Run]]) -> list[Ratio]:
    """Every engine variant against every peer, divided round by round."""
    engines = [one.name for one in contenders if one.is_engine]
    peers = [one.name for one in contenders if not one.is_engine]
    return [ratio(engine, peer, rounds) for peer in peers for engine in engines]


def ratio(engine: str, peer: str, rounds: Sequence[Sequence[Run]]) -> Ratio:
    """One engine variant against one peer."""
    pairs = list(zip(runs_of(engine, rounds), runs_of(peer, rounds), strict=True))
    return Ratio(
        engine=engine,
        peer=peer,
        speed=spread_of(
            ours.tuples_per_second / theirs.tuples_per_second for ours, theirs in pairs
        ),
        cpu=spread_of(
            theirs.cpu_seconds_per_million / ours.cpu_seconds_per_million for ours, theirs in pairs
        ),
    )
