"""Heron's query language, operator by operator."""

import pytest

from heron_tracker.envelope import BadRequest
from heron_tracker.heron_api.query import Fetched, Operator, Timeline, evaluate, parse

TWO = (Timeline("a", {60: 10.0, 120: 30.0}), Timeline("b", {60: 30.0, 120: 30.0, 180: 5.0}))
ONE = (Timeline("a", {60: 2.0, 120: 0.0}),)


def fetch(
    component: str, instance: str | None, metric: str, start: int, end: int
) -> list[Timeline]:
    """Two instances of x, one of y."""
    every = {"x": TWO, "y": ONE}[component]
    return [each for each in every if instance in (None, each.instance)]


def values(query: str, start: int = 60, end: int = 180) -> dict[str | None, dict[int, float]]:
    """instance -> its timeline."""
    return {each.instance: each.values for each in evaluate(parse(query), start, end, fetch)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("TS(x, a, m)", {"a": {60: 10, 120: 30}}),
        ("((TS(y,*,m)))", {"a": {60: 2, 120: 0}}),
        ("DEFAULT(7, TS(y,*,m))", {"a": {60: 2, 120: 0, 180: 7}}),
        ("SUM(TS(x,*,m))", {None: {60: 40, 120: 60, 180: 5}}),
        ("SUM(1, TS(x,*,m))", {None: {60: 41, 120: 61, 180: 6}}),
        ("MAX(TS(x,*,m), 20)", {None: {60: 30, 120: 30, 180: 20}}),
        ("PERCENTILE(0, TS(x,*,m))", {None: {60: 10, 120: 30, 180: 5}}),
        ("DIVIDE(TS(x,*,m), 10)", {"a": {60: 1, 120: 3}, "b": {60: 3, 120: 3, 180: 0.5}}),
        ("DIVIDE(TS(x,*,m), TS(y,*,m))", {"a": {60: 5}}),
        ("MULTIPLY(2, TS(y,*,m))", {"a": {60: 4, 120: 0}}),
        ("SUBTRACT(TS(x,*,m), SUM(TS(y,*,m)))", {"a": {60: 8, 120: 30}, "b": {60: 28, 120: 30}}),
        ("RATE(TS(x,*,m))", {"a": {120: 20}, "b": {120: 0, 180: -25}}),
        ("SUM()", {None: {}}),
    ],
)  # fmt: skip
def test_operators(query: str, expected: dict[str | None, dict[int, float]]) -> None:
    assert values(query) == expected


def test_the_tree_of_a_query() -> None:
    assert parse("MAX(TS(count,*,__emit-count/default),1)") == Operator(
        "MAX", (Fetched("count", None, "__emit-count/default"), 1.0)
    )


@pytest.mark.parametrize(
    "query",
    [
        "", "7", "x", "TS", "TS(", "TS()", "TS(a,b)", "SUM(TS(a,*,m)", "SUM(TS(a,*,m)))", "NO(1)",
        "DEFAULT(1, 2)", "DEFAULT(TS(a,*,m), 1)", "DIVIDE(TS(a,*,m), 0)", "RATE(1)", "RATE()",
        "PERCENTILE(101, TS(a,*,m))", "PERCENTILE(TS(a,*,m), 1)", "DIVIDE(1)", "SUM(nan)",
        "SUM(1e999)", "(1,2)", "(" * 50 + "1" + ")" * 50, "SUM(" + "1," * 200 + "1)", "x" * 5000,
    ],
)  # fmt: skip
def test_a_query_that_makes_no_sense_is_refused_in_one_line(query: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse(query)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
