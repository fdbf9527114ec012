"""Batches in a Delta table, each once, without a Spark."""

import sys
from functools import partial
from pathlib import Path

import pyarrow as arrow
import pytest
from deltalake import DeltaTable

from heron_core.errors import ComponentError
from heron_spark.session.delta_batches import append
from heronpy_compat.spark import delta_table


def rows(*numbers: int) -> arrow.Table:
    """What a batch has."""
    return arrow.table({"number": arrow.array(numbers, arrow.int64())})


def not_again() -> arrow.Table:
    raise AssertionError("a batch that is in the table is computed again")


def test_a_batch_that_comes_again_is_not_written_again(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    append(table, "query", 0, partial(rows, 1, 2))
    append(table, "query", 0, not_again)
    append(table, "query", 1, rows)
    append(table, "query", 2, partial(rows, 3))
    append(table, "query", 1, not_again)
    append(table, "another query", 0, partial(rows, 3))
    present = DeltaTable(table)
    assert sorted(present.to_pyarrow_table()["number"].to_pylist()) == [1, 2, 3, 3]
    assert present.version() == 2


def test_a_table_without_its_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ComponentError) as caught:
        delta_table("counts")
    assert "pip install 'heronpy-topologies[delta]'" in str(caught.value)
