"""Aggregates of SQL over the rows of a window; NULL is left out, as SQL says."""

from collections.abc import Callable, Sequence
from typing import Any

from heron_core.algorithms.event_windows.aggregates import AggregateBase
from heronpy_compat.sql.errors import SqlError, shown_sql
from heronpy_compat.sql.expressions import Compiled


class SqlAggregate:
    """An aggregate; NULL is never added."""

    def create(self) -> Any:
        """The accumulator of an empty window; None by default."""
        return None

    def add(self, so_far: Any, value: Any) -> Any:
        """One value more."""
        return value if so_far is None else self.merge(so_far, value)

    def merge(self, left: Any, right: Any) -> Any:
        """Of two parts of a window."""
        raise NotImplementedError

    def result(self, so_far: Any) -> Any:
        """The value in the row of the window."""
        return so_far


class SqlCount(SqlAggregate):
    """Number of values."""

    def create(self) -> int:
        """Zero."""
        return 0

    def add(self, so_far: int, value: Any) -> int:
        """Count the value."""
        return so_far + 1

    def merge(self, left: int, right: int) -> int:
        """The sum."""
        return left + right


class SqlCountDistinct(SqlAggregate):
    """Number of different values; the accumulator is a dict with the values as keys."""

    def create(self) -> dict[Any, bool]:
        """No values."""
        return {}

    def add(self, so_far: dict[Any, bool], value: Any) -> dict[Any, bool]:
        """Keep the value."""
        so_far[value] = True
        return so_far

    def merge(self, left: dict[Any, bool], right: dict[Any, bool]) -> dict[Any, bool]:
        """The union."""
        return {**left, **right}

    def result(self, so_far: dict[Any, bool]) -> int:
        """The number."""
        return len(so_far)


class SqlSum(SqlAggregate):
    """The sum; NULL without values."""

    def merge(self, left: Any, right: Any) -> Any:
        """The sum of both."""
        return left + right


class SqlLeast(SqlAggregate):
    """The minimum; NULL without values."""

    def merge(self, left: Any, right: Any) -> Any:
        """The smaller value."""
        return min(left, right)


class SqlGreatest(SqlAggregate):
    """The maximum; NULL without values."""

    def merge(self, left: Any, right: Any) -> Any:
        """The larger value."""
        return max(left, right)


class SqlMean(SqlAggregate):
    """The mean as a float; the accumulator is [sum, count]."""

    def add(self, so_far: Any, value: Any) -> list[Any]:
        """Add the value."""
        return [value, 1] if so_far is None else [so_far[0] + value, so_far[1] + 1]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """Both sums, both counts."""
        return [left[0] + right[0], left[1] + right[1]]

    def result(self, so_far: Any) -> float | None:
        """Sum by count."""
        return None if so_far is None else float(so_far[0] / so_far[1])


FUNCTIONS: dict[str, SqlAggregate] = {
    "Count": SqlCount(), "Sum": SqlSum(), "Avg": SqlMean(), "Min": SqlLeast(), "Max": SqlGreatest(),
}  # fmt: skip


class WindowAggregates(AggregateBase):
    """All aggregates of a query: an Aggregate of heronpy_compat.windows whose values are rows."""

    def __init__(self, parts: Sequence[tuple[SqlAggregate, Compiled]]) -> None:
        """`parts`: each function, and its argument of a row."""
        self._parts = tuple(parts)

    def create(self) -> list[Any]:
        """Accumulators of an empty window."""
        return [function.create() for function, _ in self._parts]

    def add(self, accumulators: list[Any], row: Any) -> list[Any]:
        """Add a row."""
        for index, (function, argument) in enumerate(self._parts):
            value = argument(row)
            if value is not None:
                accumulators[index] = function.add(accumulators[index], value)
        return accumulators

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """Accumulators of both windows."""
        for index, (function, _) in enumerate(self._parts):
            if left[index] is None:
                left[index] = right[index]
            elif right[index] is not None:
                left[index] = function.merge(left[index], right[index])
        return left

    def result(self, accumulators: list[Any]) -> list[Any]:
        """A value for each aggregate."""
        pairs = zip(self._parts, accumulators, strict=True)
        return [function.result(so_far) for (function, _), so_far in pairs]


def aggregate_of(node: Any, make: Callable[[Any], Compiled]) -> tuple[SqlAggregate, Compiled]:
    """The function of a node, and its argument."""
    name, argument = type(node).__name__, node.this
    if type(argument).__name__ == "Star":
        return FUNCTIONS[name], lambda row: 1
    if type(argument).__name__ == "Distinct":
        if name != "Count" or len(argument.expressions) != 1:
            raise SqlError(f"DISTINCT is supported in COUNT(DISTINCT x) alone: {shown_sql(node)}")
        return SqlCountDistinct(), make(argument.expressions[0])
    if node.expressions:
        raise SqlError(f"an aggregate takes one argument: {shown_sql(node)}")
    return FUNCTIONS[name], make(argument)
