"""The levels of a topology whose stream is a user's DataFrame.

Which checkpoint they work for nobody knows before the user starts a query with it: each task learns
it by a property of its own (query_listener.py). The last level turns blocks of rows into rows.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from heron_core.errors import HeronError
from heron_spark.blocks import Block
from heron_spark.checkpoint_dir import CheckpointDir
from heron_spark.compile import compile_topology
from heron_spark.frame_sink import ROWS, read_block
from heron_spark.job import Job
from heron_spark.python_worker import LAST, Failed, Level
from heron_spark.redistribute import redistributed

CHECKPOINT = "heronpy.checkpoint"
"""Local property: the checkpoint location of the query that a task is of."""
RUN = "heronpy.run"
"""Local property: which run of the query it is."""
FOLDER = "heronpy"
"""In a user's checkpoint: what components remember."""
FACTS = "facts"
ROW = "row"


@dataclass(frozen=True, slots=True)
class FrameLevel(Level):
    """One level; `folder` is that of a DataFrame that is no stream, else empty."""

    job: str
    """A Job as text."""
    name: str
    """Of the folder in the checkpoint."""

    def location(self, context: Any) -> tuple[CheckpointDir, str]:
        """In the checkpoint of the query that has been started with the DataFrame."""
        folder, run = self._location(context)
        try:
            job = Job.from_json(self.job)
            folder.claim_together(job.topology)
            if not os.path.exists(folder.run_file(run)):
                job.write(folder, run)
        except HeronError as error:
            raise Failed(str(error)) from None
        return folder, run

    def _location(self, context: Any) -> tuple[CheckpointDir, str]:
        if self.folder:
            return CheckpointDir(self.folder), self.run
        root, run = (context.getLocalProperty(each) for each in (CHECKPOINT, RUN))
        if not root or not run:
            raise Failed(
                "the query's checkpoint is not known: it was started in another session than the "
                "one that dataframe_of was given"
            )
        if not os.path.isabs(root):
            raise Failed(
                f"checkpointLocation {root} is not in files: give one that every worker reaches by "
                "its path"
            )
        return CheckpointDir(os.path.join(root, FOLDER, self.name), root), run

    def blocks(self, folder: CheckpointDir, task: int, batch: int) -> Iterable[Block]:
        """For the partitions that there are now, if a run with other cores has sent them."""
        job = Job.from_json(self.job)
        if folder.facts(task, batch)["slots"] == job.slots:
            return folder.blocks(task, batch)
        partition_of = compile_topology(job.topology).partition_of(job.slots)
        return redistributed(folder.blocks(task, batch), partition_of)


@dataclass(frozen=True, slots=True)
class LastFrameLevel(FrameLevel):
    """The last one: rows of (facts of a task, a row of the stream), one of which is null."""

    schema: bytes
    """Of the stream's rows."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows instead of blocks."""
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        for blocks in FrameLevel.__call__(self, batches):
            levels, payloads = blocks.column(1).to_pylist(), blocks.column(3)
            facts = [
                payload.as_py().decode()
                for level, payload in zip(levels, payloads, strict=True)
                if level == LAST
            ]
            if facts:
                yield _batch(pa.array(facts, pa.string()), _no_rows(schema, len(facts)))
            for level, payload in zip(levels, payloads, strict=True):
                if level == ROWS:
                    rows = read_block(payload.as_py())
                    found = pa.StructArray.from_arrays(rows.columns, fields=list(schema))
                    yield _batch(pa.nulls(rows.num_rows, pa.string()), found)


def _no_rows(schema: pa.Schema, count: int) -> pa.Array:
    return pa.nulls(count, pa.struct(list(schema)))


def _batch(facts: pa.Array, rows: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([facts, rows], names=[FACTS, ROW])
