"""A datetime has one meaning wherever Spark runs, for any TZ and any time zone of the session."""

import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle as untyped

from heron_connectors.spark.segments import SegmentLog, writers_of
from heron_spark.session.data_source import HeronpySource, SegmentReader, SegmentWriter
from heronpy_compat.spark import dataframe_of, spout_of
from tests.spark.session_topologies import times_again

cloudpickle: Any = untyped
ZONES = ("America/New_York", "Asia/Kolkata")
FIRST, SECOND = 1_730_611_800, 1_730_615_400
"""2024-11-03 05:30 and 06:30 UTC: both are half past one in New York, whose clocks went back."""
NAIVE = datetime(2024, 11, 3, 5, 30)
AWARE = NAIVE.replace(tzinfo=UTC)
LATER = datetime(2024, 11, 3, 6, 30, tzinfo=UTC)


def in_zone(zone: str) -> None:
    """The process has another local time from here on."""
    os.environ["TZ"] = zone
    time.tzset()


class ReaderElsewhere(SegmentReader):
    """In a worker whose machine is in another time zone."""

    zone: str

    def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
        """The rows."""
        in_zone(self.zone)
        yield from super().read(partition)
        in_zone("UTC")


class WriterElsewhere(SegmentWriter):
    """The same."""

    zone: str

    def write(self, iterator: Iterator[Any]) -> Any:
        """The rows."""
        in_zone(self.zone)
        try:
            return super().write(iterator)
        finally:
            in_zone("UTC")


class SourceElsewhere(HeronpySource):
    """The data source, as workers with the option `zone` as their TZ run it."""

    @classmethod
    def name(cls) -> str:
        """As `format` has it."""
        return "heronpy_elsewhere"

    def reader(self, schema: Any) -> SegmentReader:
        """See HeronpySource."""
        made = ReaderElsewhere(self.options["path"], schema)
        made.zone = self.options["zone"]
        return made

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        """See HeronpySource."""
        made = WriterElsewhere(self.options["path"], "query", tuple(schema.names))
        made.zone = self.options["zone"]
        return made


@pytest.fixture(params=ZONES)
def zone(request: Any, spark: Any) -> Iterator[str]:
    """The session's time zone."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # workers have no path to tests
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.dataSource.register(SourceElsewhere)
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)
    cloudpickle.unregister_pickle_by_value(module)


def test_spark_reads_the_times_that_a_topology_writes(
    spark: Any, tmp_path: Path, zone: str
) -> None:
    tap = SegmentLog(str(tmp_path), "00000")
    row = [NAIVE, AWARE, [NAIVE, AWARE], {"a": NAIVE}, {"t": NAIVE, "n": 1}]
    tap.append(["at", "wall", "all", "by", "s"], [row, [None] * 5], "one")
    schema = (
        "at timestamp, wall timestamp_ntz, all array<timestamp>, by map<string,timestamp>,"
        " s struct<t: timestamp, n: int>"
    )
    frame = spark.read.format("heronpy_elsewhere").option("zone", zone).schema(schema)
    found = frame.option("path", str(tmp_path)).load().selectExpr(
        "unix_seconds(at) at", "string(wall) wall", "transform(all, x -> unix_seconds(x)) every",
        "unix_seconds(by['a']) a", "unix_seconds(s.t) t",
    )  # fmt: skip
    assert [tuple(each) for each in found.collect()] == [
        (FIRST, "2024-11-03 05:30:00", [FIRST, FIRST], FIRST, FIRST),
        (None, None, None, None, None),
    ]


def test_a_topology_reads_the_times_that_spark_writes(
    spark: Any, tmp_path: Path, zone: str
) -> None:
    spark.range(1).write.parquet(str(tmp_path / "in"))
    rows = spark.readStream.schema("id long").parquet(str(tmp_path / "in")).selectExpr(
        f"timestamp_seconds({FIRST} + id) at", f"timestamp_seconds({SECOND} + id) later",
        "timestamp_ntz'2024-11-03 05:30:00' wall", f"map('a', timestamp_seconds({FIRST})) by",
        f"named_struct('t', array(timestamp_seconds({SECOND}))) s",
    )  # fmt: skip
    query = rows.writeStream.format("heronpy_elsewhere").option("path", str(tmp_path / "out"))
    query = query.option("zone", zone).option("checkpointLocation", str(tmp_path / "query"))
    query.trigger(availableNow=True).start().awaitTermination()
    (writer,) = writers_of(str(tmp_path / "out"))
    log = SegmentLog(str(tmp_path / "out"), writer)
    found = [row for part in log.segment(0).parts for row in log.rows(part)]
    assert found == [[AWARE, LATER, NAIVE, {"a": AWARE}, {"t": [LATER]}]]
    assert [str(each.tzinfo) for each in found[0][:2]] == ["UTC", "UTC"]


def test_times_pass_a_topology_in_a_session_as_they_are(spark: Any, zone: str) -> None:
    seconds = ", ".join(f"timestamp_seconds({each})" for each in (FIRST, SECOND))
    frame = spark.sql(f"select explode(array({seconds})) at")
    found = dataframe_of(times_again(spout_of(frame), "again"), spark, "again")
    rows = found.selectExpr("said", "unix_seconds(at)", "unix_seconds(naive)", "string(wall)")
    assert sorted(map(tuple, rows.collect())) == [
        ("2024-11-03T05:30:00+00:00", FIRST, FIRST, "2024-11-03 05:30:00"),
        ("2024-11-03T06:30:00+00:00", SECOND, SECOND, "2024-11-03 06:30:00"),
    ]
