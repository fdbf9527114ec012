"""A Delta table behind a streaming DataFrame, without Delta's jars: each batch is in it once.

A version of the table has the rows of one batch, and its number (`txn` of Delta's protocol, under
the id in the query's checkpoint), so a batch already in the table is not written again.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from heron_core.errors import UsageError
from heron_core.optional_packages import needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PURPOSE = "writing Delta tables"
QUERY_ID = "sql.streaming.queryId"
"""Local property of the thread that runs a query's batches: the id in the query's checkpoint."""


def delta_table(
    table: str | os.PathLike[str],
    *,
    partition_by: Sequence[str] = (),
    storage_options: dict[str, str] | None = None,
) -> "Callable[[DataFrame, int], None]":
    """A function for `writeStream.foreachBatch` that appends to a Delta table.

    `table` is a folder or URL, created if missing and divided by `partition_by`. Each batch passes
    through the driver, and has to fit its memory. ComponentError without deltalake. UsageError
    outside of a started query.
    """
    needed("deltalake", PURPOSE)
    path = os.fspath(table)

    def write(rows: "DataFrame", batch: int) -> None:
        query = rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        if not query:
            raise UsageError("delta_table(...) is for writeStream.foreachBatch of a started query")
        append(path, query, batch, rows.toArrow, partition_by, storage_options)

    return write


def append(
    path: str,
    writer: str,
    number: int,
    read: Callable[[], Any],
    partition_by: Sequence[str] = (),
    storage_options: dict[str, str] | None = None,
) -> None:
    """Append the rows, an Arrow table, as one version, unless the writer's number is present."""
    deltalake = needed("deltalake", PURPOSE)
    is_there = deltalake.DeltaTable.is_deltatable(path, storage_options)
    present = deltalake.DeltaTable(path, storage_options=storage_options) if is_there else None
    written = present.transaction_version(writer) if present is not None else None
    if written is not None and written >= number:
        return
    rows = read()
    if present is not None and not rows.num_rows:
        return
    transaction = deltalake.Transaction(writer, number)
    deltalake.write_deltalake(
        path if present is None else present,
        rows,
        mode="append",
        partition_by=None if present is not None else list(partition_by) or None,
        storage_options=storage_options,
        commit_properties=deltalake.CommitProperties(app_transactions=[transaction]),
    )
