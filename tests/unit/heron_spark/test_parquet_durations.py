"""What Spark makes of durations in Parquet files is a duration, or is told before a row is read."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql.types import (
    ArrayType,
    DayTimeIntervalType,
    LongType,
    StructField,
    StructType,
)

from heron_core.errors import TopologyError
from heron_spark.driver.parquet_durations import with_durations

AS_SPARK_READS = StructType([StructField("id", LongType()), StructField("span", LongType())])
"""Of a column of durations, and one of numbers."""


def written(path: Path, kind: Any, value: Any = 7) -> None:
    """A file with an id and a span of that type."""
    spans = pa.array([value], kind)
    parquet.write_table(pa.table({"id": pa.array([1], pa.int64()), "span": spans}), path)


def test_a_duration_is_an_interval_and_a_number_a_number(tmp_path: Path) -> None:
    written(tmp_path / "1.parquet", pa.duration("us"), timedelta(seconds=-1, microseconds=1))
    found = with_durations(AS_SPARK_READS, str(tmp_path), ["id", "span"])
    assert [each.dataType for each in found.fields] == [LongType(), DayTimeIntervalType()]
    assert with_durations(AS_SPARK_READS, str(tmp_path), ["id"]) == AS_SPARK_READS
    assert with_durations(AS_SPARK_READS, "hdfs://host/table", ["span"]) == AS_SPARK_READS


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.duration("s"), 7),
        (pa.duration("ns"), 7),
        (pa.list_(pa.duration("us")), [7]),
        (pa.struct({"inner": pa.duration("us")}), {"inner": 7}),
    ],
)
def test_durations_that_spark_reads_as_numbers_are_refused(
    tmp_path: Path, kind: Any, value: Any
) -> None:
    written(tmp_path / "1.parquet", kind, value)
    spark_s = StructType([StructField("span", ArrayType(LongType()))])
    with pytest.raises(TopologyError, match=r"column 'span' of .*1\.parquet has durations .*leave"):
        with_durations(spark_s, str(tmp_path), ["span"])
    assert with_durations(spark_s, str(tmp_path), ["id"]) == spark_s


def test_a_column_of_durations_and_numbers_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "1.parquet", pa.duration("us"))
    written(tmp_path / "2.parquet", pa.int64())
    with pytest.raises(TopologyError, match=r"'span' of .*2\.parquet is int64, and durations"):
        with_durations(AS_SPARK_READS, str(tmp_path), ["span"])
