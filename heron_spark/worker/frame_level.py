"""The levels of a topology whose stream is a user's DataFrame.

Which checkpoint they work for nobody knows before the user starts a query with it: each task learns
it by a property of its own (query_listener.py), and the batch by the time that Spark has logged
(batch_times.py). Behind the last level blocks of rows become rows.
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
"""Local property: the checkpoint location of the query that a task is of. It is a setting of the
query's own session, too: Spark makes properties of settings that begin with `spark` for each
action, so that a thread of the user's in foreachBatch has them."""
RUN = "spark.heronpy.run"
"""The same: which run of the query it is."""
FOLDER = "heronpy"
"""In a user's checkpoint: what components remember."""
RESULTS = "results"
ROW = "row"


@dataclass(frozen=True, slots=True)
class FrameLevel(Level):
    """One level; `folder` is that of a DataFrame that is no stream, else empty."""

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
        """No row has come to the topology: it has no such batch."""

    def blocks(self, folder: CheckpointDir, task: int, batch: int) -> Iterable[Block]:
        """For the partitions that there are now, if a run with other cores has sent them."""
        job = Job.from_json(self.job)
        if folder.results(task, batch)["slots"] == job.slots:
            return folder.blocks(task, batch)
        partition_of = compile_topology(job.topology).partition_of(job.slots)
        return redistributed(folder.blocks(task, batch), partition_of)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Rows of (results of a task, a row of the stream), one of which is null, of blocks of the last
    level: a function of Arrow batches for mapInArrow.

    It stands behind an exchange and has no state. So whatever Spark does above it (reads a part,
    twice, in another stage, in two tasks at once), the levels run as a whole.
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
