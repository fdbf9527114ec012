"""Topologies in a PySpark program's own session, as queries and as DataFrames."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from heron_core.errors import HeronError, TopologyError, UsageError
from heron_io.java import java_home_for_spark
from heron_spark.jvm import COMPILER
from heron_spark.tables import settings
from heronpy_compat.spark import dataframe_of, run, spout_of, start
from session_topologies import totals
from tests.process.process_support import EXAMPLES, until

PROGRAM = EXAMPLES / "spark_session" / "word_counts.py"
SECS = 240.0
ROOT = Path(__file__).parents[2]


def add_lines(folder: Path, number: int) -> None:
    """A file of some words that appears whole."""
    beside = folder / f".{number}.txt"
    beside.write_text("storm heron\n" * (number + 1))
    beside.rename(folder / f"{number}.txt")


def killed_program(folder: Path, java: dict[str, str]) -> None:
    """The example, in its own session with one core, killed when its first batch is done."""
    scratch = tempfile.mkdtemp(prefix="heron-")  # a socket's path has to be short
    environment = {
        **os.environ, **java, "PYTHONPATH": str(ROOT), "TMPDIR": scratch,
        "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--master local[1] --conf spark.ui.enabled=false "
        f"--driver-java-options '{COMPILER}' pyspark-shell",
    }  # fmt: skip
    paths = (folder / each for each in ("in", "out", "checkpoint"))
    with subprocess.Popen(
        [sys.executable, PROGRAM, *paths], env=environment, stderr=subprocess.DEVNULL
    ) as program:
        children: list[psutil.Process] = []
        try:
            done = folder / "checkpoint" / "commits" / "0"
            until(lambda: done.exists() or program.poll() is not None, "a batch", SECS)
            assert program.poll() is None
            children = psutil.Process(program.pid).children(recursive=True)
        finally:
            program.kill()
    _, alive = psutil.wait_procs(children, SECS)
    assert not alive
    shutil.rmtree(scratch, ignore_errors=True)


def test_the_example_is_killed_and_continued_and_each_row_is_written_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        add_lines(tmp_path / "in", number)
    killed_program(tmp_path, java_home_for_spark(str(tmp_path)))
    add_lines(tmp_path / "in", 3)
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    from word_counts import word_counts

    rows = word_counts(spark, str(tmp_path / "in"))
    assert rows.schema.simpleString() == "struct<word:string,count:bigint>"
    writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with settings(spark, {"spark.sql.streaming.numRecentProgressUpdates": "100"}):  # as it is
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        query.awaitTermination()
    assert query.lastProgress["observedMetrics"]["count"]["executed"] > 0
    written = spark.read.parquet(str(tmp_path / "out")).collect()
    assert Counter((each["word"], each["count"]) for each in written) == Counter(
        (word, count) for word in ("storm", "heron") for count in range(1, 11)
    )


def test_two_topologies_at_once_in_the_user_s_session(spark: Any, tmp_path: Path) -> None:
    before = dict(spark.conf.getAll)
    frame = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3), ("bad", 4)], "key string, n int")
    ended = {"a": 4, "b": 2, "bad": 4}
    query = start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
    try:
        with pytest.raises(UsageError, match="is in use by a query of this program: stop it first"):
            start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
        counts = run(totals(spout_of(frame), "second"), spark)
        assert counts["numbers"]["emitted"] == counts["totals"]["executed"] == 4
        assert counts["totals"]["errors"] == 1
        assert counts["last"]["executed"] == 3
        query.awaitTermination()
        assert query.exception() is None
    finally:
        query.stop()
    with pytest.raises(UsageError, match="first has come to its end in checkpoint"):
        start(totals(spout_of(frame), "first"), spark, checkpoint=tmp_path / "checkpoint")
    rows = dataframe_of(totals(spout_of(frame), "third"), spark, "totals")
    assert not rows.isStreaming
    assert {each["key"]: each["total"] for each in rows.collect()} == ended
    assert dict(spark.conf.getAll) == before


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
        (lambda: run(totals(spout_of(stream), "endless"), spark), UsageError, "does not end"),
        (lambda: start(7, spark), UsageError, "7 is no topology"),
        (lambda: start(good, no_session), UsageError, "a SparkSession is needed here"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind) as caught:
            call()
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
