"""The end of a stream that is a DataFrame: its tuples as rows, in blocks that no level takes."""

from typing import Any

import pyarrow as pa

from heron_core.errors import ComponentError
from heron_spark.blocks import Block
from heronpy_compat.api.bolt.bolt import Bolt

NAME = "__dataframe"
CLASS = f"{__name__}.FrameSink"
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
    """A custom grouping: each task has a reader of its own, so its rows stay in order."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        """There are as many readers as tasks."""
        index = context.get_component_tasks(component).index(context.get_task_id())
        self._chosen = [sorted(target_tasks)[index]]

    def choose_tasks(self, values: Any) -> list[int]:
        """Always the same one."""
        return self._chosen


class FrameSink(Bolt):
    """Collects the rows of a batch."""

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """The schema is settled by the driver."""
        self._schema = pa.ipc.read_schema(pa.py_buffer(config[SCHEMA]))
        self._stream = config[STREAM]
        self._index = context.get_component_tasks(NAME).index(context.get_task_id())
        self._rows: list[Any] = []
        self._blocks: list[Block] = []

    def process(self, tup: Any) -> None:
        """Keep one row."""
        self._rows.append(tup.values)
        if len(self._rows) >= ROWS_PER_BLOCK:
            self._close_block()

    def take_blocks(self) -> list[Block]:
        """The batch's rows; the next batch begins without any."""
        self._close_block()
        blocks, self._blocks = self._blocks, []
        return blocks

    def _close_block(self) -> None:
        if not self._rows:
            return
        columns = [
            self._column(field, values)
            for field, values in zip(self._schema, zip(*self._rows, strict=True), strict=True)
        ]
        self._rows = []
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._blocks.append((ROWS, self._index, bytes(sink.getvalue())))

    def _column(self, field: pa.Field, values: Any) -> pa.Array:
        try:
            return pa.array(values, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ComponentError(
                f"{self._stream}: field {field.name!r} is declared as {field.type}: {error}"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        """Nothing outlives a batch."""
        return {}


def read_block(payload: bytes) -> pa.RecordBatch:
    """The rows of a block."""
    with pa.ipc.open_stream(pa.py_buffer(payload)) as stream:
        return stream.read_next_batch()
