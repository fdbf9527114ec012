"""Trials of each source and their results: cells of the matrix. AssertionError for a value lost,
changed or doubled without a report."""

import gc
import time
from pathlib import Path
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat import Spout
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import (
    DEADLINE_SECS,
    SINK,
    SOURCE,
    SPARK,
    At,
    Collected,
    Ended,
    SparkRun,
    classes,
    has_rows,
    natively,
    on_spark,
    reading,
)
from tests.connectors.samples import NOT_THERE, REFUSED, Sample, outcome
from tests.connectors.sources import NotThere, SourceEntry

BATCH_ROWS = 2
KILLED_ROWS = 9
CALLS_TO_KILL_IN = 5


def read(
    entry: SourceEntry, config: Any, engine: str, folder: Path, wanted: int
) -> tuple[Ended, list[Any]]:
    """Read all rows; returns the result of the run, and the values in order."""
    topology = reading(entry.outputs, config)
    with classes(_kind(entry), Collected):
        if engine == SPARK:
            ended, rows = on_spark(topology, folder / "checkpoint", None if entry.ends else wanted)
        else:
            ended, rows = natively(topology, engine, wanted)
    return ended, [row[0] for row in rows]


def _kind(entry: SourceEntry) -> type[Spout]:
    return type("Source", (entry.kind,), {"outputs": list(entry.outputs)})


def type_outcome(
    entry: SourceEntry, sample: Sample, engine: str, is_declared: bool, folder: Path
) -> str:
    """The emitted form of a value between two equal ones."""
    (folder / "in").mkdir(parents=True)
    declared = sample.declared if is_declared else None
    try:
        config = entry.filled(folder / "in", [sample.value] * 3, declared)
    except NotThere:
        return NOT_THERE
    try:
        ended, found = read(entry, config, engine, folder, 3)
    except ComponentError:
        return REFUSED
    if ended.was_refused or (ended.errors and not found):
        return REFUSED
    assert len(found) == 3, f"{found} {ended}"
    assert not ended.errors, str(ended)
    return {outcome(each, sample.value, entry.form) for each in found}.pop()


def killed_natively(entry: SourceEntry, folder: Path) -> str:
    """`exact`: kills of the source and its reader, before and after checkpoints."""
    for victim in (SOURCE, SINK):
        config = _numbered(entry, folder / victim)
        topology = reading(entry.outputs, config)
        mode = {keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE}
        with (
            classes(_kind(entry), Collected),
            TopologyTester(topology, config=mode, patch_time=False) as tester,
        ):
            for turn in range(4):
                tester.run_spouts(2)
                if turn % 2 == 0:
                    assert tester.checkpoint()
                    tester.run_spouts(1)
                tester.crash(victim)
                gc.collect()  # ends connections, as the end of a process does
            _until_read(tester)
            (last,) = tester.component(SINK)
            assert [int(row[0]) for row in last.rows] == list(range(KILLED_ROWS)), str(last.rows)
    return "exact"


def _numbered(entry: SourceEntry, folder: Path) -> Any:
    """So many rows, each with its number as a text, or as bytes."""
    folder.mkdir(parents=True)
    numbers = [str(number) for number in range(KILLED_ROWS)]
    try:
        return entry.filled(folder, numbers, None)
    except NotThere:
        return entry.filled(folder, [each.encode() for each in numbers], None)


def _until_read(tester: TopologyTester) -> None:
    deadline = time.monotonic() + DEADLINE_SECS
    while not has_rows(tester, KILLED_ROWS):
        assert time.monotonic() < deadline, "no end"
        tester.run_spouts(1)


def killed_on_spark(entry: SourceEntry, folder: Path) -> str:
    """`exact`: its task is killed in the middle of a batch, once for each of its first calls."""
    kills = 0
    for nth in range(1, CALLS_TO_KILL_IN + 1):
        plan = At("a call", nth)
        config = _numbered(entry, folder / str(nth))
        with classes(_watched(_kind(entry), plan), Collected):
            run = SparkRun(reading(entry.outputs, config), folder / f"{nth}-spark", BATCH_ROWS)
            run.after_kill = gc.collect
            for _ in run.run():
                if len(run.last_rows) >= KILLED_ROWS:
                    break
            found = [int(row[0]) for row in run.last_rows]
        assert found == list(range(KILLED_ROWS)), f"call {nth}: {found}"
        kills += run.kills
    assert kills, "never killed"
    return "exact"


def _watched(kind: type[Spout], plan: At) -> type[Spout]:
    """A source with a planned death."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def next_tuple(self) -> None:
            super().next_tuple()
            plan.at("a call")

    return Watched
