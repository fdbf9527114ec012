"""A sink whose target has the output of another run says so before it writes, in each mode; of what
its own run has written it says nothing, whichever of its processes it is."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from heron_api.incarnation import Incarnation
from heron_connectors.database.sink import DatabaseSink
from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.sink import FileSink
from heron_connectors.iceberg.sink import IcebergSink
from heron_connectors.spark.folder import SparkSink
from heron_instance.runtime.context import InstanceContext
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester

SETTINGS: dict[Any, dict[str, Any]] = {
    FileSink: {"file.folder": "out"},
    ParquetSink: {"parquet.folder": "out"},
    DeltaSink: {"delta.table": "out"},
    IcebergSink: {
        "iceberg.table": "x.rows",
        "iceberg.catalog.properties": {
            "type": "sql",
            "uri": "sqlite:///catalog.db",
            "warehouse": "warehouse",
        },
    },
    DatabaseSink: {"database.connect": "rows.db", "database.table": "rows"},
    SparkSink: {},
}


class Rows(Spout):
    """Only its fields matter."""

    outputs = ["id"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("rows.db") as database:
        database.execute("CREATE TABLE rows (id BIGINT)")
    database.close()


def told(kind: Any, mode: str, monkeypatch: pytest.MonkeyPatch, run: str, **more: Any) -> list[str]:
    """What the sink says when one process of a run has written a row."""
    monkeypatch.setattr(InstanceContext, "get_incarnation", lambda self: Incarnation(run, 1))
    keys = {**SETTINGS.get(kind, {}), **{name.replace("_", "."): x for name, x in more.items()}}
    shared = {"spark.folder": os.path.abspath("shared")}
    settings = {"topology.reliability.mode": mode, **shared, **keys}

    class Writing(Topology):
        config = settings
        rows = Rows.spec()
        sink = kind.spec(inputs=[rows])

    with TopologyTester(Writing) as tester:
        tester.feed("rows", [1], tup_id=1)
        tester.run()
        if mode == "EFFECTIVELY_ONCE":
            assert tester.checkpoint()
        tester.advance(10)
        tester.finish()
        return [each.text for each in tester.errors("sink")]


@pytest.mark.parametrize("mode", ["ATLEAST_ONCE", "ATMOST_ONCE"])
@pytest.mark.parametrize("kind", SETTINGS)
def test_a_second_run_is_told_of_the_rows_of_the_first_and_a_restarted_process_is_not(
    kind: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(kind, mode, monkeypatch, "first") == []
    assert told(kind, mode, monkeypatch, "first") == [], "it is restarted, or resumed"
    (said,) = told(kind, mode, monkeypatch, "second")
    assert "sink starts without state, and " in said
    assert "another run" in said or "other runs" in said
    assert "name an empty target" in said
    assert "checkpoint" not in said
    assert told(kind, mode, monkeypatch, "second") == []


@pytest.mark.parametrize("kind", [DatabaseSink, IcebergSink, SparkSink])
def test_so_is_one_that_begins_without_state_where_checkpoints_are_taken(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(kind, "EFFECTIVELY_ONCE", monkeypatch, "first") == []
    (said,) = told(kind, "EFFECTIVELY_ONCE", monkeypatch, "second")
    assert "another run" in said or "other runs" in said
    assert "resume from the checkpoint of the other run" in said


def test_parquet_with_ids_knows_which_rows_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for run in ("first", "second"):
        assert told(ParquetSink, "ATLEAST_ONCE", monkeypatch, run, parquet_id_field="id") == []
