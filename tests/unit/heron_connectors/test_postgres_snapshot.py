"""Rows of a table read in parts during writes, and then its changes: applied in order, rows and
changes give the table, each exactly once."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from heron_connectors.postgres.changes import Change, ChangeReader
from heron_connectors.postgres.keyset import KeyColumn, KeysetShare, Selection, is_up_to, rows_from
from heron_connectors.postgres.pgoutput import (
    Begin,
    DecodingError,
    Delete,
    Insert,
    Message,
    Relation,
    RelationColumn,
    Truncate,
    Update,
)
from heron_connectors.postgres.snapshot import Remainder, SnapshotState, TableParts, Visible

OID = 7
KEY = (KeyColumn("id", "bigint"),)
RELATION = Relation(
    OID,
    "public",
    "t",
    "d",
    (RelationColumn("id", True, 20, -1), RelationColumn("value", False, 23, -1)),
)
TRANSACTIONS, KEYS = 25, 12
FIRST_XID = (3 << 32) - 8
"""The log's 32 bits of a number start again in the middle."""
Rows = dict[int, int]


class Server:
    """A table, and the changes of transactions, in the order of commits."""

    def __init__(self, chance: random.Random, has_full_identity: bool) -> None:
        self._chance = chance
        self._is_full = has_full_identity
        self.rows: Rows = dict.fromkeys(range(1, KEYS, 2), 0)
        self.log: list[tuple[int, list[Message]]] = []
        self._next_xid = FIRST_XID
        self._under_way: list[int] = []
        self._states: list[Rows] = [dict(self.rows)]
        self._seen = 0

    def step(self) -> None:
        """A transaction begins, or a running one commits."""
        if not self._under_way or self._chance.random() < 0.5:
            self._under_way.append(self._next_xid)
            self._next_xid += 1
            return
        xid = self._under_way.pop(self._chance.randrange(len(self._under_way)))
        messages = [self._changed() for _ in range(self._chance.randint(1, 4))]
        self.log.append((xid, messages))
        self._states.append(dict(self.rows))

    def _changed(self) -> Message:
        key = self._chance.randrange(KEYS)
        value = self._chance.randrange(1000)
        if key not in self.rows:
            self.rows[key] = value
            return Insert(OID, (str(key), str(value)))
        old = (str(key), str(self.rows[key])) if self._is_full else (str(key), None)
        kind = "O" if self._is_full else "K"
        to = self._chance.choice([None, key, self._chance.randrange(KEYS)])
        del self.rows[key]
        if to is None:
            return Delete(OID, kind, old)
        if to != key and to in self.rows:
            to = key
        self.rows[to] = value
        has_old = self._is_full or to != key
        return Update(OID, kind if has_old else "", old if has_old else None, (str(to), str(value)))

    def snapshot(self) -> tuple[str, Rows]:
        """Text and visible rows. The newest commit may be in the log and not visible yet."""
        is_late = len(self.log) > self._seen and self._chance.random() < 0.3
        seen = self._seen = len(self.log) - is_late
        under_way = self._under_way + [xid for xid, _ in self.log[seen:]]
        xmin = min(under_way, default=self._next_xid)
        return f"{xmin}:{self._next_xid}:{','.join(map(str, under_way))}", self._states[seen]


class Applied:
    """A table made of the changes."""

    def __init__(self) -> None:
        self.rows: Rows = {}

    def take(self, change: Change) -> None:
        before, after = change.before, change.after
        if change.operation in ("read", "insert"):
            assert after is not None
            assert after["id"] not in self.rows, f"{change} came twice"
        elif change.operation == "delete":
            assert before is not None
            del self.rows[before["id"]]
        else:
            assert after is not None
            del self.rows[(before or after)["id"]]
        if after is not None:
            self.rows[after["id"]] = after["value"]


def numbers_up_to(keys: Any, key: Any, until: Any) -> bool:
    return int(key[0]) <= int(until[0])


def read_in_parts(
    server: Server, state: SnapshotState, chance: random.Random, applied: Applied
) -> SnapshotState:
    """Sessions break at random; the next session resumes the saved position."""
    (table,) = state.tables
    while not table.is_over:
        text, rows = server.snapshot()
        after = -1 if table.after is None else int(table.after[0])
        for key in sorted(each for each in rows if each > after):
            applied.take(Change("read", "", "", after={"id": key, "value": rows[key]}))
            table.read_up_to((str(key),), text)
            for _ in range(chance.randint(0, 2)):
                server.step()
            if chance.random() < 0.2:
                break
        else:
            table.read_up_to(None, text)
        for _ in range(chance.randint(0, 4)):
            server.step()
        state = SnapshotState.restored(state.saved())
        (table,) = state.tables
    return state


