"""The sentences as a Python data source of Spark, and how a query over them is run.

Two partitions; a batch is as large as the engine's. A partition yields Arrow batches of strings
built before the clock starts: the cheapest possible source in Python.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from benchmarks import workload
from benchmarks.spark_batches import BATCH_SENTENCES, MASTER, Clock

PARTITIONS = 2
ARROW_SENTENCES = 10_000


class Sentences(DataSource):
    """`count` sentences of the pool, round and round."""

    @classmethod
    def name(cls) -> str:
        """Its format."""
        return "sentences"

    def schema(self) -> str:
        """One column."""
        return "sentence string"

    def streamReader(self, schema: Any) -> "Reader":  # noqa: N802
        """The reader."""
        return Reader(int(self.options["count"]))


class Part(InputPartition):
    """Sentences from one position to another, in steps of two."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class Reader(DataSourceStreamReader):
    """Offsets are positions."""

    def __init__(self, count: int) -> None:
        self.count, self.planned = count, 0

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The beginning."""
        return {"at": 0}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        """One more batch."""
        self.planned = min(self.count, self.planned + BATCH_SENTENCES)
        return {"at": self.planned}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The batch in halves."""
        middle = (start["at"] + end["at"]) // PARTITIONS
        return [Part(start["at"], middle), Part(middle, end["at"])]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The sentences of one half."""
        pool = pa.array(workload.sentences())
        for at in range(partition.start, partition.end, ARROW_SENTENCES):
            end = min(at + ARROW_SENTENCES, partition.end)
            chosen = pool.take(pa.array([number % len(pool) for number in range(at, end)]))
            yield pa.RecordBatch.from_arrays([chosen], names=["sentence"])


def words(sentences: Any, split: str) -> Any:
    """The words in a column `word`, split by the JVM or, as a component would, in Python."""
    if split == "jvm":
        return sentences.select(sf.explode(sf.split("sentence", " ")).alias("word"))
    return sentences.mapInArrow(split_in_python, "word string")


def split_in_python(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fast Python: one list for each Arrow batch."""
    for batch in batches:
        found = [word for sentence in batch.column(0).to_pylist() for word in sentence.split()]
        yield pa.RecordBatch.from_arrays([pa.array(found)], names=["word"])


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options of both programs: the count, and the splitter."""
    made = workload.count_parser(description, 10_000_000)
    made.add_argument("--split", choices=["jvm", "python"], default="jvm")
    return made


def session() -> SparkSession:
    """Spark as the engine has it, and two shuffle partitions for two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.getcwd()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return (
        SparkSession.builder.master(MASTER)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(1_000_000))
        .getOrCreate()
    )


def run(
    count: int, query: Callable[[Any], Any], counts_of: Callable[[Any], dict[str, int]]
) -> None:
    """Run `query(sentences)` until all are counted, check with `counts_of(last batch)`, report."""
    wanted = workload.sentence_count(count)
    spark, clock, counts = session(), Clock(wanted), dict[str, int]()
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(Sentences)
    sentences = spark.readStream.format("sentences").option("count", str(wanted)).load()
    batches = wanted // BATCH_SENTENCES

    def batch(rows: Any, number: int) -> None:
        if number == batches - 1:
            counts.update(counts_of(rows))
        else:
            rows.write.format("noop").mode("overwrite").save()
        clock.batch_done(BATCH_SENTENCES)

    with tempfile.TemporaryDirectory() as folder:
        running = (
            query(sentences)
            .writeStream.outputMode("update")
            .foreachBatch(batch)
            .option("checkpointLocation", folder)
            .start()
        )
        while not clock.ended and not running.awaitTermination(0.1):
            pass
        running.stop()
    workload.check_counts(counts, wanted)
    clock.report()
    spark.stop()
