"""`heronpy bench`: the machine's performance in one table, for comparison."""

import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from heron_cli.bench_run import BenchRun, chain, component, progress
from heron_cli.bench_sweeps import SWEPT, AcksList, ParallelismList, sweep
from heron_cli.component_table import plain_table
from heron_cli.options.numbers import Seconds
from heron_core import config as keys
from heron_core.number_text import milliseconds, short
from heron_core.stats import ComponentStats, TopologyStats
from heron_core.topology import TopologySpec
from heron_frontends.components.bench import BYTES, DOUBLE_BYTES, NOTES, RATE, notes

PACED_PER_SEC = 2_000
"""Enough that a gap of some milliseconds is seen, and little for any machine."""
STEADY_SECS = 0.3
"""Warm-up after the start: queues fill, plans are distributed."""
FLOWING_SECS = 60.0
"""Longest extension of a measurement until every stage has processed a message."""
AFTER_SECS = 0.01
"""Margin after a kill: the dying process may process one or two more tuples."""
BACK_SECS = 60.0
"""Twice the message timeout: what is not back by then is not coming back."""
POLL_SECS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """What is run."""

    producers: int
    processors: int
    size_bytes: int
    stages: int
    seconds: float
    acked: bool
    rounds: int


@click.command("bench")
@click.argument("what", type=click.Choice(("sol", "wordcount", "rtac", "tap", "recovery")))
@click.option("--producers", type=click.IntRange(1), default=2, show_default=True, metavar="N",
              help="sol: number of spout instances.")  # fmt: skip
@click.option("--processors", type=click.IntRange(1), default=2, show_default=True, metavar="N",
              help="Instances of each stage, or of recovery's bolt.")  # fmt: skip
@click.option("--bytes", "size_bytes", type=click.IntRange(1, 1_000_000), default=100,
              show_default=True, metavar="N", help="sol: size of a message.")  # fmt: skip
@click.option("--stages", type=click.IntRange(1, 100), default=2, show_default=True, metavar="N",
              help="sol: stages of processors after the producers.")  # fmt: skip
@click.option("-t", "--time", "seconds", type=Seconds(min=1), default=10.0,
              show_default=True, metavar="SECONDS",
              help="Measure for this long, and until every stage has a message.")  # fmt: skip
@click.option("--acked", is_flag=True, help="sol: with acks (at least once), and their latency.")
@click.option(
    "--parallelism",
    type=ParallelismList(),
    default="1,2",
    show_default=True,
    metavar="N,…",
    help="wordcount, rtac, tap: instances of each component, a row for each.",
)
@click.option(
    "--acks",
    type=AcksList(),
    default="on,off",
    show_default=True,
    metavar="on,off",
    help="wordcount, rtac, tap: with acks (at least once), without, or a row for both.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, metavar="N",
              help="recovery: number of kills of each kind of process.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def bench_command(
    what: str,
    producers: int,
    processors: int,
    size_bytes: int,
    stages: int,
    seconds: float,
    acked: bool,
    parallelism: tuple[int, ...],
    acks: tuple[bool, ...],
    rounds: int,
    as_json: bool,
) -> None:
    """Measure this machine: its throughput (sol), or how soon data flows again after a kill -9.

    sol sends random messages through stages of processors, shuffled (Gearpump's benchmark of that
    name). wordcount and rtac (real-time active counts) are those of Heron's paper, for each
    parallelism, with and without acks: tuples per minute, latency, cores. tap (Gearpump's job of
    that name) correlates calls with their answers in event time and computes means of each minute.
    recovery kills an instance, a stream manager and the topology master of a paced, acked topology.
    Leave the machine alone meanwhile. Progress goes to stderr, one table to stdout.

    \b
    heronpy bench sol --producers 2 --processors 2 --bytes 100 --stages 2
    heronpy bench wordcount --parallelism 1,2,4 --acks on,off
    heronpy bench tap --parallelism 1,2,4 --acks off
    heronpy bench recovery --json
    """
    settings = BenchSettings(
        producers=producers, processors=processors, size_bytes=size_bytes, stages=stages,
        seconds=seconds, acked=acked, rounds=rounds,
    )  # fmt: skip
    if what in SWEPT:
        rows, show = sweep(what, parallelism, acks, seconds), SWEEP_COLUMNS
    elif what == "sol":
        rows, show = _sol(settings), SOL_COLUMNS
    else:
        rows, show = _recovery(settings), RECOVERY_COLUMNS
    if as_json:
        click.echo(json.dumps({"bench": what, "rows": rows}, indent=1))
    else:
        cells = [[text(row[key]) for key, text in show.values()] for row in rows]
        click.echo(plain_table(list(show), cells))


