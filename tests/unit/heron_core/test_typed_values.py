"""Values as JSON: what is read back is what was written, type included."""

import json
import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import UsageError
from heron_core.typed_values import ShownObject, given_value, typed, typed_text, value_in

_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=9)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
_KEYS = st.integers() | st.text(max_size=4) | st.tuples(st.integers(), st.text(max_size=2))
_VALUES = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(_KEYS, inner, max_size=3)
        | st.frozensets(_KEYS, max_size=3)
        | st.sets(_KEYS, max_size=3)
    ),
    max_leaves=8,
)


@given(_VALUES)
def test_a_value_comes_back_with_its_type(value: Any) -> None:
    found = value_in(typed_text(value))
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("storm", '"storm"'),
        ((1, "a"), '{"$tuple":[1,"a"]}'),
        ({"b": [1, None]}, '{"b":[1,null]}'),
        ({1: 2}, '{"$map":[[1,2]]}'),
        ({"$set": 2}, '{"$map":[["$set",2]]}'),
        (b"\x00\xff", '{"$bytes":"AP8="}'),
        ("\ud800", '{"$text":"7aCA"}'),
        ({2, 1}, '{"$set":[1,2]}'),
        (math.inf, '{"$float":"inf"}'),
        (datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=1))),
         '{"$datetime":"2026-01-02T00:00:00+01:00"}'),
        (date(2026, 1, 2), '{"$date":"2026-01-02"}'),
        (time(3, 4), '{"$time":"03:04:00"}'),
        (Decimal("1.50"), '{"$decimal":"1.50"}'),
        (UUID(int=7), '{"$uuid":"00000000-0000-0000-0000-000000000007"}'),
    ],
)  # fmt: skip
def test_the_forms(value: Any, text: str) -> None:
    assert typed_text(value) == text
    assert value_in(text) == value


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_what_only_its_class_can_make_is_shown() -> None:
    shown = typed(math)
    assert shown["$object"] == "builtins.module"
    found = value_in(json.dumps(shown))
    assert found == ShownObject("builtins.module", shown["repr"])
    assert typed(found) == shown
    assert typed(Unshowable())["repr"] == "its repr raised RuntimeError"


def test_not_a_number_is_one_value() -> None:
    assert math.isnan(value_in(typed_text(math.nan)))


@pytest.mark.parametrize(
    ("text", "value"),
    [("storm", "storm"), ("7", 7), ('"7"', "7"), ('["a",7]', ["a", 7]), ("", ""), ("{", "{"),
     ('{"$tuple":[1]}', (1,))],
)  # fmt: skip
def test_what_is_no_json_is_text(text: str, value: Any) -> None:
    assert given_value(text) == value


@pytest.mark.parametrize("text", ['{"$nothing":1}', '{"$date":"x"}', '{"$decimal":"x"}',
                                  '{"$set":1}', '{"$date":"2026-01-01","b":1}'])  # fmt: skip
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        given_value(text)
