"""Changes of tables from the messages of a replication slot, and where a reader of them is. Pure.

Transactions come in the order of their commits, which is that of `commit_lsn`; the changes of one
are counted from 0. Reading again from an earlier place gives the same transactions and changes, so
(commit_lsn, index) says which change it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heron_connectors.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    DecodingError,
    Delete,
    Insert,
    Message,
    Relation,
    ReplicationOrigin,
    Truncate,
    TypeName,
    Update,
    Values,
)
from heron_connectors.postgres.snapshot import Remainder
from heron_connectors.postgres.values import Unrepresentable

LSN_HALF_BITS = 32
ToValue = Callable[[int, str], Any]
"""(oid of a type, text) -> value; Unrepresentable for a value without a Python form."""


def lsn_of(text: str) -> int:
    """Parse an LSN as written by Postgres, such as 0/16B3748."""
    high, _, low = text.partition("/")
    return (int(high, 16) << LSN_HALF_BITS) + int(low, 16)


def lsn_text(lsn: int) -> str:
    """Format an LSN."""
    return f"{lsn >> LSN_HALF_BITS:X}/{lsn & ((1 << LSN_HALF_BITS) - 1):X}"


@dataclass(frozen=True, slots=True, order=True)
class SlotPosition:
    """What of a slot is done."""

    flushed: int
    """All transactions whose commit stands before this LSN."""
    commit_lsn: int = 0
    """Transactions before the LSN, and of the current transaction"""
    index: int = 0
    """so many changes."""

    def has(self, commit_lsn: int, index: int) -> bool:
        """Whether a change is done."""
        return commit_lsn < self.flushed or (commit_lsn, index) < (self.commit_lsn, self.index)

    def behind(self, flushed: int) -> "SlotPosition":
        """When all transactions before an LSN are done, too."""
        return SlotPosition(max(self.flushed, flushed), self.commit_lsn, self.index)


@dataclass(frozen=True, slots=True)
class Change:
    """One changed row, or a truncated table."""

    operation: str
    """insert, update, delete or truncate; read for a row of the snapshot."""
    schema: str
    table: str
    before: dict[str, Any] | None = None
    """The previous row: the columns of the replica identity, as far as logged."""
    after: dict[str, Any] | None = None
    """The current row."""
    unchanged: list[str] = field(default_factory=list)
    """Columns that `after` lacks: large values that the log does not repeat."""
    commit_time: datetime | None = None
    commit_lsn: int = 0
    index: int = 0
    xid: int = 0
    problem: str = ""
    """Reason why a value is a text despite its column's type: the type lacks the value in
    Python."""


@dataclass(frozen=True, slots=True)
class Done:
    """All up to a position is done when what came before is."""

    position: SlotPosition


RemainderOf = Callable[[Relation, int, "Insert | Update | Delete | Truncate"], Remainder]
"""(table, transaction number, message) -> part of the change not covered by read rows."""


def _all_of_it(relation: Relation, xid: int, message: Any) -> Remainder:
    return Remainder.WHOLE


class ChangeReader:
    """Makes changes of messages."""

    def __init__(self, to_value: ToValue, remainder_of: RemainderOf = _all_of_it) -> None:
        self._to_value = to_value
        self._remainder_of = remainder_of
        self._relations: dict[int, Relation] = {}
        self._begin: Begin | None = None
        self._index = 0

    def take(self, message: Message) -> Iterator[Change | Done]:
        """Changes of a message; DecodingError for a message out of sequence."""
        match message:
            case Relation():
                self._relations[message.oid] = message
            case TypeName() | ReplicationOrigin():
                pass
            case Begin():
                self._begin, self._index = message, 0
            case Commit():
                self._begin = None
                yield Done(SlotPosition(message.end_lsn))
            case Truncate():
                for oid in message.oids:
                    if self._remainder(oid, message) is Remainder.NOTHING:
                        self._index += 1
                    else:
                        yield self._change("truncate", oid)
            case _:
                remainder = self._remainder(message.oid, message)
                if remainder is Remainder.NOTHING:
                    self._index += 1
                else:
                    yield self._of_row(message, remainder)

    def _remainder(self, oid: int, message: Insert | Update | Delete | Truncate) -> Remainder:
        relation = self._relation(oid)
        return self._remainder_of(relation, self._transaction(relation).xid, message)

    def _of_row(self, message: Insert | Update | Delete, remainder: Remainder) -> Change:
        relation = self._relation(message.oid)
        problems: list[str] = []
        before: dict[str, Any] | None = None
        after: dict[str, Any] | None = None
        unchanged: list[str] = []
        if not isinstance(message, Insert) and message.old is not None:
            is_key = message.old_kind == "K"
            before = self._row(relation, message.old, is_key, [], problems)
        if not isinstance(message, Delete):
            after = self._row(relation, message.new, False, unchanged, problems)
            _fill(after, unchanged, before if getattr(message, "old_kind", "") == "O" else None)
        operation = type(message).__name__.lower()
        if remainder is Remainder.OLD_GONE:
            operation, after, unchanged = remainder.value, None, []
        elif remainder is Remainder.NEW_THERE:
            operation, before = remainder.value, None
        return self._change(
            operation,
            message.oid,
            before=before,
            after=after,
            unchanged=unchanged,
            problem="; ".join(problems),
        )

    def _row(
        self,
        relation: Relation,
        values: Values,
        is_key: bool,
        unchanged: list[str],
        problems: list[str],
    ) -> dict[str, Any]:
        if len(values) != len(relation.columns):
            raise DecodingError(
                f"a row of {relation.schema}.{relation.table} has {len(values)} values for"
                f" {len(relation.columns)} columns"
            )
        row: dict[str, Any] = {}
        for column, value in zip(relation.columns, values, strict=True):
            if is_key and not column.is_key:
                continue
            if value is UNCHANGED:
                unchanged.append(column.name)
                continue
            row[column.name] = value
            if isinstance(value, str):
                try:
                    row[column.name] = self._to_value(column.type_oid, value)
                except Unrepresentable as error:
                    problems.append(f"{column.name}: {error}")
        return row

    def _change(self, operation: str, oid: int, **more: Any) -> Change:
        relation = self._relation(oid)
        begin = self._transaction(relation)
        self._index += 1
        return Change(
            operation,
            relation.schema,
            relation.table,
            commit_time=begin.commit_time,
            commit_lsn=begin.commit_lsn,
            index=self._index - 1,
            xid=begin.xid,
            **more,
        )

    def _transaction(self, relation: Relation) -> Begin:
        if self._begin is None:
            raise DecodingError(f"a change of {relation.table} is in no transaction")
        return self._begin

    def _relation(self, oid: int) -> Relation:
        found = self._relations.get(oid)
        if found is None:
            raise DecodingError(f"a change of a table that was not described (oid {oid})")
        return found


def _fill(after: dict[str, Any], unchanged: list[str], before: dict[str, Any] | None) -> None:
    """With the whole previous row at hand, what has not changed is known."""
    for name in list(unchanged) if before is not None else ():
        if before is not None and name in before:
            after[name] = before[name]
            unchanged.remove(name)