Row = dict[str, str | int | float | None]


def _rate(value: object) -> str:
    return short(float(str(value)))


def _share(value: object) -> str:
    return f"{float(str(value)):.0%}"


def _latency(value: object) -> str:
    return milliseconds(None if value is None else float(str(value)))


def _seconds(value: object) -> str:
    return f"{float(str(value)):.2f} s"


def _cores(value: object) -> str:
    return "-" if value is None else f"{float(str(value)):.2f}"


def _bytes(value: object) -> str:
    return "-" if value is None else f"{float(str(value)):.0f}"


Columns = dict[str, tuple[str, Callable[[object], str]]]
"""Heading -> key of a row, and how its value is shown."""
SOL_COLUMNS: Columns = {
    "stage": ("stage", str),
    "instances": ("instances", str),
    "messages/s": ("messages_per_sec", _rate),
    "MB/s": ("megabytes_per_sec", _rate),
    "bytes/message": ("wire_bytes", _bytes),
    "busiest": ("capacity", _share),
    "p50": ("p50_ms", _latency),
    "p99": ("p99_ms", _latency),
}
SWEEP_COLUMNS: Columns = {
    "parallelism": ("parallelism", str),
    "acks": ("acks", str),
    "tuples/min": ("tuples_per_min", _rate),
    "p50": ("p50_ms", _latency),
    "p99": ("p99_ms", _latency),
    "cores": ("cores", _cores),
}
RECOVERY_COLUMNS: Columns = {
    "killed": ("killed", str),
    "kills": ("kills", str),
    "flows again after": ("median_secs", _seconds),
    "slowest": ("slowest_secs", _seconds),
}


# --- sol ------------------------------------------------------------------------------------------


def sol_topology(settings: BenchSettings) -> TopologySpec:
    """producers -> stage1 -> … -> the last stage, without output."""
    stages = [
        component(
            f"stage{number}",
            "Processor" if number < settings.stages else "Last",
            settings.processors,
            "message" if number < settings.stages else None,
            f"stage{number - 1}" if number > 1 else "producers",
        )
        for number in range(1, settings.stages + 1)
    ]
    first = component("producers", "Producer", settings.producers, "message")
    mode = keys.ATLEAST_ONCE if settings.acked else keys.ATMOST_ONCE
    config = {BYTES: settings.size_bytes, keys.RELIABILITY_MODE: mode}
    return chain("sol", (first, *stages), config)


def _sol(settings: BenchSettings) -> list[Row]:
    with BenchRun(sol_topology(settings)) as run:
        progress("starting")
        run.wait_until_up()
        time.sleep(STEADY_SECS)
        before, began = run.stats(), time.monotonic()
        progress(f"measuring for {settings.seconds:g} s")
        time.sleep(settings.seconds)
        rows: list[Row] = []

        def is_enough() -> bool:
            elapsed = time.monotonic() - began
            rows[:] = sol_rows(before, run.stats(), elapsed, settings.size_bytes, run.tasks)
            return all(is_measured(each, settings.acked) for each in rows)

        run.wait(is_enough, FLOWING_SECS, "not every stage has processed a message")
        return rows


def is_measured(row: Row, acked: bool) -> bool:
    """Whether a row says something: on a busy machine a stage may have processed nothing yet."""
    has_latency = row["p50_ms"] is not None or not acked or row["stage"] != "producers"
    return bool(row["messages_per_sec"]) and has_latency


