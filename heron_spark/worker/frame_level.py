"""The levels of a topology whose stream is a user's DataFrame.

The checkpoint is unknown until the user starts a query: each task learns the checkpoint from a
property (query_listener.py), and the batch from the time logged by Spark (batch_times.py). After
the last level, blocks of rows become rows.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from heron_core.errors import HeronError
from heron_spark.batch_log.batch_times import batch_begun_at
from heron_spark.batch_log.blocks import Block
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.batch_log.redistribute import redistributed
from heron_spark.compile.plan import compile_topology
from heron_spark.worker.frame_sink import ROWS, read_block
from heron_spark.worker.python_worker import LAST, Begun, HostFailed, Level

CHECKPOINT = "spark.heronpy.checkpoint"
"""Local property: checkpoint location of a task's query. The key is also a setting of the query's
own session: Spark turns settings with the prefix `spark` into properties for each action, so a
user's thread in foreachBatch has the property.
"""
RUN = "spark.heronpy.run"
"""Local property: the run of a task's query."""
FOLDER = "heronpy"
"""In a user's checkpoint: what components remember."""
RESULTS = "results"
ROW = "row"


@dataclass(frozen=True, slots=True)
class FrameLevel(Level):
    """One level; `folder` is the folder of a static DataFrame, otherwise empty."""

    job: str
    """A Job as text."""
    name: str
    """Of the folder in the checkpoint."""

    def location(self, context: Any, time: bytes) -> Begun:
        """In the checkpoint of the query that has been started with the DataFrame."""
        folder, run, batch = self._location(context, time)
        try:
            job = Job.from_json(self.job)
            folder.claim_together(job.topology)
            if not os.path.exists(folder.run_file(run)):
                job.write(folder, run)
        except HeronError as error:
            raise HostFailed(str(error)) from None
        return Begun(folder.path, run, batch)

    def _location(self, context: Any, time: bytes) -> tuple[CheckpointDir, str, int]:
        if self.folder:
            return CheckpointDir(self.folder), self.run, 0
        root, run = (context.getLocalProperty(key) for key in (CHECKPOINT, RUN))
        if not root or not run:
            raise HostFailed(
                "the query's checkpoint is unknown: the query was started in another session "
                "than that of dataframe_of, or a thread of foreachBatch uses its DataFrame as "
                "an RDD: use the DataFrame, or pyspark.InheritableThread"
            )
        if not os.path.isabs(root):
            raise HostFailed(
                f"checkpointLocation {root} is not a file path: name a folder that every worker "
                "reaches by the same path"
            )
        batch = batch_begun_at(root, int(time))
        if batch is None:
            raise HostFailed(
                f"the batch log below {root} does not have the current batch: use the same "
                "folder on every machine"
            )
        return CheckpointDir(os.path.join(root, FOLDER, self.name), root), run, batch

    def silent(self, context: Any) -> None:
        """The topology has received no row, so the batch does not exist there."""

    def blocks(self, folder: CheckpointDir, task: int, batch: int) -> Iterable[Block]:
        """Blocks for the present partitions, converted if a run with another number of cores sent
        them.
        """
        job = Job.from_json(self.job)
        if folder.results(task, batch)["slots"] == job.slots:
            return folder.blocks(task, batch)
        partition_of = compile_topology(job.topology).partition_of(job.slots)
        return redistributed(folder.blocks(task, batch), partition_of)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """From blocks of the last level to rows of (results of a task, a row of the stream), one of
    them null: a function of Arrow batches for mapInArrow.

    The function runs after an exchange and has no state. So the levels run as a whole, even if
    Spark above reads a part, reads twice, or splits the read over stages or tasks.
    """

    schema: bytes
    """Of the stream's rows."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        for blocks in batches:
            levels, payloads = blocks.column(1).to_pylist(), blocks.column(3)
            results = [
                payload.as_py().decode()
                for level, payload in zip(levels, payloads, strict=True)
                if level == LAST
            ]
            if results:
                yield _batch(pa.array(results, pa.string()), _no_rows(schema, len(results)))
            for level, payload in zip(levels, payloads, strict=True):
                if level == ROWS:
                    rows = read_block(payload.as_buffer())
                    structs = pa.StructArray.from_arrays(rows.columns, fields=list(schema))
                    yield _batch(pa.nulls(rows.num_rows, pa.string()), structs)


def _no_rows(schema: pa.Schema, count: int) -> pa.Array:
    return pa.nulls(count, pa.struct(list(schema)))


def _batch(results: pa.Array, rows: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([results, rows], names=[RESULTS, ROW])
