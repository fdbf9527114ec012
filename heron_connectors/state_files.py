"""Tables of states as files: Arrow's IPC format, Parquet, CSV, and JSON by lines.

A file appears under its name when it is complete: a half-written table is taken for none.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from heron_connectors.state_tables import SavedStateTable
from heron_core.errors import HeronError
from heron_core.optional_packages import needed

JSON = "json"
ENDINGS = {".arrow": "arrow", ".feather": "arrow", ".parquet": "parquet", ".csv": "csv",
           ".json": JSON, ".jsonl": JSON}  # fmt: skip


def write_rows(table: SavedStateTable, form: str | None, file: str | None) -> int:
    """Write a table batch by batch, to stdout without a file's name; the number of its rows.
    UsageError for a format that there is not."""
    ending = "" if file is None else os.path.splitext(file)[1].lower()
    chosen = form or ENDINGS.get(ending, JSON)
    if file is None:
        return FORMATS[chosen](table, sys.stdout.buffer)
    with _complete(file) as target:
        return FORMATS[chosen](table, target)


@contextmanager
def _complete(file: str) -> Iterator[BinaryIO]:
    part = f"{file}.part-{os.getpid()}"
    try:
        with open(part, "wb") as target:
            yield target
        os.replace(part, file)
    except OSError as error:
        raise HeronError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _arrow(table: SavedStateTable, target: BinaryIO) -> int:
    pa = needed("pyarrow", "a table of Arrow")
    with pa.ipc.new_stream(target, table.schema()) as writer:
        return _written(table, writer.write_batch)


def _parquet(table: SavedStateTable, target: BinaryIO) -> int:
    parquet = needed("pyarrow.parquet", "a Parquet file")
    with parquet.ParquetWriter(target, table.schema()) as writer:
        return _written(table, writer.write_batch)


def _csv(table: SavedStateTable, target: BinaryIO) -> int:
    csv = needed("pyarrow.csv", "a CSV file")
    with csv.CSVWriter(target, table.schema()) as writer:
        return _written(table, writer.write_batch)


def _json(table: SavedStateTable, target: BinaryIO) -> int:
    """By lines; a column that is JSON stands there as JSON, and not as a text of it."""
    types = table.types
    plain = [name for name in ("key", "map_key", "value") if getattr(types, name) is None]

    def write(batch: Any) -> None:
        for row in batch.to_pylist():
            for name in plain:
                row[name] = None if row[name] is None else json.loads(row[name])
            text = json.dumps(row, ensure_ascii=False, default=str)
            target.write(text.encode("utf-8") + b"\n")

    return _written(table, write)


def _written(table: SavedStateTable, write: Callable[[Any], object]) -> int:
    rows = 0
    for batch in table.batches():
        write(batch)
        rows += batch.num_rows
    return rows


FORMATS: dict[str, Callable[[SavedStateTable, BinaryIO], int]] = {
    "arrow": _arrow,
    "parquet": _parquet,
    "csv": _csv,
    JSON: _json,
}
