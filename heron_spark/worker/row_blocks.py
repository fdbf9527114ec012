"""Rows that Spark has read for a spout, on their way to its task: blocks of level 0.

u32 task, then the rows as an Arrow stream
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from heron_core.wire.columns import in_utc
from heron_spark.batch_log.blocks import NUMBER

if TYPE_CHECKING:
    from heron_spark.worker.runner import TaskRunner


def pack_rows(task: int, rows: pa.RecordBatch) -> bytes:
    """A block of rows for one task."""
    sink = pa.BufferOutputStream()
    sink.write(NUMBER.pack(task))
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


def unpack_rows(block: bytes) -> tuple[int, pa.RecordBatch]:
    """The task that a block is for, and its rows."""
    (task,) = NUMBER.unpack_from(block)
    with pa.ipc.open_stream(pa.py_buffer(block).slice(NUMBER.size)) as stream:
        return task, stream.read_next_batch()


def hand_over(runners: "Mapping[int, TaskRunner]", blocks: Iterable[bytes]) -> set[int]:
    """Let spouts emit the rows of blocks, times in UTC; returns the tasks that got some.

    A task without a runner has done the batch in an attempt before this one.
    """
    fed = set()
    for block in blocks:
        task, rows = unpack_rows(block)
        fed.add(task)
        if task in runners:
            runners[task].take_rows(in_utc(rows))
    return fed
