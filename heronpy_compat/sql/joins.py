"""Conditions of JOINs: equal columns, and for two streams the interval of their times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from heronpy_compat.sql.errors import SqlError, shown_sql
from heronpy_compat.sql.expressions import Compiled, Row
from heronpy_compat.sql.queries import Joined, interval_ms
from heronpy_compat.sql.rows import SourceScope


@dataclass(frozen=True, slots=True)
class Times:
    """right time - left time is from `lower_ms` to `upper_ms`."""

    left: Any
    right: Any
    lower_ms: int
    upper_ms: int


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A JOIN whose right source is the newest of the scope."""

    left_keys: tuple[Compiled, ...]
    right_keys: tuple[Compiled, ...]
    """Functions of a row with the right source alone."""
    times: Times | None
    residual: tuple[Compiled, ...]


def is_interval(join: Joined) -> bool:
    """Whether ON has BETWEEN with times: the right side is a stream then."""
    return any(type(each).__name__ == "Between" and _has_interval(each) for each in join.conditions)


def plan_join(join: Joined, scope: SourceScope) -> JoinPlan:
    """The parts of ON; SqlError without equal columns."""
    right, right_scope = len(scope.sources) - 1, SourceScope(scope.sources[-1:])
    left_keys, right_keys, residual, times = [], [], [], None
    for condition in join.conditions:
        if (pair := _equal(condition, scope, right)) is not None:
            left_keys.append(scope.compiled(pair[0]))
            right_keys.append(right_scope.compiled(pair[1]))
        elif type(condition).__name__ == "Between" and _has_interval(condition):
            times = _times(condition, scope, right)
        else:
            residual.append(scope.compiled(condition))
    if not left_keys:
        raise SqlError(f"JOIN {join.source.name} needs a column equal to a column before it in ON")
    return JoinPlan(tuple(left_keys), tuple(right_keys), times, tuple(residual))


def _equal(node: Any, scope: SourceScope, right: int) -> tuple[Any, Any] | None:
    if type(node).__name__ != "EQ":
        return None
    one, other = scope.used(node.this), scope.used(node.expression)
    if right not in one and one and other == {right}:
        return node.this, node.expression
    if right not in other and other and one == {right}:
        return node.expression, node.this
    return None


def _has_interval(node: Any) -> bool:
    return any(type(each).__name__ == "Interval" for each in node.walk())


def _times(node: Any, scope: SourceScope, right: int) -> Times:
    low, high = _shifted(node.args["low"]), _shifted(node.args["high"])
    if low is None or high is None or low[0].sql() != high[0].sql():
        raise SqlError(
            f"{shown_sql(node)} is not an interval: use b.time BETWEEN a.time - INTERVAL 5 SECONDS "
            "AND a.time + INTERVAL 5 SECONDS"
        )
    if scope.used(node.this) == {right} and right not in scope.used(low[0]):
        return Times(low[0], node.this, low[1], high[1])
    if scope.used(low[0]) == {right} and right not in scope.used(node.this):
        return Times(node.this, low[0], -high[1], -low[1])
    raise SqlError(f"{shown_sql(node)} compares no times of the two streams")


def _shifted(node: Any) -> tuple[Any, int] | None:
    """(column, milliseconds) of a time, of time + INTERVAL and of time - INTERVAL."""
    name = type(node).__name__
    if name == "Column":
        return node, 0
    if name not in ("Add", "Sub") or type(node.this).__name__ != "Column":
        return None
    if type(node.expression).__name__ != "Interval":
        return None
    span_ms = interval_ms(node.expression)
    return node.this, span_ms if name == "Add" else -span_ms


def key_of_row(keys: Sequence[Compiled]) -> Compiled:
    """The key of a row as a tuple."""
    parts = tuple(keys)
    return lambda row: tuple([part(row) for part in parts])


def has_key(key: Compiled) -> Callable[[Row], bool]:
    """Whether a row can have a partner: NULL equals nothing."""
    return lambda row: None not in key(row)


def all_true(conditions: Sequence[Compiled]) -> Callable[[Row], bool]:
    """Whether each condition is TRUE of a row."""
    parts = tuple(conditions)
    return lambda row: all(part(row) is True for part in parts)


def joined_with_table(
    plan: JoinPlan, rows: Sequence[dict[str, Any]], columns: Sequence[str], is_left: bool
) -> Callable[[Row], list[Row]]:
    """A function that joins a row with those of a table."""
    left_key, right_key = key_of_row(plan.left_keys), key_of_row(plan.right_keys)
    is_match = all_true(plan.residual)
    partners: dict[Any, list[Row]] = {}
    for table_row in rows:
        key = right_key((table_row,))
        if None not in key:
            partners.setdefault(key, []).append((table_row,))
    missing = (dict.fromkeys(columns),)

    def joined(row: Row) -> list[Row]:
        pairs = (row + partner for partner in partners.get(left_key(row), ()))
        result = list(filter(is_match, pairs))
        return [row + missing] if is_left and not result else result

    return joined


def second(element: Any) -> Row:
    """The row of (key, row)."""
    return element[1]


def both(left: Row, right: Row) -> Row:
    """The row of a pair."""
    return left + right
