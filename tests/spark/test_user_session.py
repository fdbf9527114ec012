"""Topologies in a PySpark program's own session, as queries and as DataFrames."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from deltalake import DeltaTable

from heron_connectors.spark.segments import SegmentLog, writers_of
from heron_core.errors import HeronError, TopologyError, UsageError
from heron_spark.driver.tables import settings
from heronpy_compat.spark import HeronpySource, dataframe_of, delta_table, run, spout_of, start
from session_topologies import doubled, totals
from tests.process.process_support import EXAMPLES, until

PROGRAM = EXAMPLES / "spark_session" / "word_counts.py"
SECS = 240.0
AT = datetime(2026, 3, 1, 12, 30)
"""In the session's time zone."""


def add_lines(folder: Path, number: int) -> None:
    """A file of some words that appears whole."""
    beside = folder / f".{number}.txt"
    beside.write_text("storm heron\n" * (number + 1))
    beside.rename(folder / f"{number}.txt")


def test_the_example_is_stopped_and_continued_and_each_row_is_written_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, checkpoint, table = (tmp_path / each for each in ("in", "checkpoint", "out"))
    lines.mkdir()
    add_lines(lines, 0)
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    from word_counts import word_counts

    rows = word_counts(spark, str(lines))
    assert rows.schema.simpleString() == "struct<word:string,count:bigint>"

    def writer() -> Any:
        stream = rows.writeStream.foreachBatch(delta_table(table))
        return stream.option("checkpointLocation", str(checkpoint))

    query = writer().start()
    done = checkpoint / "commits" / "0"
    until(lambda: done.exists() or not query.isActive, "a batch", SECS)
    query.stop()
    assert query.exception() is None
    add_lines(lines, 1)
    with settings(spark, {"spark.sql.streaming.numRecentProgressUpdates": "100"}):  # as it is
        query = writer().trigger(availableNow=True).start()
        query.awaitTermination()
    assert query.lastProgress["observedMetrics"]["count"]["executed"] > 0
    written = DeltaTable(table).to_pyarrow_table().to_pylist()
    assert Counter((each["word"], each["count"]) for each in written) == Counter(
        (word, count) for word in ("storm", "heron") for count in range(1, 4)
    )


def timed(frame: Any) -> Any:
    """Key and number, one of them missing, and a time."""
    from pyspark.sql import functions

    more = frame.sparkSession.createDataFrame([("none", None)], "key string, n int")
    number, at = functions.col("n").alias("number"), functions.lit(AT).alias("at")
    return frame.union(more).select("key", number, at)


def test_two_topologies_at_once_in_the_user_s_session(spark: Any, tmp_path: Path) -> None:
    before = dict(spark.conf.getAll)
    frame = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3), ("bad", 4)], "key string, n int")
    ended = {"a": 4, "b": 2, "bad": 4}
    query = start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
    try:
        with pytest.raises(UsageError, match="is in use by a query of this program: first stop"):
            start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
        counts = run(totals(spout_of(frame), "second"), spark)
        assert counts["numbers"]["emitted"] == counts["totals"]["executed"] == 4
        assert counts["totals"]["errors"] == 1
        assert counts["last"]["executed"] == 3
        query.awaitTermination()
        assert query.exception() is None
    finally:
        query.stop()
    with pytest.raises(UsageError, match="first has already finished in checkpoint"):
        start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
    rows = dataframe_of(totals(spout_of(frame), "third"), spark, "totals")
    assert not rows.isStreaming
    assert {each["key"]: each["total"] for each in rows.collect()} == ended
    by_columns = dataframe_of(doubled(spout_of(timed(frame)), "fourth"), spark, "doubled")
    assert sorted(by_columns.collect()) == [
        (key, None if number is None else 2 * number, "int32", AT)
        for key, number in (("a", 1), ("a", 3), ("b", 2), ("bad", 4), ("none", None))
    ]
    assert dict(spark.conf.getAll) == before


def test_one_query_writes_for_a_topology_and_another_reads_what_one_has_written(
    spark: Any, tmp_path: Path
) -> None:
    """Both by the data source, which a SparkSpout or SparkSink would meet in the same folder."""
    folder, table = str(tmp_path / "shared"), tmp_path / "table"
    (tmp_path / "in").mkdir()
    add_lines(tmp_path / "in", 0)
    spark.dataSource.register(HeronpySource)
    lines = spark.readStream.text(str(tmp_path / "in")).writeStream.format("heronpy")
    lines = lines.option("path", folder).option("checkpointLocation", str(tmp_path / "of lines"))
    lines.trigger(availableNow=True).start().awaitTermination()
    (writer,) = writers_of(folder)
    log = SegmentLog(folder, writer)
    assert [list(log.rows(part)) for part in log.segment(0).parts] == [[["storm heron"]]]
    tap = SegmentLog(folder, "00000")
    tap.append(["other", "value"], [[1, "from a topology"]], "transaction")
    stream = spark.readStream.format("heronpy").schema("value string")
    rows = stream.option("path", folder).load().writeStream.foreachBatch(delta_table(table))
    rows = rows.option("checkpointLocation", str(tmp_path / "of rows")).trigger(availableNow=True)
    rows.start().awaitTermination()
    tap.append(["value"], [["later"]], "another transaction")
    rows.start().awaitTermination()
    written = DeltaTable(table).to_pyarrow_table()["value"].to_pylist()
    assert sorted(written) == ["from a topology", "later", "storm heron"]


def test_what_cannot_be_is_said_in_one_line(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", 1)], "key string, number int")
    good = totals(spout_of(frame), "good")
    stream = spark.readStream.schema("key string, n int").json(str(tmp_path))
    no_session: Any = SimpleNamespace()
    cases: list[tuple[Any, type[HeronError], str]] = [
        (lambda: dataframe_of(good, spark, "total"), TopologyError, "no component 'total'"),
        (lambda: dataframe_of(good, spark, "totals", "late"), TopologyError, "no stream 'late'"),
        (lambda: dataframe_of(good, spark, "numbers"), TopologyError, "declares no types: outputs"),
        (
            lambda: dataframe_of(good, spark, "numbers", schema="key string"),
            UsageError,
            "has the fields key, number, the schema key",
        ),
        (lambda: spout_of(frame, ["name"]), TopologyError, "has no column 'name'"),
        (
            lambda: spout_of([1, 2]),
            TopologyError,
            "a DataFrame of Spark is needed here, not a list",
        ),
        (
            lambda: run(totals(spout_of(frame, ["number"]), "no_key"), spark),
            TopologyError,
            "key",
        ),
        (lambda: run(totals(spout_of(stream), "endless"), spark), UsageError, "unbounded stream"),
        (lambda: start(7, spark), UsageError, "7 is not a topology"),
        (lambda: start(good, no_session), UsageError, "a SparkSession is needed here"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind) as caught:
            call()
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