def sol_rows(
    before: TopologyStats,
    after: TopologyStats,
    secs: float,
    size_bytes: int,
    tasks: Mapping[str, Sequence[int]],
) -> list[Row]:
    """One row per component, by the difference of two samples. `tasks`: ids by component."""
    rows: list[Row] = []
    for name, totals in after.components.items():
        number = _done(totals) - _done(before.components[name])
        latency = totals.latency.complete
        rows.append(
            {
                "stage": name,
                "instances": totals.instances,
                "messages_per_sec": number / secs,
                "megabytes_per_sec": number * size_bytes / secs / 1e6,
                "wire_bytes": _wire_bytes(tasks.get(name, ()), name, before, after),
                "capacity": totals.capacity,
                "p50_ms": latency.p50_ms,
                "p99_ms": latency.p99_ms,
            }
        )
    return rows


def _wire_bytes(
    tasks: Sequence[int], name: str, before: TopologyStats, after: TopologyStats
) -> float | None:
    """Bytes between stream managers and the component's processes for each message, with headers,
    ids and the values' encoding: received, or of a spout sent. None without a message."""
    is_spout = after.components[name].type == "spout"

    def total(stats: TopologyStats) -> int:
        return sum(
            (manager.task_bytes_out if is_spout else manager.task_bytes_in).get(task, 0)
            for manager in stats.stream_managers.values()
            for task in tasks
        )

    number = _done(after.components[name]) - _done(before.components[name])
    return (total(after) - total(before)) / number if number else None


def _done(each: ComponentStats) -> int:
    return each.emitted if each.type == "spout" else each.executed


# --- recovery -------------------------------------------------------------------------------------


def recovery_topology(settings: BenchSettings, path: str) -> TopologySpec:
    """paced -> noting, on two containers, acked."""
    config = {
        NOTES: path,
        RATE: PACED_PER_SEC,
        keys.RELIABILITY_MODE: keys.ATLEAST_ONCE,
        keys.STMGRS: 2,
    }
    paced = component("paced", "Paced", 1, "emitted_at")
    noting = component("noting", "Noting", settings.processors, None, "paced")
    return chain("recovery", (paced, noting), config)


def _recovery(settings: BenchSettings) -> list[Row]:
    tasks = 1 + settings.processors
    with tempfile.NamedTemporaryFile(prefix="heronpy-notes-") as file:
        file.truncate(tasks * DOUBLE_BYTES)
        noted = notes(file.name)
        with BenchRun(recovery_topology(settings, file.name)) as run:
            progress("starting")
            run.wait_until_up()
            victims: dict[str, Callable[[], int]] = {
                "instance": lambda: instance_pid(run.stats()),
                "stream manager": lambda: manager_pid(run.stats()),
                "topology master": run.master_pid,
            }
            return [
                _killed(kind, find, run, noted, settings.rounds) for kind, find in victims.items()
            ]


def instance_pid(stats: TopologyStats) -> int:
    """The pid of a bolt's instance; 0 before the first report."""
    rows = [each for each in stats.instances or () if each.instance.startswith("noting[")]
    return next((each.pid for each in rows if each.pid is not None and each.up), 0)


def manager_pid(stats: TopologyStats) -> int:
    """The pid of a stream manager; 0 before registration."""
    return next((each.pid for each in stats.registered.values()), 0)


def _killed(
    kind: str, find: Callable[[], int], run: BenchRun, noted: "memoryview[float]", rounds: int
) -> Row:
    secs = []
    for number in range(rounds):
        _wait_for_flow(noted, time.monotonic())  # of all tasks, before the next kill
        run.wait_until_up()
        run.wait(lambda: find() != 0, BACK_SECS, f"no {kind} is up")
        pid = find()
        progress(f"killing the {kind} (pid {pid}), {number + 1} of {rounds}")
        killed_at = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        secs.append(_wait_for_flow(noted, killed_at))
    return {
        "killed": kind,
        "kills": rounds,
        "median_secs": statistics.median(secs),
        "slowest_secs": max(secs),
    }


def _wait_for_flow(noted: "memoryview[float]", since: float) -> float:
    """Seconds from `since` until every task has processed a later emit."""

    def flows() -> bool:
        return min(noted) > since + AFTER_SECS

    BenchRun.wait(flows, BACK_SECS, "data does not flow again", POLL_SECS)
    return time.monotonic() - since
