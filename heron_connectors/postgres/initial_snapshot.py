"""The rows that the tables of a publication have before their changes are read, from the server."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heron_connectors.postgres.catalog import TableName, primary_key, type_infos
from heron_connectors.postgres.changes import Change, lsn_of
from heron_connectors.postgres.client import answered
from heron_connectors.postgres.keyset import (
    Key,
    KeyColumn,
    KeysetShare,
    Selection,
    is_up_to,
    quoted,
)
from heron_connectors.postgres.rows import RowReader, TableRow
from heron_connectors.postgres.snapshot import SnapshotState, TableParts
from heron_connectors.postgres.values import Types, Unrepresentable
from heron_core.errors import ComponentError

ATTNAMES_VERSION = 150000
"""Postgres 15: publications with columns and conditions."""
_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relreplident::text, bool_or(EXISTS (SELECT FROM pg_index i
    WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisreplident))
FROM pg_publication_tables t JOIN pg_namespace n ON n.nspname = t.schemaname
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
WHERE t.pubname = ANY(%s) GROUP BY 1, 2, 3, 4 ORDER BY 2, 3
"""
_FILTERS = """
SELECT attnames, rowfilter FROM pg_publication_tables
WHERE pubname = ANY(%s) AND schemaname = %s AND tablename = %s
"""
_STORED = """
SELECT a.attname, a.atttypid FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.oid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_NAME = """
SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = %s AND EXISTS (SELECT FROM pg_publication_tables t
  WHERE t.pubname = ANY(%s) AND t.schemaname = n.nspname AND t.tablename = c.relname)
"""
_KIND = "SELECT relkind::text FROM pg_class WHERE oid = %s"
_SNAPSHOT = """
SELECT pg_is_in_recovery(), pg_current_snapshot()::text, CASE WHEN NOT pg_is_in_recovery() THEN
  pg_current_wal_insert_lsn()::text END
"""


@dataclass(frozen=True, slots=True)
class RowRead:
    """A row of a table, of the session's snapshot."""

    table: TableParts
    snapshot: str
    key: Key | None = None
    """None behind the last row of a table."""
    change: Change | None = None
    """None there, too."""


def key_order(connection: Any, keys: Sequence[KeyColumn], key: Key, until: Key) -> bool:
    """Whether a key is at or before a second key, in the server's order."""
    ((found,),) = answered(connection, *is_up_to(keys, key, until))
    return bool(found)


