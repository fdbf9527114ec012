"""Messages of pgoutput, the output plugin of Postgres' logical replication, from their bytes.

Protocol version 1, according to the manual of Postgres ("Logical Replication Message Formats",
https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html). Pure. Malformed
bytes always raise `DecodingError`.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Postgres counts microseconds from here."""
KEY_FLAG = 1
"""Of a column that is part of the replica identity."""
CASCADE_FLAG, RESTART_FLAG = 1, 2
"""Options of TRUNCATE."""


class DecodingError(ValueError):
    """Bytes that are not a message of pgoutput; the text states the problem."""


class _Unchanged:
    """The type of `UNCHANGED`."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = _Unchanged()
"""A large value (TOAST) unchanged by an UPDATE and therefore absent from the log."""
Value = str | None | _Unchanged
Values = tuple[Value, ...]
"""Texts of a row, in the format of the columns' output functions."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins."""

    commit_lsn: int
    """Where its commit stands in the log."""
    commit_time: datetime
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """It ends."""

    commit_lsn: int
    end_lsn: int
    """Where the log goes on behind it."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """One column of a table at the time of the message."""

    name: str
    is_key: bool
    """Whether the replica identity has it."""
    type_oid: int
    type_modifier: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A table definition, sent before the first change and after alterations."""

    oid: int
    schema: str
    table: str
    replica_identity: str
    """d (the primary key), n (nothing), f (the whole row), i (an index)."""
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """A new row."""

    oid: int
    new: Values


@dataclass(frozen=True, slots=True)
class Update:
    """A row that has changed."""

    oid: int
    old_kind: str
    """K: `old` has the previous replica identity, O: the whole previous row; empty: no previous
    row.
    """
    old: Values | None
    new: Values


@dataclass(frozen=True, slots=True)
class Delete:
    """A row that is gone."""

    oid: int
    old_kind: str
    old: Values


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables truncated by one statement."""

    oids: tuple[int, ...]
    is_cascade: bool
    restarts_identity: bool


@dataclass(frozen=True, slots=True)
class TypeName:
    """A user-defined type, sent before its table."""

    oid: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class ReplicationOrigin:
    """The transaction came from another server."""

    name: str


Message = (
    Begin | Commit | Relation | Insert | Update | Delete | Truncate | TypeName | ReplicationOrigin
)


class _MessageReader:
    """Reads the parts of a message in sequence."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def bytes(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise DecodingError(f"a message of pgoutput ends after {len(self._data)} bytes")
        found = self._data[self._at : end]
        self._at = end
        return found

    def number(self, form: str) -> int:
        found: int = struct.unpack(form, self.bytes(struct.calcsize(form)))[0]
        return found

    def time(self) -> datetime:
        microseconds = self.number("!q")
        try:
            return EPOCH + timedelta(microseconds=microseconds)
        except OverflowError:
            raise DecodingError(f"a time of a commit is {microseconds} microseconds") from None

    def letter(self) -> str:
        return chr(self.number("!B"))

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise DecodingError("a name in a message of pgoutput has no end")
        found = self.decoded(end - self._at)
        self._at = end + 1
        return found

    def decoded(self, size: int) -> str:
        data = self.bytes(size)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise DecodingError(f"a text in a message of pgoutput is not UTF-8: {error}") from None

    def row(self) -> Values:
        return tuple([self._value() for _ in range(self.number("!H"))])

    def _value(self) -> Value:
        kind = self.letter()
        if kind == "n":
            return None
        if kind == "u":
            return UNCHANGED
        if kind == "t":
            return self.decoded(self.number("!i"))
        raise DecodingError(f"a value in a message of pgoutput is of the kind {kind!r}")

    def end(self) -> None:
        rest = len(self._data) - self._at
        if rest:
            raise DecodingError(f"a message of pgoutput has {rest} bytes more than it should")


def decoded(data: bytes) -> Message:
    """One message; DecodingError."""
    reader = _MessageReader(data)
    kind = reader.letter()
    decode = _KINDS.get(kind)
    if decode is None:
        raise DecodingError(f"a message of pgoutput is of the unknown kind {kind!r}")
    found = decode(reader)
    reader.end()
    return found


def _begin(reader: _MessageReader) -> Message:
    return Begin(reader.number("!Q"), reader.time(), reader.number("!I"))


def _commit(reader: _MessageReader) -> Message:
    reader.number("!B")  # flags, currently unused
    found = Commit(reader.number("!Q"), reader.number("!Q"))
    reader.time()
    return found


def _relation(reader: _MessageReader) -> Message:
    oid = reader.number("!I")
    # An empty name of a schema is that of the system's own tables.
    schema, table = reader.text() or "pg_catalog", reader.text()
    identity = reader.letter()
    columns = tuple([_column(reader) for _ in range(reader.number("!H"))])
    return Relation(oid, schema, table, identity, columns)


def _column(reader: _MessageReader) -> RelationColumn:
    is_key = bool(reader.number("!B") & KEY_FLAG)
    return RelationColumn(reader.text(), is_key, reader.number("!I"), reader.number("!i"))


def _insert(reader: _MessageReader) -> Message:
    oid = reader.number("!I")
    _expect(reader.letter(), "N")
    return Insert(oid, reader.row())


def _update(reader: _MessageReader) -> Message:
    oid, kind, old = reader.number("!I"), reader.letter(), None
    if kind in ("K", "O"):
        old_kind, old = kind, reader.row()
        kind = reader.letter()
    else:
        old_kind = ""
    _expect(kind, "N")
    return Update(oid, old_kind, old, reader.row())


def _delete(reader: _MessageReader) -> Message:
    oid, kind = reader.number("!I"), reader.letter()
    _expect(kind, "KO")
    return Delete(oid, kind, reader.row())


def _truncate(reader: _MessageReader) -> Message:
    count, options = reader.number("!I"), reader.number("!B")
    size = struct.calcsize("!I")
    oids = struct.unpack(f"!{count}I", reader.bytes(count * size)) if count < 1 << 16 else None
    if oids is None:
        raise DecodingError(f"a TRUNCATE of {count} tables")
    return Truncate(oids, bool(options & CASCADE_FLAG), bool(options & RESTART_FLAG))


def _type(reader: _MessageReader) -> Message:
    return TypeName(reader.number("!I"), reader.text() or "pg_catalog", reader.text())


def _origin(reader: _MessageReader) -> Message:
    reader.number("!Q")
    return ReplicationOrigin(reader.text())


def _expect(kind: str, kinds: str) -> None:
    if kind not in kinds:
        raise DecodingError(f"a row in a message of pgoutput is of the kind {kind!r}")


_KINDS: dict[str, Callable[[_MessageReader], Message]] = {
    "B": _begin,
    "C": _commit,
    "R": _relation,
    "I": _insert,
    "U": _update,
    "D": _delete,
    "T": _truncate,
    "Y": _type,
    "O": _origin,
}
