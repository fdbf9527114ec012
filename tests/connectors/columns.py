"""Columns of the matrix: all trials of one connector. A declared inability has to fail, so that an
excuse does not outlive its reason."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from heron_core import config as keys
from heronpy_compat.testing import check_two_phase_sink
from tests.connectors import sink_trials, source_trials
from tests.connectors.folder_trials import meanwhile_outcome, start_outcome
from tests.connectors.page import (
    BAD_ROW,
    CHANGED,
    KILLED,
    NO_FOLDER,
    NO_FOLDER_NOW,
    NULLS,
    ON_SPARK,
    ZONES,
    Column,
)
from tests.connectors.runs import NATIVE, SPARK
from tests.connectors.samples import NAMED, NOT_THERE, REFUSED, SAMPLES, Sample
from tests.connectors.sink_trials import SCHEMA_CHANGES, time_zone
from tests.connectors.sinks import SinkEntry
from tests.connectors.sources import SourceEntry

ZONE_NAMES = ("UTC", "America/New_York", "Asia/Kolkata")
TIMES = ("date", "time of a day", "datetime", "datetime in UTC", "datetime in India")
NULLED = ("number", "text", "decimal", "datetime in UTC", "list", "struct")
Trial = Callable[[Sample, str, bool, Path], str]
"""(sample, engine, whether its type is declared, an empty folder) -> cell"""


def _folders(folder: Path) -> Callable[[], Path]:
    numbers = count()
    return lambda: folder / str(next(numbers))


def _agreed(cells: Mapping[Any, str]) -> str:
    assert len(set(cells.values())) == 1, f"engines differ: {cells}"
    return next(iter(cells.values()))


def _cell(name: str, cannot: Mapping[str, str], trial: Callable[[], str]) -> str:
    if name not in cannot:
        return trial()
    try:
        trial()
    except AssertionError:
        return CHANGED
    raise AssertionError(f"{name} holds: its excuse has to go ({cannot[name]})")


def _everywhere(trial: Trial, sample: Sample, folder: Callable[[], Path]) -> str:
    cases = [(keys.EFFECTIVELY_ONCE, False), (keys.ATLEAST_ONCE, False), (SPARK, False)]
    cells = {case: trial(sample, *case, folder()) for case in cases}
    if sample.declared is None:
        return _agreed(cells)
    return _by_declaration(cells, trial(sample, keys.EFFECTIVELY_ONCE, True, folder()))


def _by_declaration(undeclared: Mapping[Any, str], declared: str) -> str:
    """The cell of a value on all engines, with and without a declared type; where the store needs
    the type, the value is refused without."""
    if declared != REFUSED and _agreed(undeclared) == REFUSED:
        return f"{declared} if declared"
    return _agreed({**undeclared, "declared": declared})


def types_out(entry: SinkEntry, folder: Path) -> Column:
    """What becomes of each value, in each mode, declared and not, and on Spark."""
    return _types(lambda *case: sink_trials.type_outcome(entry, *case), entry, folder)


def types_in(entry: SourceEntry, folder: Path) -> Column:
    """Results of a source for each value."""
    return _types(lambda *case: source_trials.type_outcome(entry, *case), entry, folder)


def _types(trial: Trial, entry: SinkEntry | SourceEntry, folder: Path) -> Column:
    new = _folders(folder)
    return {
        each.name: _cell(each.name, entry.cannot, partial(_everywhere, trial, each, new))
        for each in SAMPLES
    }


def trials_out(entry: SinkEntry, folder: Path) -> Column:
    """All further trials of a sink."""
    cells = {NULLS: _nulls(entry, folder / "nulls")}
    cells[ZONES] = _zones(lambda *case: sink_trials.type_outcome(entry, *case), folder / "zones")
    for change in SCHEMA_CHANGES:
        cells[change] = _schema(entry, change, folder / change)
    engines = (keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, SPARK)
    cells[BAD_ROW] = _agreed(
        {each: sink_trials.bad_row_outcome(entry, each, folder / f"bad-{each}") for each in engines}
    )
    for name, trial in ((NO_FOLDER, start_outcome), (NO_FOLDER_NOW, meanwhile_outcome)):
        cells[name] = _unwritable(entry, trial, folder / name)
    cells[KILLED] = _killed(entry, folder / "killed")
    cells[ON_SPARK] = sink_trials.killed_on_spark(entry, folder / "spark")
    return cells


def trials_in(entry: SourceEntry, folder: Path) -> Column:
    """All further trials of a source."""
    return {
        ZONES: _zones(lambda *case: source_trials.type_outcome(entry, *case), folder / "zones"),
        KILLED: source_trials.killed_natively(entry, folder / "killed"),
        ON_SPARK: source_trials.killed_on_spark(entry, folder / "spark"),
    }


def _nulls(entry: SinkEntry, folder: Path) -> str:
    new = _folders(folder)
    for name in NULLED:
        cells = {
            engine: sink_trials.nulls_outcome(entry, NAMED[name], engine, False, new())
            for engine in (keys.EFFECTIVELY_ONCE, SPARK)
        }
        declared = sink_trials.nulls_outcome(entry, NAMED[name], keys.ATLEAST_ONCE, True, new())
        _by_declaration(cells, declared)
    return "held"


def _zones(trial: Trial, folder: Path) -> str:
    """Whether times are independent of the process's zone."""
    new = _folders(folder)
    found = set()
    for name in TIMES:
        cells = {}
        for zone in ZONE_NAMES:
            with time_zone(zone):
                for engine in (keys.EFFECTIVELY_ONCE, SPARK):
                    cells[zone, engine] = trial(NAMED[name], engine, False, new())
        found.add(_agreed(cells))
    return NOT_THERE if found == {NOT_THERE} else "held"


def _schema(entry: SinkEntry, change: str, folder: Path) -> str:
    if "schema" in entry.cannot:
        return NOT_THERE
    engines = (keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, SPARK)
    return _agreed(
        {each: sink_trials.schema_outcome(entry, change, each, folder / each) for each in engines}
    )


def _unwritable(
    entry: SinkEntry, trial: Callable[[SinkEntry, str, Path], str], folder: Path
) -> str:
    if "folder" in entry.cannot:
        return NOT_THERE
    return _agreed({each: trial(entry, each, folder / each) for each in (*NATIVE, SPARK)})


def _killed(entry: SinkEntry, folder: Path) -> str:
    folder.mkdir(parents=True)
    store = entry.opened(folder, ("id", "value"))
    check_two_phase_sink(
        entry.kind,
        lambda: [row["id"] for row in store.rows()],
        fields=("id", "value"),
        row=lambda number: [number, "x"],
        config=store.config,
        each_line=False,
    )
    return "exact"
