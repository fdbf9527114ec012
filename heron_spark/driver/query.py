"""The query: a source that only counts batches, a stage for each level, results back to the driver.

Spark numbers batches, logs their start and end, moves blocks to their partitions and repeats
failures. The source is Spark's own rate-micro-batch with one row for each partition of spouts: the
row starts a batch. The spouts decide in their hosts about the content of the batch (files.py: the
content is written down before any reader sees it). A Python data source would ask its spouts twice,
in the driver's process for offsets and in a worker's for tuples.
"""

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from heron_core.errors import HeronError
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.redistribute import move_blocks
from heron_spark.compile.plan import QueryPlan
from heron_spark.driver import jvm
from heron_spark.driver.progress import Progress, Report
from heron_spark.driver.session import first_line
from heron_spark.driver.tables import ROW_SETTINGS, Tables, beginnings, settings, tables_of
from heron_spark.worker.python_worker import CLOSING, LAST, OPENING, SCHEMA, Level

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class JvmGone(HeronError):
    """The driver's JVM has died: the topology is sound, and may continue."""


class _Stop(Exception):
    """Raised in the driver's part of a batch that is not to be run any more."""


class Query:
    """A running topology."""

    def __init__(self, plan: QueryPlan, folder: CheckpointDir, report: Report) -> None:
        self._plan = plan
        self._folder = folder
        self._report = report
        self._turn = threading.Condition()
        """Guards the three below."""
        self._stopping = False
        self._paused = False
        self._working = False
        self._over = threading.Event()
        self._began = time.monotonic()
        self._query: Any = None
        self._tables: Tables | None = None

    def start(self, spark: "SparkSession", run: str, slots: int) -> None:
        """Start the query; `run` is the name of the hosts' job."""
        move_blocks(self._folder, self._plan, slots)
        self._tables = tables_of(spark, self._plan, self._folder)
        frames = dataframe(spark, self._plan, self._folder, run, slots, self._tables)
        self._began = time.monotonic()
        with settings(spark, ROW_SETTINGS if self._tables else {}):
            self._query = (
                frames.writeStream.foreachBatch(self._batch)
                .option("checkpointLocation", self._folder.query)
                .start()
            )

    def stop(self) -> None:
        """Stop when the batch that runs is done; from any thread and from signal handlers."""
        with self._turn:
            self._stopping = True
            self._turn.notify_all()

    def pause(self, paused: bool) -> None:
        """Start no further batch while `paused`; the running batch completes. From any thread."""
        with self._turn:
            self._paused = paused
            self._turn.notify_all()

    @property
    def drained(self) -> bool:
        """Whether it is paused and no batch runs."""
        with self._turn:
            return self._paused and not self._working

    def wait(self, secs: float) -> bool:
        """Wait for the end, `secs` at most; returns whether the query has ended. HeronError if it
        failed.
        """
        self._over.wait(secs)
        try:
            if not self._over.is_set() and self._query.isActive:
                return False
            self._query.awaitTermination()
        except (OSError, Py4JError) as error:
            if not jvm.is_gone():
                raise HeronError(error_line(error)) from None
            raise JvmGone("Spark's JVM has ended; start again with the same --checkpoint") from None
        except Exception as error:
            if not self._stopping:
                raise HeronError(error_line(error)) from None
        return True

    def kill(self) -> None:
        """Stop in mid-batch; the next run repeats the batch."""
        self.stop()
        self._query.stop()

    def _batch(self, rows: "DataFrame", batch: int) -> None:
        """One batch, in a thread of Spark's. To raise is how a query ends between two batches
        without a job being cancelled."""
        with self._turn:
            self._turn.wait_for(lambda: self._stopping or not self._paused)
            if self._stopping:
                self._over.set()
                raise _Stop
            self._working = True
        try:
            self._work(rows, batch)
        finally:
            with self._turn:
                self._working = False

    def _work(self, rows: "DataFrame", batch: int) -> None:
        results = results_of(rows)
        if is_last(self._plan, self._folder, self._tables, batch, results):
            self.stop()
        now = time.monotonic()
        secs, self._began = now - self._began, now
        self._report(Progress(batch, secs, tuple(results)))


def results_of(rows: "DataFrame") -> list[dict[str, Any]]:
    """Run a batch; returns the results of its tasks."""
    results = [json.loads(row.payload) for row in rows.where(f"level = {LAST}").collect()]
    return sorted(results, key=lambda each: int(each["task"]))


def is_last(
    plan: QueryPlan,
    folder: CheckpointDir,
    tables: Tables | None,
    batch: int,
    results: list[dict[str, Any]],
) -> bool:
    """Whether the finished batch was the last. Once all spouts have finished, the next batch is the
    last, as noted in the folder.
    """
    ending = folder.ending()
    if ending is not None:
        return batch >= ending
    spouts = set(plan.spout_tasks)
    if tables is not None:
        spouts -= tables.exhausted(folder, batch)
    if all(result["finished"] for result in results if result["task"] in spouts):
        folder.end_with(batch + 1)
    return False


def dataframe(
    spark: "SparkSession",
    plan: QueryPlan,
    folder: CheckpointDir,
    run: str,
    slots: int,
    tables: Tables | None,
    *,
    driven: bool = True,
) -> "DataFrame":
    """The query's plan: a stage of Python for each level, an exchange by partition between."""
    rows = source(spark, plan, slots, tables, driven=driven)
    for level, (count, following) in enumerate(level_sizes(plan, slots)):
        if level > 0:
            rows = rows.repartitionById(count, "id")
        rows = rows.mapInArrow(Level(folder.path, run, level, following), SCHEMA)
    return rows


def source(
    spark: "SparkSession",
    plan: QueryPlan,
    slots: int,
    tables: Tables | None,
    *,
    driven: bool,
    is_stream: bool = True,
) -> "DataFrame":
    """Source of level 0. `driven`: by a row for each of its partitions in each batch; otherwise
    only tables cause batches. Without streaming tables there is a single batch.
    """
    count = plan.partitions(0, slots)
    driving = None
    if not is_stream:
        driving = spark.range(0, count, 1, count).withColumnRenamed("id", "value")
    elif driven:
        driving = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", count)
            .option("numPartitions", count)
            .load()
        )
    if tables is not None:
        return tables.frame(driving, slots)
    assert driving is not None, "nothing brings a batch about"
    return beginnings(driving, count)


def level_sizes(plan: QueryPlan, slots: int) -> list[tuple[int, int]]:
    """(partitions, those of the next level or 0) of each level."""
    counts = [plan.partitions(level, slots) for level in range(len(plan.levels))]
    return list(zip(counts, [*counts[1:], 0], strict=True))


def error_line(error: BaseException) -> str:
    """The line meant for users in a worker's error, or else Spark's message."""
    text = str(error)
    start = text.rfind(OPENING)
    if start < 0:
        return f"Spark: {first_line(error)}"
    return text[start + len(OPENING) : text.index(CLOSING, start)]
