"""Texts of Postgres are values of Python that are the same, or are refused with a reason."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_connectors.postgres.values import TypeInfo, Types, Unrepresentable

MOOD, MOODS, SMALL, SMALLS, PAIR, BOXES = range(20_000, 20_006)
FACTS = (
    TypeInfo(MOOD, "e", 0, 0),
    TypeInfo(MOODS, "b", MOOD, 0),
    TypeInfo(SMALL, "d", 0, 1700),
    TypeInfo(SMALLS, "b", SMALL, 0),
    TypeInfo(PAIR, "c", 0, 0),
    TypeInfo(BOXES, "b", 25, 0, ";"),
)


@pytest.fixture
def types() -> Types:
    found = Types()
    for each in FACTS:
        found.learn(each)
    return found


@pytest.mark.parametrize(
    ("oid", "text", "value"),
    [
        (16, "t", True),
        (17, "\\xff00", b"\xff\x00"),
        (20, "-9223372036854775808", -(2**63)),
        (701, "-Infinity", float("-inf")),
        (1700, "1.10", Decimal("1.10")),
        (1700, "Infinity", Decimal("Infinity")),
        (1043, "ab ", "ab "),
        (1082, "0001-01-01", date(1, 1, 1)),
        (1083, "23:59:59.999999", time(23, 59, 59, 999_999)),
        (1114, "2013-03-10 02:30:00.000001", datetime(2013, 3, 10, 2, 30, 0, 1)),
        (1184, "2013-03-10 07:30:00+00", datetime(2013, 3, 10, 7, 30, tzinfo=UTC)),
        (1186, "-1 days +00:00:00.000001", timedelta(days=-1, microseconds=1)),
        (1186, "-00:00:01.5", timedelta(seconds=-1.5)),
        (1186, "00:00:00", timedelta()),
        (2950, "00000000-0000-0000-0000-000000000007", UUID(int=7)),
        (3802, '{"a": [1, 1.5, null]}', {"a": [1, 1.5, None]}),
        (114, "0.12345678901234567890123", Decimal("0.12345678901234567890123")),
        (1007, "{1,NULL,3}", [1, None, 3]),
        (1007, "{{1,2},{3,4}}", [[1, 2], [3, 4]]),
        (1009, '{"a,b","c\\"d","NULL","",e f}', ["a,b", 'c"d', "NULL", "", "e f"]),
        (1009, "{}", []),
        (MOOD, "sad", "sad"),
        (MOODS, "{sad,NULL}", ["sad", None]),
        (SMALL, "1.50", Decimal("1.50")),
        (SMALLS, "{1.50}", [Decimal("1.50")]),
        (PAIR, "(1,a)", "(1,a)"),
        (BOXES, "{a,b;c}", ["a,b", "c"]),
    ],
)
def test_a_text_is_the_value(types: Types, oid: int, text: str, value: Any) -> None:
    found = types.value(oid, text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("oid", "text", "why"),
    [
        (1082, "infinity", "infinity is outside the range of Python's dates"),
        (1114, "-infinity", "-infinity is outside the range of Python's dates"),
        (1082, "0044-03-15 BC", "before the year 1"),
        (1184, "10000-01-01 00:00:00+00", "beyond the year 9999"),
        (1083, "24:00:00", "24:00:00 is outside the range of Python's times"),
        (1186, "1 mon 2 days", "months and years"),
        (1186, "178000000 years", "months and years"),
        (1186, "2147483647 days", "billion days"),
        (3802, '{"a": 1, "a": 2}', "duplicate key"),
        (1007, "[0:1]={1,2}", "start at its first element"),
        (1115, "{infinity}", "infinity is outside the range of Python's dates"),
        (MOOD + 50, "x", "not in the catalog"),
    ],
)
def test_what_python_does_not_have_is_refused(types: Types, oid: int, text: str, why: str) -> None:
    with pytest.raises(Unrepresentable, match=why):
        types.value(oid, text)


@given(
    st.sampled_from([16, 17, 23, 701, 1082, 1114, 1184, 1186, 1700, 2950, 3802, 1007, 1231]),
    st.text(max_size=12) | st.text(alphabet='{}[],"\\1eN:- .+', max_size=12),
)
def test_no_text_is_anything_but_a_value_or_refused(oid: int, text: str) -> None:
    try:
        Types().value(oid, text)
    except Unrepresentable:
        pass


def test_types_of_users_are_asked_for_with_what_they_are_made_of(types: Types) -> None:
    assert types.unknown({23, 1007, MOOD, 30_000}) == {30_000}
    types.learn(TypeInfo(30_000, "b", 30_001, 0))
    assert types.unknown({30_000}) == {30_001}
