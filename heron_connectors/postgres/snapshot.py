"""Bookkeeping of table rows read before their changes, and of the changes already in the rows.
Pure.

Theory of operation. The rows of a table are read in the order of the primary key, in one snapshot
of the server. A session that breaks ends its snapshot: the next session goes on behind the newest
key in a new one. So a table is read in parts, each up to a key and in a snapshot of its own.
Which transactions a snapshot has is known exactly, by their numbers (pg_current_snapshot): a change
from the log is done if the snapshot of its row's part has its transaction, and else is emitted.
A later snapshot has whatever an earlier one has. So of one transaction all parts from some part on
have the change, and one comparison of keys decides. An update that moves a row from one side of
that key to the other has one half left: a delete or an insert.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from heron_connectors.postgres.keyset import Key, KeyColumn
from heron_connectors.postgres.pgoutput import (
    UNCHANGED,
    DecodingError,
    Delete,
    Insert,
    Relation,
    Truncate,
    Update,
    Values,
)

XID_BITS = 32
"""The log has so many of the 64 bits of a transaction's number."""


class Remainder(Enum):
    """Part of a change not covered by the read rows."""

    WHOLE = "whole"
    NOTHING = "nothing"
    OLD_GONE = "delete"
    NEW_THERE = "insert"


@dataclass(frozen=True, slots=True)
class Visible:
    """The transactions visible in a snapshot: below `xmin`, and finished transactions below
    `xmax`."""

    xmin: int
    xmax: int
    under_way: frozenset[int]

    @classmethod
    def of(cls, text: str) -> "Visible":
        """From pg_current_snapshot's text, XMIN:XMAX:XID,XID."""
        xmin, xmax, under_way = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(map(int, filter(None, under_way.split(",")))))

    def has(self, short_xid: int) -> bool:
        """Whether a logged transaction is visible, by the nearest 64-bit number."""
        distance = (short_xid - self.xmax) % (1 << XID_BITS)
        if distance >= 1 << (XID_BITS - 1):
            distance -= 1 << XID_BITS
        xid = self.xmax + distance
        return xid < self.xmin or (xid < self.xmax and xid not in self.under_way)


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """Rows of a table read in one snapshot."""

    until: Key | None
    """The key of the last row; None: to the end of the table."""
    snapshot: str


