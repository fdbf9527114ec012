"""Types of fields: what fits, what is no type, and what a tuple that does not fit is told."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from heron_core.field_types import FieldChecks, UnknownType, declared_types, fits_of

SOME_DAY = date(2026, 11, 23)
NOW = datetime(2026, 11, 23, 12)


@pytest.mark.parametrize(
    ("text", "fitting", "others"),
    [
        ("string", ["", "storm"], [b"storm", 1, ["storm"]]),
        ("boolean", [True], [1, "true"]),
        ("tinyint", [-128, 127], [128, -129, True, 1.0]),
        ("INT", [2**31 - 1], [2**31, "7"]),
        ("bigint", [0, -(2**63), 2**63 - 1], [2**63, 1.5, False]),
        ("double", [1, 1.5, float("nan")], ["1.5", True]),
        ("binary", [b"", bytearray(b"x")], ["x"]),
        ("date", [SOME_DAY], [NOW, "2026-11-23"]),
        ("timestamp", [NOW], [SOME_DAY, 0]),
        (
            "decimal(10, 2)",
            [
                Decimal("1.25"),
                3,
                Decimal("1.2500"),
                Decimal("-99999999.99"),
                Decimal("0E-9"),
                Decimal("1E+7"),
                99_999_999,
            ],
            [
                1.25,
                Decimal("1.255"),
                Decimal("NaN"),
                Decimal("-Infinity"),
                Decimal(100000000),
                Decimal("1E+8"),
                100_000_000,
                True,
            ],
        ),
        ("decimal", [Decimal("7.0"), 7], [Decimal("7.5"), 10**10]),
        ("string", ["zoë", "\U0001f600"], ["\ud83d", "a\udcff"]),
        ("array<string>", [["a", None]], [["\ud83d"]]),
        ("double", [2**60, 2**1000, float("inf")], [2**53 + 1, 10**300, 10**400]),
        ("float", [1e38, 0.1, float("inf"), float("nan"), 2**100], [1e39, 2**24 + 1, 10**400]),
        ("array<int>", [[], [1, None], (2,)], [["1"], "12", 1]),
        ("map<string, array<double>>", [{}, {"a": [1.0]}, {"a": None}], [{1: []}, {"a": 1}, []]),
        ("struct<a: int, b: string>", [{"a": 1}, (1, "x"), [None, None]], [{"c": 1}, (1,), "ab"]),
    ],
)
def test_values_that_fit_a_type_and_others(
    text: str, fitting: list[Any], others: list[Any]
) -> None:
    fits = fits_of(text)
    assert [each for each in fitting if not fits(each)] == []
    assert [each for each in others if fits(each)] == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is not a type; the types are"),
        ("text", "'text' is not a type; the types are"),
        ("array", "'<' is missing"),
        ("array<int", "'>' is missing"),
        ("int int", "'its end' is missing"),
        ("map<int>", "',' is missing"),
        ("int!", "'!' is not in any"),
        ("array<" * 30, "nested more than 20 deep"),
        ("decimal(39, 2)", "a precision of 1 to 38 digits"),
        ("decimal(2, 3)", "a precision of 1 to 38 digits"),
    ],
)
def test_what_is_no_type_is_named(text: str, complaint: str) -> None:
    with pytest.raises(UnknownType) as caught:
        fits_of(text)
    assert complaint in str(caught.value)


def test_the_first_value_that_does_not_fit_is_told() -> None:
    checks = FieldChecks("count", "default", ("word", "count"), ("string", "bigint"))
    checks.check(["storm", 1])
    checks.check([None, None])
    with pytest.raises(TypeError) as caught:
        checks.check(["storm", "x" * 100])
    assert str(caught.value) == (
        "count.default: field 'count' is declared as bigint, but got a str: '" + "x" * 59 + "…"
    )


def test_types_are_declared_as_texts() -> None:
    assert declared_types("words", {"word": "string", "n": " map<string,  int> "}) == (
        "string",
        "map<string, int>",
    )
    with pytest.raises(TypeError, match="words: the type of field 'n' must be a string, not 7"):
        declared_types("words", {"n": 7})
    with pytest.raises(TypeError, match="words: field 'n': 'nothing' is not a type"):
        declared_types("words", {"n": "nothing"})
