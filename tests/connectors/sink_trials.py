"""Trials of each sink and their results: cells of the matrix. AssertionError for a value lost,
changed or doubled without a report."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from heron_connectors.two_phase import TwoPhaseSink
from heron_core.errors import ComponentError
from heron_tester.sink_faults import FaultPlan
from tests.connectors.runs import (
    NATIVE,
    SPARK,
    At,
    Ended,
    Hangs,
    Rows,
    SparkRun,
    classes,
    given,
    natively,
    on_spark,
    sinking,
)
from tests.connectors.samples import REFUSED, Sample, outcome
from tests.connectors.sinks import SinkEntry, Store

ENGINES = (*NATIVE, SPARK)
MOMENTS = ("a tuple", "before the end of a batch", "after the end of a batch")
COMMITS = ("before a commit", "after a commit")
"""Of sinks with a commit per batch."""
COPIED = (1, 2)
"""Batches that the copy of an attempt has done when the attempt wakes up."""
BATCH_ROWS = 2
KILLED_ROWS = 7
"""Four batches."""
ROWS_AMONG = 100
BAD = "\ud800"
"""Half a character: refused by all sinks."""


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """The process is in this zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def write(
    entry: SinkEntry,
    store: Store,
    rows: Rows,
    fields: Mapping[str, str | None],
    engine: str,
    folder: Path,
) -> Ended:
    """Write rows, to the end of the data; the result of the run."""
    topology = sinking(fields, entry.kind, store.config)
    with classes(given(rows), entry.kind):
        if engine == SPARK:
            return on_spark(topology, folder / "checkpoint")[0]
        return natively(topology, engine)[0]


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def type_outcome(
    entry: SinkEntry, sample: Sample, engine: str, is_declared: bool, folder: Path
) -> str:
    """Result of a value between two rows without a value: `same`, `as text`, or `refused`, reported
    and counted; its neighbours are stored."""
    store = entry.opened(_empty(folder / "out"), ("id", "value"))
    declared = sample.declared if is_declared else None
    fields = {"id": "bigint" if declared else None, "value": declared}
    rows = [[1, None], [2, sample.value], [3, None]]
    ended = write(entry, store, rows, fields, engine, folder)
    found = {row["id"]: row for row in store.rows()}
    neighbours = entry.form(None)
    assert [found[at].get("value") for at in (1, 3)] == [neighbours] * 2, (
        f"neighbours of {sample.value!r}: {found}, {ended}"
    )
    assert len(store.rows()) == len(found), f"more than once: {store.rows()}"
    if 2 in found:
        assert not ended.failed, f"written and failed: {ended}"
        return outcome(found[2].get("value"), sample.value, entry.form)
    assert ended.failed == 1, f"lost without a count: {ended}"
    assert any("value" in each for each in ended.errors), f"no error names the field: {ended}"
    return REFUSED


def bad_row_outcome(entry: SinkEntry, engine: str, folder: Path) -> str:
    """`alone`: of a transaction (a batch) the bad row is reported and counted, all further rows are
    stored."""
    store = entry.opened(_empty(folder / "out"), ("id", "value"))
    bad = ROWS_AMONG // 2
    rows = [[number, BAD if number == bad else "x"] for number in range(ROWS_AMONG)]
    ended = write(entry, store, rows, {"id": None, "value": None}, engine, folder)
    found = sorted(row["id"] for row in store.rows())
    assert found == [number for number in range(ROWS_AMONG) if number != bad], f"{found} {ended}"
    assert ended.failed == 1, str(ended)
    return "alone"


def nulls_outcome(
    entry: SinkEntry, sample: Sample, engine: str, is_declared: bool, folder: Path
) -> str:
    """The column begins with three empty batches or checkpoints' worth of None, then has a value,
    then None again; all come back."""
    store = entry.opened(_empty(folder / "out"), ("id", "value"))
    declared = sample.declared if is_declared else None
    fields = {"id": "bigint" if declared else None, "value": declared}
    values = [None, None, sample.value, None]
    ended = Ended()
    for number, value in enumerate(values):
        run = write(entry, store, [[number, value]], fields, engine, folder / str(number))
        ended.failed += run.failed
        ended.errors += run.errors
    found = {row["id"]: row.get("value") for row in store.rows()}
    assert len(found) == len(store.rows()) == len(values) - ended.failed, f"{found} {ended}"
    assert all(found[at] == entry.form(None) for at in (0, 1, 3)), str(found)
    if ended.failed:
        return REFUSED
    return outcome(found[2], sample.value, entry.form)