@dataclass(slots=True)
class TableParts:
    """Progress of reading a table."""

    oid: int
    schema: str
    table: str
    keys: tuple[KeyColumn, ...]
    parts: list[SnapshotPart] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether all of its rows are read."""
        return bool(self.parts) and self.parts[-1].until is None

    @property
    def after(self) -> Key | None:
        """The key behind which to go on."""
        return self.parts[-1].until if self.parts else None

    def read_up_to(self, until: Key | None, snapshot: str) -> None:
        """The rows up to a key were read in a snapshot."""
        if self.parts and self.parts[-1].snapshot == snapshot:
            self.parts.pop()
        self.parts.append(SnapshotPart(until, snapshot))

    def parts_without(self, short_xid: int) -> int:
        """How many parts, the first ones, do not have a transaction."""
        for at, part in enumerate(self.parts):
            if Visible.of(part.snapshot).has(short_xid):
                return at
        return len(self.parts)


IsUpTo = Callable[[Sequence[KeyColumn], Key, Key], bool]
"""(columns, key, other key) -> whether the key is at or before the other key, in the server's
order.
"""
RowMessage = Insert | Update | Delete


@dataclass(slots=True)
class SnapshotState:
    """How far the snapshot of a publication's tables is."""

    tables: list[TableParts] = field(default_factory=list)
    has_begun: bool = False
    """Whether the tables are known."""
    rows: int = 0
    """So many were emitted."""
    end_lsn: int = 0
    """Transactions whose commit is not before it are in no snapshot."""

    @property
    def current(self) -> TableParts | None:
        """The table to read; None if all are read."""
        return next((each for each in self.tables if not each.is_over), None)

    @property
    def is_over(self) -> bool:
        """Whether all tables are read."""
        return self.has_begun and self.current is None

    def forget(self, flushed: int) -> None:
        """All transactions before an LSN are done: with the last snapshot's end flushed, the parts
        of the tables are dropped.
        """
        if self.is_over and flushed >= self.end_lsn:
            self.tables = []

    def saved(self) -> dict[str, Any]:
        """As plain values."""
        tables = [
            [
                table.oid,
                table.schema,
                table.table,
                [[key.name, key.type_name, key.collation] for key in table.keys],
                [[None if a.until is None else list(a.until), a.snapshot] for a in table.parts],
            ]
            for table in self.tables
        ]
        more = {"has_begun": self.has_begun, "rows": self.rows, "end_lsn": self.end_lsn}
        return {"tables": tables, **more}

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> "SnapshotState":
        """Restore from the saved form."""
        tables = [
            TableParts(
                oid,
                schema,
                table,
                tuple(KeyColumn(*key) for key in keys),
                [
                    SnapshotPart(None if until is None else tuple(until), text)
                    for until, text in parts
                ],
            )
            for oid, schema, table, keys, parts in saved["tables"]
        ]
        return cls(tables, saved["has_begun"], saved["rows"], saved["end_lsn"])

    # --- changes ----------------------------------------------------------------------------------

    def remainder(
        self, relation: Relation, xid: int, message: RowMessage | Truncate, is_up_to: IsUpTo
    ) -> Remainder:
        """Part of a change not covered by the read rows. DecodingError if not decidable."""
        table = next((each for each in self.tables if each.oid == relation.oid), None)
        if table is None:
            return Remainder.WHOLE
        without = table.parts_without(xid)
        if without == len(table.parts):
            return Remainder.WHOLE
        if without == 0:
            return Remainder.NOTHING
        until = table.parts[without - 1].until
        assert until is not None, "a part after the last one"
        if isinstance(message, Truncate):
            raise DecodingError(
                f"{relation.schema}.{relation.table} was emptied (TRUNCATE) between two sessions "
                "that read its rows, so the removed rows are unknown: start without the state "
                "(--fresh)"
            )
        old, new = _keys_of(table, relation, message)
        is_left = [key is not None and is_up_to(table.keys, key, until) for key in (old, new)]
        return _left(message, *is_left)


def _left(message: RowMessage, old_is_left: bool, new_is_left: bool) -> Remainder:
    if isinstance(message, Insert):
        return Remainder.WHOLE if new_is_left else Remainder.NOTHING
    if isinstance(message, Delete):
        return Remainder.WHOLE if old_is_left else Remainder.NOTHING
    halves = {
        (True, True): Remainder.WHOLE,
        (True, False): Remainder.OLD_GONE,
        (False, True): Remainder.NEW_THERE,
        (False, False): Remainder.NOTHING,
    }
    return halves[old_is_left, new_is_left]


def _keys_of(
    table: TableParts, relation: Relation, message: RowMessage
) -> tuple[Key | None, Key | None]:
    """The keys of the row before and after its change."""
    if isinstance(message, Insert):
        return None, _key_of(table, relation, message.new, None)
    old = None if message.old is None else _key_of(table, relation, message.old, None)
    if isinstance(message, Delete):
        return old, None
    new = _key_of(table, relation, message.new, message.old)
    return new if old is None else old, new


def _key_of(table: TableParts, relation: Relation, values: Values, old: Values | None) -> Key:
    position_of = {each.name: at for at, each in enumerate(relation.columns)}
    key = []
    for key_column in table.keys:
        at = position_of.get(key_column.name, len(values))
        value = values[at] if at < len(values) else None
        if value is UNCHANGED and old is not None:
            value = old[at]
        if not isinstance(value, str):
            raise DecodingError(
                f"a change of {relation.schema}.{relation.table} is without {key_column.name}, a "
                "column of its primary key when its rows were read: start without the state "
                "(--fresh)"
            )
        key.append(value)
    return tuple(key)
