"""Pipelines in a PySpark program, with the answer of pandas."""

import sys
from pathlib import Path
from typing import Any

import pytest

from heronpy_compat.spark import delta_table
from tests.flights_answer import by_pandas, prepare
from tests.process.process_support import EXAMPLES
from tests.spark.conftest import spark

__all__ = ["spark"]

MONTHS = 3
COLUMNS = ["carrier", "hour", "flights", "late", "delay_minutes"]


def test_the_flights_of_a_table_and_of_a_stream_are_those_of_pandas(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, MONTHS)
    monkeypatch.syspath_prepend(str(EXAMPLES / "spark_session"))
    example: Any = __import__("flights")
    try:
        table = spark.read.parquet(str(tmp_path / "departures.parquet"))
        found = example.newest(example.delays(spark, table)).select(COLUMNS).collect()
        assert sorted(map(list, found)) == by_pandas(MONTHS)
        table.select(example.COLUMNS).repartition(4).write.parquet(str(tmp_path / "files"))
        reader = spark.readStream.schema(table.select(example.COLUMNS).schema)
        stream = reader.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "files"))
        rows = example.delays(spark, stream)
        writer = rows.writeStream.foreachBatch(delta_table(tmp_path / "sums"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        sys.modules.pop("flights")
    assert newest_in(tmp_path / "sums") == by_pandas(MONTHS)


def newest_in(table: Path) -> list[list[Any]]:
    """The last row of each carrier and hour in a Delta table."""
    from deltalake import DeltaTable

    frame = DeltaTable(table).to_pyarrow_table().to_pandas()
    last = frame.sort_values("flights").groupby(["carrier", "hour"]).tail(1)
    return sorted(last[COLUMNS].values.tolist())