def schema_outcome(entry: SinkEntry, change: str, engine: str, folder: Path) -> str:
    """A run with two fields, then one with the changed ones, into one store: `merged` (all rows are
    stored, with their own fields), or `refused` (reported; the first rows are stored)."""
    changes = {
        "a field more": {"id": "bigint", "value": "string", "more": "double"},
        "a field less": {"id": "bigint"},
        "a wider type": {"id": "bigint", "value": "double"},
        "another type": {"id": "bigint", "value": "string"},
        "fields in another order": {"value": "string", "id": "bigint"},
    }
    first: dict[str, str | None] = {"id": "bigint", "value": "string"}
    if change == "a wider type":
        first["value"] = "int"
    elif change == "another type":
        first["value"] = "bigint"
    second: dict[str, str | None] = dict(changes[change])
    values = {"string": "x", "double": 0.5, "bigint": 7, "int": 7}
    store = entry.opened(_empty(folder / "out"), tuple(first))

    def row(number: int, fields: Mapping[str, str | None]) -> dict[str, object]:
        return {name: number if name == "id" else values[str(fields[name])] for name in fields}

    one = write(entry, store, [list(row(1, first).values())], first, engine, folder / "1")
    assert not one.failed, str(one)
    try:
        two = write(entry, store, [list(row(2, second).values())], second, engine, folder / "2")
    except ComponentError as error:
        two = Ended([str(error)], 0, True)
    found = {each["id"]: _present(each) for each in store.rows()}
    assert found.get(1) == _present({k: entry.form(v) for k, v in row(1, first).items()}), str(
        found
    )
    if 2 in found:
        assert found[2] == {k: entry.form(v) for k, v in row(2, second).items()}, str(found)
        return "merged"
    assert two.was_refused or two.errors, f"left out without a word: {found} {two}"
    return REFUSED


def _present(row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}


SCHEMA_CHANGES = (
    "a field more", "a field less", "a wider type", "another type", "fields in another order",
)  # fmt: skip


def killed_on_spark(entry: SinkEntry, folder: Path) -> str:
    """`exact`: its task is killed at each moment of each batch, and at each line of its end; each
    row is stored once, never before its batch is done."""
    kills = 0
    for moment in MOMENTS:
        for nth in range(1, 4):
            kills += _killed(entry, folder / f"{moment}-{nth}", moment, nth)
    for line in count(1) if entry.each_line else ():
        if not _killed(entry, folder / f"line-{line}", "", line):
            break
        kills += 1
    assert kills, "never killed"
    return "exact"


def _watched(kind: type[TwoPhaseSink], plan: FaultPlan) -> type[TwoPhaseSink]:
    """A sink with a planned death."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def process(self, tup: Any) -> None:
            super().process(tup)
            plan.at("a tuple")

        def commit(self, prepared: Any, transaction_id: Any) -> None:
            plan.at("before a commit")
            super().commit(prepared, transaction_id)
            plan.at("after a commit")

        def end_batch(self) -> None:
            plan.at("before the end of a batch")
            with plan.lines():
                super().end_batch()
            plan.at("after the end of a batch")

    return Watched


def _killed(entry: SinkEntry, folder: Path, moment: str, nth: int) -> int:
    plan = At(moment, nth)
    store = entry.opened(_empty(folder / "out"), ("id", "value"))
    rows = [[number, "x"] for number in range(KILLED_ROWS)]
    topology = sinking({"id": None, "value": None}, entry.kind, store.config)
    with classes(given(rows), _watched(entry.kind, plan)):
        run = SparkRun(topology, folder / "checkpoint", BATCH_ROWS)
        for _ in run.run():
            found = sorted(each["id"] for each in store.rows())
            assert found == list(range(len(found))), f"{moment} {nth}: {found}"
    found = sorted(each["id"] for each in store.rows())
    assert found == list(range(KILLED_ROWS)), f"{moment} {nth}: {found}"
    assert run.kills == plan.was_killed
    return run.kills


def woke_behind_its_copy(entry: SinkEntry, folder: Path) -> int:
    """An attempt of a batch hangs at each moment, and at each line of its end; meanwhile a copy on
    another host does the batch, or the next one as well; then the attempt wakes up. Each row is
    stored once. Returns the number of woken attempts refused by the sink."""
    refused = hung = 0
    for batches in COPIED:
        for moment in (*MOMENTS, *COMMITS):
            plan = Hangs(moment, 2)
            refused += _woke(entry, folder / f"{moment}-{batches}", plan, batches)
            hung += plan.was_killed
    assert hung >= len(COPIED) * len(MOMENTS), "hardly ever hung"
    for line in count(1) if entry.each_copied_line else ():
        plan = Hangs("", line)
        refused += _woke(entry, folder / f"line-{line}", plan, max(COPIED))
        if not plan.was_killed:
            break
    return refused


def _woke(entry: SinkEntry, folder: Path, plan: Hangs, batches: int) -> bool:
    store = entry.opened(_empty(folder / "out"), ("id", "value"))
    rows = [[number, "x"] for number in range(KILLED_ROWS)]
    topology = sinking({"id": None, "value": None}, entry.kind, store.config)
    with classes(given(rows), _watched(entry.kind, plan)):
        run = SparkRun(topology, folder / "checkpoint", BATCH_ROWS)
        plan.meanwhile = lambda: run.copy_goes_on(batches)
        for _ in run.run():
            found = sorted(each["id"] for each in store.rows())
            assert found == list(range(len(found))), f"{folder.name}: {found}"
    found = sorted(each["id"] for each in store.rows())
    assert found == list(range(KILLED_ROWS)), f"{folder.name}: {found}"
    return bool(run.refused)
