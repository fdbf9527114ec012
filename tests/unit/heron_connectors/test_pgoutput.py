"""pgoutput's messages, as a server of Postgres 15 has sent them, and bytes that are none."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_connectors.postgres.changes import (
    Change,
    ChangeReader,
    Done,
    SlotPosition,
    lsn_of,
    lsn_text,
)
from heron_connectors.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    DecodingError,
    Delete,
    Insert,
    Message,
    Relation,
    RelationColumn,
    ReplicationOrigin,
    Truncate,
    TypeName,
    Update,
    decoded,
)
from heron_connectors.postgres.values import Unrepresentable

BEGIN = b"B\x00\x00\x00\x00\x01PX\xe0\x00\x03\x04)\x92\xf7\x7f=\x00\x00\x02\xd6"
RELATION = (
    b"R\x00\x00@\x00public\x00t\x00d\x00\x02\x01id\x00\x00\x00\x00\x17\xff\xff\xff\xff"
    b"\x00v\x00\x00\x00\x00\x19\xff\xff\xff\xff"
)
INSERT = b"I\x00\x00@\x00N\x00\x02t\x00\x00\x00\x011t\x00\x00\x00\x01x"
COMMIT = b"C\x00\x00\x00\x00\x00\x01PX\xe0\x00\x00\x00\x00\x01PY\x10\x00\x03\x04)\x92\xf7\x7f="
OLD_KEY = b"K\x00\x02t\x00\x00\x00\x011n"
UPDATE = b"U\x00\x00@\x00" + OLD_KEY + b"N\x00\x02t\x00\x00\x00\x012u"
DELETE = b"D\x00\x00@\x00" + OLD_KEY
TRUNCATE = b"T\x00\x00\x00\x02\x01\x00\x00@\x00\x00\x00@\x07"
T = 16384


def test_each_message_says_what_the_server_has_sent() -> None:
    columns = (RelationColumn("id", True, 23, -1), RelationColumn("v", False, 25, -1))
    found = [decoded(each) for each in (BEGIN, RELATION, INSERT, COMMIT, UPDATE, DELETE, TRUNCATE)]
    moment = datetime(2026, 11, 26, 9, 45, 35, 995_709, tzinfo=UTC)
    assert found[0] == Begin(0x15058E0, moment, 726)
    assert found[1:] == [
        Relation(T, "public", "t", "d", columns),
        Insert(T, ("1", "x")),
        Commit(0x15058E0, 0x1505910),
        Update(T, "K", ("1", None), ("2", UNCHANGED)),
        Delete(T, "K", ("1", None)),
        Truncate((T, T + 7), True, False),
    ]
    assert decoded(b"Y\x00\x00@\x01\x00mood\x00") == TypeName(T + 1, "pg_catalog", "mood")
    assert decoded(b"O" + bytes(8) + b"east\x00") == ReplicationOrigin("east")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends after 0 bytes"),
        (BEGIN[:-1], "ends after 20 bytes"),
        (INSERT + b"x", "1 bytes more"),
        (b"Z", "unknown kind 'Z'"),
        (INSERT.replace(b"N", b"K"), "of the kind 'K'"),
        (INSERT.replace(b"x", b"\xff"), "not UTF-8"),
        (b"I\x00\x00@\x00N\x00\x01t\xff\xff\xff\xff", "ends after"),
        (b"I\x00\x00@\x00N\x00\x01b\x00\x00\x00\x00", "of the kind 'b'"),
        (b"T\xff\xff\xff\xff\x00", "TRUNCATE of 4294967295 tables"),
        (b"Y\x00\x00@\x01mood", "has no end"),
        (b"B" + bytes(8) + b"\x7f" + b"\xff" * 7 + bytes(4), "a time of a commit"),
    ],
)
def test_bytes_that_are_no_message_are_told(data: bytes, why: str) -> None:
    with pytest.raises(DecodingError, match=why):
        decoded(data)


def taken(reader: ChangeReader, data: bytes) -> None:
    try:
        list(reader.take(decoded(data)))
    except DecodingError:
        pass


@given(st.lists(st.one_of(st.binary(max_size=60), st.binary(max_size=40).map(b"I".__add__))))
def test_whatever_the_bytes_are_they_are_changes_or_an_error_with_a_name(data: list[bytes]) -> None:
    reader = ChangeReader(lambda oid, text: text)
    for each in data:
        taken(reader, each)


@given(st.data())
def test_a_message_that_was_damaged_is_another_one_or_an_error_with_a_name(data: Any) -> None:
    reader = ChangeReader(lambda oid, text: text)
    for each in (BEGIN, RELATION, INSERT, UPDATE, DELETE, TRUNCATE, COMMIT):
        at = data.draw(st.integers(0, len(each) - 1))
        taken(reader, each[:at] + data.draw(st.binary(max_size=3)) + each[at + 1 :])


def value(oid: int, text: str) -> Any:
    if text == "bad":
        raise Unrepresentable("bad is none")
    return int(text) if oid == 23 else text


def changes(*messages: Message) -> list[Change | Done]:
    reader = ChangeReader(value)
    return [each for message in messages for each in reader.take(message)]


def relation(*names: str, keys: int = 1) -> Relation:
    columns = [
        RelationColumn(name, at < keys, 23 if at < keys else 25, -1)
        for at, name in enumerate(names)
    ]
    return Relation(T, "public", "t", "d", tuple(columns))


BEGUN = Begin(100, datetime(2026, 1, 2, tzinfo=UTC), 7)


def test_changes_have_their_columns_and_are_counted_in_their_transaction() -> None:
    found = changes(
        BEGUN,
        relation("id", "v"),
        Insert(T, ("1", "a")),
        Update(T, "", None, ("1", UNCHANGED)),
        Update(T, "K", ("1", None), ("2", None)),
        Update(T, "O", ("2", "b"), ("3", UNCHANGED)),
        Delete(T, "K", ("3", None)),
        Truncate((T,), False, False),
        Commit(100, 110),
    )
    assert found.pop() == Done(SlotPosition(110))
    rows = [each for each in found if isinstance(each, Change)]
    assert [(each.operation, each.before, each.after, each.unchanged) for each in rows] == [
        ("insert", None, {"id": 1, "v": "a"}, []),
        ("update", None, {"id": 1}, ["v"]),
        ("update", {"id": 1}, {"id": 2, "v": None}, []),
        ("update", {"id": 2, "v": "b"}, {"id": 3, "v": "b"}, []),
        ("delete", {"id": 3}, None, []),
        ("truncate", None, None, []),
    ]
    assert [(each.commit_lsn, each.index, each.xid) for each in rows] == [
        (100, index, 7) for index in range(6)
    ]


def test_a_column_that_is_added_in_the_middle_is_there_from_then_on() -> None:
    found = changes(
        BEGUN,
        relation("id"),
        Insert(T, ("1",)),
        relation("id", "new"),
        Insert(T, ("2", "x")),
    )
    assert [each.after for each in found if isinstance(each, Change)] == [
        {"id": 1},
        {"id": 2, "new": "x"},
    ]


def test_a_value_that_python_does_not_have_is_named_and_kept_as_its_text() -> None:
    (found,) = changes(BEGUN, relation("id", "v"), Insert(T, ("1", "bad")))
    assert isinstance(found, Change)
    assert (found.problem, found.after) == ("v: bad is none", {"id": 1, "v": "bad"})


@pytest.mark.parametrize(
    "messages",
    [
        (BEGUN, Insert(T, ("1",))),
        (relation("id"), Insert(T, ("1",))),
        (BEGUN, relation("id"), Insert(T, ("1", "2"))),
        (BEGUN, Truncate((T,), False, False)),
    ],
    ids=["no table", "no transaction", "too many values", "no table to empty"],
)
def test_messages_that_do_not_follow_on_each_other_are_told(messages: tuple[Message, ...]) -> None:
    with pytest.raises(DecodingError):
        changes(*messages)


def test_what_is_done_is_known_by_the_place_in_the_log() -> None:
    position = SlotPosition(100, 150, 2)
    assert position.has(90, 5)
    assert position.has(120, 0)
    assert position.has(150, 1)
    assert not position.has(150, 2)
    assert not position.has(160, 0)
    # The end of an earlier transaction, read again, does not forget where it is in a later one.
    assert not position.behind(130).has(150, 2)
    assert position.behind(130).has(150, 1)
    assert position.behind(90) == position


@given(st.integers(0, 2**64 - 1))
def test_an_lsn_is_a_number_and_its_text(lsn: int) -> None:
    assert lsn_of(lsn_text(lsn)) == lsn
