"""Rows of tables at one point in time: a transaction with a fixed snapshot."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heron_connectors.postgres.client import Busy, answered, meaning, psycopg
from heron_connectors.postgres.fetching import FetchSize
from heron_connectors.postgres.keyset import Key, KeysetShare, Selection, rows_from
from heron_core.errors import ComponentError

LOCK_TIMEOUT = "5s"
"""A statement that waits for a locked table blocks the process: after this time the statement
fails, and the spout retries later."""
CURSOR = "heronpy_rows"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row, in the text form of Postgres."""

    texts: tuple[str | None, ...]
    key: Key


class RowReader:
    """One snapshot of a server. Each method may raise Away, Busy or ComponentError: an error closes
    the snapshot and the connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._size = FetchSize()
        self._selection: Selection | None = None

    def begin(self, tables: Sequence[str] = ()) -> None:
        """Start the transaction; the tables cannot be altered or truncated before its end. The
        snapshot is taken by the next statement."""
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._run(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        if tables:
            # A policy that would hide rows is an error.
            self._run("SET LOCAL row_security = off")
            self._run(f"LOCK TABLE {', '.join(tables)} IN ACCESS SHARE MODE")

    def open(self, selection: Selection, after: Key | None, share: KeysetShare) -> None:
        """Open the cursor on the rows after a key."""
        statement, values = rows_from(selection, after, share)
        self._selection = selection
        self._run(f"DECLARE {CURSOR} NO SCROLL CURSOR FOR {statement}", values)

    def read(self) -> list[TableRow]:
        """The next rows; empty at the end. ComponentError for a row without a key."""
        try:
            # A prepared FETCH would keep the columns of the first table.
            statement = f"FETCH {self._size.rows} FROM {CURSOR}"
            result = self._connection.execute(statement, prepare=False).pgresult
        except psycopg().Error as error:
            raise _refused(error) from None
        if not result.ntuples:
            self._run(f"CLOSE {CURSOR}")
            return []
        rows = [self._row(result, at) for at in range(result.ntuples)]
        size = sum(len(text or "") for each in rows for text in each.texts)
        self._size.learn(len(rows), size)
        return rows

    def _row(self, result: Any, at: int) -> TableRow:
        assert self._selection is not None, "rows before a selection"
        texts = [_text(result.get_value(at, column)) for column in range(result.nfields)]
        names = [each.name for each in self._selection.keys]
        key = texts[len(texts) - len(names) :]
        for name, text in zip(names, key, strict=True):
            if text is None:
                raise ComponentError(
                    f"a row has NULL in its key {name}, so its order is undefined: exclude such "
                    f"rows in the query (WHERE {name} IS NOT NULL)"
                )
        return TableRow(tuple(texts[: -len(names)]), tuple(each or "" for each in key))

    def end(self) -> None:
        """Commit the transaction."""
        self._run("COMMIT")

    def _run(self, statement: str, values: Sequence[Any] | None = None) -> None:
        try:
            self._connection.execute(statement, values)
        except psycopg().Error as error:
            raise _refused(error) from None

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Query within the snapshot."""
        return answered(self._connection, statement, values)

    def close(self) -> None:
        """Close the connection; errors of a lost connection are ignored."""
        with suppress(psycopg().Error):
            self._connection.close()


def _refused(error: Any) -> Exception:
    found = meaning(error)
    if isinstance(found, Busy):
        return Busy(f"{found}: another session has locked a table of the query (pg_locks)")
    if error.sqlstate == "42501":
        return ComponentError(
            f"{found}: the role needs the right to read all of its rows (GRANT SELECT ON …, and"
            " BYPASSRLS if it has policies)"
        )
    return found


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        raise ComponentError(
            f"a value is not UTF-8 ({data!r:.60}): the database's encoding is SQL_ASCII, or a"
            " value was written past it"
        ) from None
