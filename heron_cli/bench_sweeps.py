"""`heronpy bench wordcount`, `rtac`, `tap`: throughput, latency, cores by parallelism and acks."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import click

from heron_cli.bench_run import STREAM, BenchRun, chain, progress
from heron_core import config as keys
from heron_core.naming import first_of
from heron_core.stats import TopologyStats
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_io.process_usage import cpu_secs_of_tree

COUNTS = "heron_frontends.components.bench_counts"
TAP = "heron_frontends.components.bench_tap"
PARALLELISM_MAX = 1000
STEADY_SECS = 0.3
"""Warm-up after the start: queues fill, plans are distributed."""
FLOWING_SECS = 60.0
"""Longest extension of a measurement until a tuple has passed the topology."""

SweepRow = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A component of a benchmark."""

    name: str
    class_name: str
    outputs: tuple[str, ...] = ()
    key: str | None = None
    """Field of the grouping; None: shuffled."""
    module: str = COUNTS


SWEPT: dict[str, tuple[Stage, ...]] = {
    "wordcount": (
        Stage("words", "BenchWords", ("word",)),
        Stage("count", "BenchWordCount", key="word"),
    ),
    "rtac": (
        Stage("events", "ClientEvents", ("user", "platform")),
        Stage("distributor", "Distributor", ("user", "platform")),
        Stage("user-count", "UserCount", ("platform", "is_new"), key="user"),
        Stage("aggregator", "ActiveUsers", key="platform"),
    ),
    "tap": (
        Stage("calls", "TapCalls", ("call", "firm", "time_ms"), module=TAP),
        Stage("latency", "TapLatency", ("firm", "time_ms", "latency_ms"), "call", TAP),
        Stage("means", "TapMeans", ("firm", "minute", "mean_ms"), "firm", TAP),
        Stage("table", "TapTable", key="firm", module=TAP),
    ),
}
"""Benchmark -> its chain of components."""
COUNTED = {"tap": "latency"}
"""Benchmark -> the component whose tuples are its throughput, if not the last: of tap the table has
a row for hundreds of calls."""


PENDING = {"tap": 50_000}
"""Benchmark -> unfinished tuples of each spout, if more than by default: a window of tap holds its
tuples until a watermark ends it, up to a second later."""


class ParallelismList(click.ParamType["tuple[int, ...]"]):
    """Numbers of instances, separated by commas."""

    name = "list"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(int(each) for each in str(value).split(","))
        except ValueError:
            numbers = ()
        if not numbers or not all(1 <= each <= PARALLELISM_MAX for each in numbers):
            self.fail(
                f"{value!r:.60} is not a list of numbers from 1 to {PARALLELISM_MAX}, as in 1,2,4",
                param, ctx,
            )  # fmt: skip
        return tuple(dict.fromkeys(numbers))


class AcksList(click.ParamType["tuple[bool, ...]"]):
    """on, off, or both, separated by a comma or a slash."""

    name = "list"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[bool, ...]:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        words = str(value).replace("/", ",").split(",")
        if not words or not set(words) <= {"on", "off"}:
            self.fail(f"{value!r:.60} is not on, off, or on,off", param, ctx)
        return tuple(word == "on" for word in dict.fromkeys(words))


def swept_topology(what: str, parallelism: int, acked: bool) -> TopologySpec:
    """The benchmark's chain with so many instances of each component."""
    stages = SWEPT[what]
    components = [
        ComponentSpec(
            stage.name,
            before is None,
            f"{stage.module}.{stage.class_name}",
            parallelism,
            (StreamSpec(STREAM, stage.outputs),) if stage.outputs else (),
            () if before is None else (InputSpec(before.name, STREAM, _grouping(stage)),),
        )
        for before, stage in itertools.pairwise((None, *stages))
        if stage is not None
    ]
    mode = keys.ATLEAST_ONCE if acked else keys.ATMOST_ONCE
    config: dict[str, str | int] = {keys.RELIABILITY_MODE: mode}
    if what in PENDING:
        config[keys.MAX_SPOUT_PENDING] = PENDING[what]
    return chain(what, tuple(components), config)


def _grouping(stage: Stage) -> GroupingSpec:
    if stage.key is None:
        return GroupingSpec(GroupingKind.SHUFFLE)
    return GroupingSpec(GroupingKind.FIELDS, (stage.key,))


def sweep(
    what: str, parallelisms: Sequence[int], acks: Sequence[bool], secs: float
) -> list[SweepRow]:
    """A row for each parallelism and kind of delivery."""
    rows = []
    for parallelism, acked in itertools.product(parallelisms, acks):
        progress(f"{what}: parallelism {parallelism}, acks {'on' if acked else 'off'}")
        rows.append(_measured(what, parallelism, acked, secs))
    return rows


def _measured(what: str, parallelism: int, acked: bool, secs: float) -> SweepRow:
    with BenchRun(swept_topology(what, parallelism, acked)) as run:
        run.wait_until_up()
        time.sleep(STEADY_SECS)
        before, cpu, began = run.stats(), cpu_secs_of_tree(run.scheduler_pid), time.monotonic()
        time.sleep(secs)
        row: SweepRow = {}

        def is_enough() -> bool:
            elapsed = time.monotonic() - began
            after = run.stats()
            row.update(sweep_row(what, before, after, elapsed))
            used = cpu_secs_of_tree(run.scheduler_pid)
            row["cores"] = None if used is None or cpu is None else (used - cpu) / elapsed
            has_passed = row["tuples_per_min"] and after.components[last].executed
            return bool(has_passed) and (not acked or row["p50_ms"] is not None)

        names, last = first_of([stage.name for stage in SWEPT[what]]), SWEPT[what][-1].name
        run.wait(is_enough, FLOWING_SECS, f"no tuple has passed {names}")
        return {"parallelism": parallelism, "acks": "on" if acked else "off", **row}


def sweep_row(what: str, before: TopologyStats, after: TopologyStats, secs: float) -> SweepRow:
    """Throughput is that of the last component, or the one of COUNTED; latency that of complete
    trees at the spout."""
    first, counted = SWEPT[what][0].name, COUNTED.get(what, SWEPT[what][-1].name)
    number = after.components[counted].executed - before.components[counted].executed
    latency = after.components[first].latency.complete
    return {
        "tuples_per_min": number * 60 / secs,
        "p50_ms": latency.p50_ms,
        "p99_ms": latency.p99_ms,
    }
