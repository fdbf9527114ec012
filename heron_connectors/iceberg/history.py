"""Writers of an Iceberg table, according to its snapshots."""

from collections.abc import Iterator, Mapping
from typing import Any

from heron_connectors.tables.table_sink import REFUSED, RUN, noted_in
from heron_connectors.transactions import TransactionId
from heron_core.errors import ComponentError

WRITER, NUMBER = "heronpy.writer", "heronpy.number"
"""Key in the summary of a snapshot: id of the transaction."""
REPLACE = "replace"
"""Operation of a snapshot that rewrites its parent's rows in new files: a compaction."""
EMPTY, AWAY = 0, -1
"""In place of a snapshot's id: the table had none; it was not seen."""


def summary_of(run: str, transaction_id: TransactionId) -> dict[str, str]:
    """Transaction entry of a snapshot."""
    return {RUN: run, WRITER: transaction_id.writer, NUMBER: str(transaction_id.number)}


def has_transaction(
    table: Any, transaction_id: TransactionId, base: int, *, must_know: bool
) -> bool:
    """Whether a snapshot has the writer's transaction with the number, or a later transaction;
    only snapshots after `base` are read. ComponentError if needed snapshots have expired; with
    `must_know` false they count as absent."""
    oldest = None
    for snapshot in _newest_first(table):
        if snapshot.snapshot_id == base:
            return False
        said = _said(snapshot)
        if said.get(WRITER) == transaction_id.writer:
            return int(said[NUMBER]) >= transaction_id.number
        oldest = snapshot
    if not must_know or (base in (EMPTY, AWAY) and _is_first(oldest)):
        return False
    raise ComponentError(
        f"unknown whether {'.'.join(table.name())} has transaction {transaction_id}: the "
        "snapshots since its preparation are expired, rolled back or of a previous table; "
        "compare the rows, then start with --fresh"
    )


def refused_before(table: Any, transaction_id: TransactionId) -> dict[int, str]:
    """Position -> reason, for the rows left out of a committed transaction."""
    for snapshot in _newest_first(table):
        if (found := noted_in(_said(snapshot).get(REFUSED), transaction_id)) is not None:
            return found
    return {}


def _is_first(snapshot: Any) -> bool:
    """Whether a table had none before it; an expired parent stays named, or is left out, but its
    number in the sequence is missing."""
    if snapshot is None:
        return True
    return snapshot.parent_snapshot_id is None and (snapshot.sequence_number or 0) <= 1


def rows_of_other_runs(table: Any, run: str) -> int:
    """Rows in the table; 0 if the newest change is the run's own."""
    newest = table.current_snapshot()
    changes = (each for each in _newest_first(table) if _operation(each) != REPLACE)
    last = next(changes, None)
    if last is None or (run and _said(last).get(RUN) == run):
        return 0
    return int(_said(newest).get("total-records") or 0)


def _newest_first(table: Any) -> Iterator[Any]:
    """The snapshots from the current snapshot backwards, as far as present."""
    by_id = {each.snapshot_id: each for each in table.snapshots()}
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        snapshot = by_id.get(snapshot.parent_snapshot_id)


def _said(snapshot: Any) -> Mapping[str, str]:
    return {} if snapshot.summary is None else snapshot.summary.additional_properties


def _operation(snapshot: Any) -> str:
    return "" if snapshot.summary is None else str(snapshot.summary.operation.value)
