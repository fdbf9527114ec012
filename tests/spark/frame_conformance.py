"""FrameSpout's value for each value in files: read by pyarrow without Spark, and by a real Spark.
Columns of the matrix of docs/CONNECTORS.md; all values of a format are columns of one table,
because a query of Spark takes seconds."""

import base64
import csv
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow import parquet

from heron_connectors.spark.frames import FrameSpout
from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_tester.sources import topology_of
from heronpy_compat import Bolt, Topology
from heronpy_compat.testing import TopologyTester
from tests.connectors.page import CHANGED
from tests.connectors.samples import NOT_THERE, REFUSED, SAMPLES, Form, Sample, outcome
from tests.connectors.sinks import as_arrow
from tests.connectors.sources import SOURCES as OTHERS
from tests.connectors.sources import NotThere, SourceEntry, as_read_from_csv
from tests.spark.spark_support import HERE, Watched, run

ROWS = 3
"""The value stands between two equal ones."""
ENGINES = (keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE)
TYPED = ("parquet",)
"""Formats with columns of types unknown to Spark: a check takes a Spark job for each sample."""
ALONE = {"half a character", "mixed list"}
"""Values refused in Spark's files, together with all other values."""
Column = Mapping[str, str]


def as_json_by_spark(value: Any) -> Any:
    """Whole numbers beyond 64 bits are decimals."""
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return Decimal(value) if is_large else as_arrow(value)


FORMS: Mapping[str, Form] = {
    "parquet": as_arrow, "json": as_json_by_spark, "csv": as_read_from_csv,
}  # fmt: skip


class Pickling(Bolt):
    """Prints each tuple, with the types of its values."""

    def process(self, tup: Any) -> None:
        print(json.dumps({"row": base64.b64encode(pickle.dumps(tup.values)).decode()}))


def frame_column(spark: Any, kind: str, folder: Path) -> Column:
    """Sample -> cell, of a format."""
    held = {each.name: each for each in SAMPLES if _is_held(kind, each, folder / each.name)}
    is_read = {name: _is_read(spark, kind, folder / name / "in") for name in held}
    together = [each for name, each in held.items() if is_read[name] and name not in ALONE]
    cells = dict.fromkeys((each.name for each in SAMPLES), NOT_THERE)
    for number, samples in enumerate([together, *([held[each]] for each in ALONE & {*held})]):
        data = folder / f"together-{number}"
        _write_together(kind, samples, data)
        native = _cells(_natively(kind, samples, data), samples, kind)
        rows = _by_spark(spark, kind, samples, data)
        by_spark = _cells(rows, samples, kind) if rows else {each.name: REFUSED for each in samples}
        cells |= {name: _both(cell, by_spark[name]) for name, cell in native.items()}
    for name in (each for each in held if not is_read[each]):
        _write_together(kind, [held[name]], folder / f"{name}-alone")
        rows = _natively(kind, [held[name]], folder / f"{name}-alone")
        cells |= {name: _both(_cells(rows, [held[name]], kind)[name], REFUSED)}
    return cells


def _both(native: str, by_spark: str) -> str:
    return native if native == by_spark else f"{native}, {by_spark} by Spark"


def _entry(kind: str) -> SourceEntry:
    return next(each for each in OTHERS if each.name == f"TableSpout ({kind})")


def _is_held(kind: str, sample: Sample, folder: Path) -> bool:
    """Whether the format has the value; a folder with the value alone."""
    (folder / "in").mkdir(parents=True)
    try:
        _entry(kind).filled(folder / "in", [sample.value] * ROWS, None)
    except NotThere:
        return False
    return True


def _is_read(spark: Any, kind: str, folder: Path) -> bool:
    """Whether Spark knows the type of the column."""
    if kind not in TYPED:
        return True
    try:
        spark.read.format(kind).load(str(folder)).schema.json()
    except Exception:  # of Spark's, for a type that it does not have
        return False
    return True


def _write_together(kind: str, samples: Sequence[Sample], folder: Path) -> None:
    """A file with a column for each sample, and three rows."""
    folder.mkdir()
    if kind == "parquet":
        columns = [arrow.array([each.value] * ROWS) for each in samples]
        table = arrow.Table.from_arrays(columns, names=_names(samples))
        parquet.write_table(table, folder / "rows.parquet")
        return
    writers: Mapping[str, Callable[[Path, Sequence[Sample]], None]] = {
        "json": _write_json, "csv": _write_csv,
    }  # fmt: skip
    writers[kind](folder / f"rows.{kind}", samples)


def _write_json(path: Path, samples: Sequence[Sample]) -> None:
    values = [each.value for each in samples]
    line = json.dumps(dict(zip(_names(samples), values, strict=True)), allow_nan=False)
    path.write_text(f"{line}\n" * ROWS)


def _write_csv(path: Path, samples: Sequence[Sample]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_names(samples))
        writer.writerows([[each.value for each in samples]] * ROWS)


def _names(samples: Sequence[Sample]) -> list[str]:
    return [f"c{at}" for at in range(len(samples))]


def _table(kind: str, samples: Sequence[Sample], folder: Path) -> Any:
    return FrameSpout.load(str(folder), format=kind, columns=_names(samples)).spec()


def _read_alone(kind: str, samples: Sequence[Sample], folder: Path) -> type[Topology]:
    class Read(Topology):
        table = _table(kind, samples, folder)

    return Read


def _printed(kind: str, samples: Sequence[Sample], folder: Path) -> type[Topology]:
    class Printed(Topology):
        table = _table(kind, samples, folder)
        rows = Pickling.spec(inputs=[table])

    return Printed


def _natively(kind: str, samples: Sequence[Sample], folder: Path) -> list[list[Any]]:
    """The rows by pyarrow; AssertionError if modes differ."""
    found = []
    for mode in ENGINES:
        config = {keys.RELIABILITY_MODE: mode}
        with TopologyTester(_read_alone(kind, samples, folder), config=config) as tester:
            tester.run_spouts()
            found.append([list(each.values) for each in tester.emitted("table")])
            assert not tester.errors("table")
    assert repr(found[0]) == repr(found[1])
    return found[0]


def _by_spark(spark: Any, kind: str, samples: Sequence[Sample], folder: Path) -> list[list[Any]]:
    """The same by Spark; no rows if the files are refused."""
    watched = Watched()
    spec = topology_of(_printed(kind, samples, folder), None, None, {})
    spec = replace(spec, search_paths=(HERE,))
    try:
        assert run(spark, spec, folder.with_name(f"{folder.name}-checkpoint"), watched) == 0
    except TopologyError:
        return []
    errors = sum(each["errors"] for done in watched.batches for each in done.results)
    assert (errors, len(watched.printed)) == (0, ROWS)
    return [pickle.loads(base64.b64decode(each["row"])) for each in watched.printed]


def _cells(rows: Sequence[Sequence[Any]], samples: Sequence[Sample], kind: str) -> dict[str, str]:
    assert len(rows) == ROWS, f"{len(rows)} rows"
    return {
        each.name: _cell([row[at] for row in rows], each, FORMS[kind])
        for at, each in enumerate(samples)
    }


def _cell(found: Sequence[Any], sample: Sample, form: Form) -> str:
    """`**changed**`: Spark's own reader makes another value of it."""
    try:
        (cell,) = {outcome(each, sample.value, form) for each in found}
    except AssertionError:
        return CHANGED
    return cell