def changes_of(server: Server, state: SnapshotState) -> Iterator[Change]:
    def remainder_of(relation: Relation, xid: int, message: Any) -> Remainder:
        return state.remainder(relation, xid, message, numbers_up_to)

    reader = ChangeReader(lambda oid, text: int(text), remainder_of)
    list(reader.take(RELATION))
    for at, (xid, messages) in enumerate(server.log):
        list(reader.take(Begin(at, datetime(2026, 1, 1, tzinfo=UTC), xid % (1 << 32))))
        for message in messages:
            for each in reader.take(message):
                assert isinstance(each, Change)
                yield each


@pytest.mark.parametrize("has_full_identity", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_rows_and_changes_one_after_the_other_are_the_table(
    seed: int, has_full_identity: bool
) -> None:
    chance = random.Random(seed)
    server, applied = Server(chance, has_full_identity), Applied()
    for _ in range(chance.randint(0, 10)):
        server.step()
    table = TableParts(OID, "public", "t", KEY)
    state = read_in_parts(server, SnapshotState([table], True), chance, applied)
    for _ in range(TRANSACTIONS):
        server.step()
    for change in changes_of(server, state):
        applied.take(change)
    assert applied.rows == server.rows


def test_a_table_that_was_emptied_between_two_parts_is_refused_and_else_told() -> None:
    table = TableParts(OID, "public", "t", KEY)
    table.read_up_to(("3",), "10:10:")
    table.read_up_to(None, "20:20:")
    state, emptied = SnapshotState([table], True), Truncate((OID,), False, False)
    remainders = [state.remainder(RELATION, xid, emptied, numbers_up_to) for xid in (9, 20)]
    assert remainders == [Remainder.NOTHING, Remainder.WHOLE]
    with pytest.raises(DecodingError, match=r"public.t was emptied \(TRUNCATE\) between"):
        state.remainder(RELATION, 15, emptied, numbers_up_to)


def test_a_change_without_the_key_is_refused() -> None:
    table = TableParts(OID, "public", "t", (KeyColumn("number", "bigint"),))
    table.read_up_to(("3",), "10:10:")
    table.read_up_to(None, "20:20:")
    with pytest.raises(DecodingError, match=r"a change of public\.t is without number"):
        SnapshotState([table], True).remainder(RELATION, 15, Insert(OID, ("1", "2")), numbers_up_to)


def test_what_is_behind_the_newest_snapshot_needs_no_parts() -> None:
    table = TableParts(OID, "public", "t", KEY)
    state = SnapshotState([table], True, 0, 100)
    state.forget(100)
    assert state.tables
    table.read_up_to(None, "10:10:")
    state.forget(99)
    assert state.tables
    state.forget(100)
    assert not state.tables
    assert state.is_over


def test_a_snapshot_has_what_was_not_under_way() -> None:
    visible = Visible.of("4294967290:4294967300:4294967295,4294967298")
    assert [visible.has(each % 2**32) for each in range(4294967294, 4294967302)] == [
        *(True, False, True, True, False, True),
        *(False, False),
    ]


def test_statements_name_what_they_read_as_sql_writes_it() -> None:
    keys = (KeyColumn("a%", "bigint"), KeyColumn('b"', "text", '"C"'))
    selection = Selection("t", ("v",), keys, condition="v % 2 = 0")
    text, values = rows_from(selection, ("1", "x"), KeysetShare(1, 3))
    assert text.startswith('SELECT "v", "a%%", "b""" FROM t AS heronpy_rows WHERE (v %% 2 = 0)')
    assert '(("a%%", "b""") >= (%s::bigint, %s::text))' in text
    assert text.endswith('ORDER BY "a%%", "b"""')
    assert values == ["1", "x", 3, 3, 3, 1]
    assert text.count("%s") == len(values)
    assert is_up_to(keys, ("1", "x"), ("2", "y")) == (
        'SELECT (%s::bigint, %s::text COLLATE "C") <= (%s::bigint, %s::text COLLATE "C")',
        ["1", "x", "2", "y"],
    )
