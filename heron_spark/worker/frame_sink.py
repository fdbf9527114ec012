"""End of a stream for a DataFrame: rows, in blocks beyond the last level.

Tuples are gathered into columns here. Record batches are columns already, and pass unchanged.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.bolt.bolt import Bolt
from heron_core.errors import ComponentError
from heron_core.wire.columns import REFUSALS, column_of, field_left_out
from heron_spark.batch_log.blocks import Block

NAME = "__dataframe"
OF_TUPLES = f"{__name__}.TupleSink"
OF_BATCHES = f"{__name__}.BatchSink"
GROUPING = f"{__name__}.SameIndex"
SCHEMA = "heronpy.dataframe.schema"
"""Config key: the rows' Arrow schema, as bytes."""
STREAM = "heronpy.dataframe.stream"
"""Config key: how messages call the stream."""
ROWS = -3
"""The level of blocks of rows."""
ROWS_PER_BLOCK = 10_000
"""Spark's own number of rows for an Arrow batch."""


class SameIndex:
    """A custom grouping: each task has a separate reader, so rows stay in order."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """Remember the reader of equal index: readers and tasks are equal in number."""
        index = context.get_component_tasks(component).index(context.get_task_id())
        self._chosen = [sorted(target_tasks)[index]]

    def choose_tasks(self, values: Any) -> list[int]:
        """The one fixed task."""
        return self._chosen

    def divide_batch(self, batch: pa.RecordBatch) -> Iterator[tuple[list[int], pa.RecordBatch]]:
        """All of it."""
        yield self._chosen, batch


class FrameSink:
    """Collects the rows of a batch of Spark's."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The schema is settled by the driver."""
        self._schema = pa.ipc.read_schema(pa.py_buffer(config[SCHEMA]))
        self._stream = config[STREAM]
        self._index = context.get_component_tasks(NAME).index(context.get_task_id())
        self._rows: list[Any] = []
        self._number = 0
        """Of rows that are in no block."""
        self._blocks: list[Block] = []

    def take_blocks(self) -> list[Block]:
        """The batch's rows; the next batch begins without any."""
        self._close_block()
        blocks, self._blocks = self._blocks, []
        return blocks

    def _keep(self, rows: Any, number: int) -> None:
        self._rows.append(rows)
        self._number += number
        if self._number >= ROWS_PER_BLOCK:
            self._close_block()

    def _close_block(self) -> None:
        if not self._rows:
            return
        found, self._rows, self._number = self._columns(self._rows), [], 0
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as stream:
            stream.write_batch(found)
        self._blocks.append((ROWS, self._index, bytes(sink.getvalue())))

    def _columns(self, rows: list[Any]) -> pa.RecordBatch:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """Nothing outlives a batch."""
        return {}


class TupleSink(FrameSink, Bolt):
    """Takes tuples."""

    def process(self, tup: Any) -> None:
        """Keep one row."""
        self._keep(tup.values, 1)

    def _columns(self, rows: list[Any]) -> pa.RecordBatch:
        columns = [
            self._column(field, values)
            for field, values in zip(self._schema, zip(*rows, strict=True), strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, field: pa.Field, values: Any) -> pa.Array:
        try:
            return column_of(values, field.type)
        except REFUSALS as error:
            raise misfit(self._stream, field, error) from None


class BatchSink(FrameSink, BatchBolt):
    """Takes record batches of what the stream declares."""

    def process_batch(self, batch: pa.RecordBatch) -> None:
        """Keep its rows."""
        self._keep(batch, batch.num_rows)

    def _columns(self, rows: list[Any]) -> pa.RecordBatch:
        table = pa.Table.from_batches(rows)
        columns = [self._cast(field, table.column(field.name)) for field in self._schema]
        found = pa.Table.from_arrays(columns, schema=self._schema)
        return found.combine_chunks().to_batches()[0]

    def _cast(self, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if more := field_left_out(column.type, field.type):
            raise misfit(self._stream, field, ValueError(f"{more!r} is not a field of it"))
        try:
            return column.cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise misfit(self._stream, field, error) from None


def misfit(stream: str, field: pa.Field, error: Exception) -> ComponentError:
    """Values that the DataFrame's column cannot have."""
    return ComponentError(f"{stream}: field {field.name!r} is declared as {field.type}: {error}")


def read_block(payload: bytes) -> pa.RecordBatch:
    """The rows of a block."""
    with pa.ipc.open_stream(pa.py_buffer(payload)) as stream:
        return stream.read_next_batch()