class SnapshotReader:
    """One session's part of a snapshot. Away, Busy or ComponentError of every method."""

    def __init__(
        self, connection: Any, state: SnapshotState, publications: Sequence[str], types: Types
    ) -> None:
        self._connection = connection
        self._state = state
        self._publications = list(publications)
        self._types = types
        self._rows = RowReader(connection)
        self._left: list[TableParts] = []
        self._columns: dict[str, int] = {}
        """State of the table being read."""
        self._is_open = False
        self._snapshot = ""
        self.gone: list[str] = []
        """Tables of the state that the server, or the publication, does not have any more."""

    def begin(self) -> None:
        """Find the tables and start a snapshot during which no table is altered or truncated."""
        if not self._state.has_begun:
            self._state.tables = [self._checked(*each) for each in self._tables()]
            self._state.has_begun = True
        gone = self._divide_by_presence()
        self._rows.begin([self._source_of(each) for each in self._left])
        ((is_standby, self._snapshot, lsn),) = self._rows.ask(_SNAPSHOT)
        if is_standby:
            raise ComponentError(
                "a standby does not know the transactions of its rows: name the primary in "
                "postgres.connect for postgres.snapshot"
            )
        self._state.end_lsn = lsn_of(lsn)
        for table in gone:
            # The table is empty in the snapshot, so all its changes up to now are covered.
            table.read_up_to(None, self._snapshot)
            self.gone.append(f"{table.schema}.{table.table}")
        self._end_if_read()

    def _tables(self) -> list[Any]:
        return answered(self._connection, _TABLES, [self._publications])

    def _checked(
        self, oid: int, schema: str, name: str, identity: str, key_is_identity: bool
    ) -> TableParts:
        table = TableName(oid, schema, name)
        keys = primary_key(self._connection, table)
        remedy = "or read its changes alone, by a publication and a component of their own"
        if not keys:
            raise ComponentError(
                f"postgres.snapshot reads {table} by its primary key, which is missing: add one, "
                f"{remedy}"
            )
        if identity not in ("d", "f") and not key_is_identity:
            raise ComponentError(
                f"postgres.snapshot needs the primary key of {table} in its changes: ALTER TABLE"
                f" {table.source} REPLICA IDENTITY DEFAULT, {remedy}"
            )
        columns, _ = self._published(table)
        for key in keys:
            if key.name not in columns:
                raise ComponentError(
                    f"postgres.snapshot needs the primary key of {table}, and the publication"
                    f" leaves {key.name} out: add it, {remedy}"
                )
        return TableParts(oid, schema, name, keys)

    def _divide_by_presence(self) -> list[TableParts]:
        """Existing tables not read to the end; and missing tables."""
        gone = []
        for table in self._state.tables:
            if table.is_over:
                continue
            names = answered(self._connection, _NAME, [table.oid, self._publications])
            if names:
                ((table.schema, table.table),) = names
                self._left.append(table)
            else:
                gone.append(table)
        return gone

    def _published(self, table: TableName) -> tuple[dict[str, int], str]:
        """The columns that the log has of a table, with their types, and of which rows."""
        stored = dict(answered(self._connection, _STORED, [table.oid]))
        if self._connection.info.server_version < ATTNAMES_VERSION:
            return stored, ""
        values = [self._publications, table.schema, table.table]
        filters = answered(self._connection, _FILTERS, values)
        named = {name for names, _ in filters for name in names or stored}
        conditions = [condition for _, condition in filters]
        condition = "" if None in conditions else " OR ".join(f"({each})" for each in conditions)
        return {name: oid for name, oid in stored.items() if name in named}, condition

    def _source_of(self, table: TableParts) -> str:
        """Tables that inherit have changes of their own; partitions may be told as of the whole."""
        ((kind,),) = answered(self._connection, _KIND, [table.oid])
        only = "" if kind == "p" else "ONLY "
        return f"{only}{quoted(table.schema)}.{quoted(table.table)}"

    def _end_if_read(self) -> None:
        if not self._left:
            self._rows.end()

    # --- rows -------------------------------------------------------------------------------------

    def read(self) -> list[RowRead]:
        """The next rows, or the end of a table; behind the last one the snapshot has ended, and
        nothing is left to read."""
        if not self._left:
            return []
        table = self._left[0]
        if not self._is_open:
            self._open(table)
        rows = self._rows.read()
        if not rows:
            self._is_open = False
            del self._left[0]
            self._end_if_read()
            return [RowRead(table, self._snapshot)]
        return [RowRead(table, self._snapshot, row.key, self._change(table, row)) for row in rows]

    def _open(self, table: TableParts) -> None:
        source = self._source_of(table)
        name = TableName(table.oid, table.schema, table.table)
        self._columns, condition = self._published(name)
        ask = partial(type_infos, self._connection)
        self._types.complete(set(self._columns.values()), ask)
        selection = Selection(
            source, tuple(self._columns), table.keys, condition=condition, is_unique=True
        )
        self._rows.open(selection, table.after, KeysetShare())
        self._is_open = True

    def _change(self, table: TableParts, row: TableRow) -> Change:
        after: dict[str, Any] = {}
        problems = []
        for (name, oid), text in zip(self._columns.items(), row.texts, strict=True):
            after[name] = text
            try:
                after[name] = None if text is None else self._types.value(oid, text)
            except Unrepresentable as error:
                problems.append(f"{name}: {error}")
        return Change("read", table.schema, table.table, after=after, problem="; ".join(problems))
