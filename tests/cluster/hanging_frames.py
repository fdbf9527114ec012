"""Queries over a topology's DataFrame and with the data source `heronpy`; tasks of each hang once.

    python hanging_frames.py FOLDER

FOLDER gets `delta` and `parquet` (rows of the topology), `segments` (rows for the data source) and
`read.json` (the numbers read from the data source, twice each). Marks of hanging and resumed tasks
are in `marks-…`, as in hanging.py.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from heronpy_compat import Bolt, Grouping, Topology
from heronpy_compat.spark import HeronpySource, dataframe_of, delta_table, spout_of

FILES = 8
EACH = 40
"""Numbers in a file, which is a batch."""
BOLT_HANGS_AT = 45
STAGE_HANGS_AT = 90
LATER = 160
"""The bolt wakes up when another attempt has come so far."""
HANG_SECS_MAX = 240.0
LOOK_AGAIN_SECS = 0.05
SCHEMA = "number bigint"


def mark(marks: str, name: str) -> bool:
    """Leave a mark; False if already left."""
    try:
        os.close(os.open(os.path.join(marks, name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Passed(Bolt):
    """Hangs once, and wakes up when later batches are done."""

    outputs = {"number": "bigint"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.marks = config["test.marks"]

    def process(self, tup: Any) -> None:
        number = int(tup["value"])
        if number == BOLT_HANGS_AT and mark(self.marks, "hung-bolt"):
            deadline = time.monotonic() + HANG_SECS_MAX
            while time.monotonic() < deadline:
                if os.path.exists(os.path.join(self.marks, "later")):
                    mark(self.marks, "woke-bolt")
                    break
                time.sleep(LOOK_AGAIN_SECS)
        if number >= LATER:
            mark(self.marks, "later")
        self.emit([number])


def hanging(marks: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For mapInArrow: a task of the writing stage hangs until Spark kills the task."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for each in batches:
            if STAGE_HANGS_AT in each.column("number").to_pylist() and mark(marks, "hung-stage"):
                time.sleep(HANG_SECS_MAX)
            yield each

    return rows


class Program:
    """The queries in turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spark = SparkSession.builder.getOrCreate()
        self.spark.dataSource.register(HeronpySource)

    def lines(self) -> Any:
        """The numbers' texts: a file in each batch."""
        return self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.folder / "in"))

    def marks(self, name: str) -> str:
        """The folder of a query's marks."""
        made = self.folder / f"marks-{name}"
        made.mkdir()
        return str(made)

    def of_topology(self, name: str) -> Any:
        """The numbers, through a bolt."""
        marks = self.marks(name)

        class Frames(Topology):
            config = {"test.marks": marks}
            lines = spout_of(self.lines()).spec(par=2)
            passed = Passed.spec(par=2, inputs={lines: Grouping.fields("value")})

        rows = dataframe_of(Frames, self.spark, "passed")
        return rows.mapInArrow(hanging(marks), SCHEMA)

    def write(self, name: str, writer: Any) -> None:
        """Run a query to the end of its files."""
        checkpoint = str(self.folder / f"checkpoint-{name}")
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()

    def run(self) -> None:
        """All of them."""
        sink = delta_table(str(self.folder / "delta"))
        self.write("delta", self.of_topology("delta").writeStream.foreachBatch(sink))
        files = self.of_topology("parquet").writeStream.format("parquet")
        self.write("parquet", files.option("path", str(self.folder / "parquet")))
        numbers = self.lines().selectExpr("CAST(value AS bigint) AS number").repartition(4)
        rows = numbers.mapInArrow(hanging(self.marks("segments")), SCHEMA)
        segments = str(self.folder / "segments")
        self.write("segments", rows.writeStream.format("heronpy").option("path", segments))
        read = self.spark.read.format("heronpy").option("path", segments).schema(SCHEMA).load()
        twice = read.union(read).mapInArrow(hanging(self.marks("read")), SCHEMA)
        found = [row.number for row in twice.collect()]
        (self.folder / "read.json").write_text(json.dumps(found))


if __name__ == "__main__":
    Program(Path(sys.argv[1])).run()
