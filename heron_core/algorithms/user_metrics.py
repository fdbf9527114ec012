"""Metrics of user code, aggregated from instances to components.

The value of a metric is the value of its last time bucket (heronpy: get_value_and_reset).
Integers are counts and are summed; floats are means or gauges and are averaged; for other types
the last value is used. In totals floats are summed as well, except for metric classes of users,
which may be means.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Values = Mapping[str, Any]

LATE_DROPPED = "numLateRecordsDropped"
"""The metric of windows by event time: late tuples that no stream got; Flink's name."""
RAISED = "get_value_and_reset raised"
"""Start of the value of an unreadable metric, followed by its exception."""
WHOLE_MAX = 1 << 62
"""Sums must fit into the 64 bits of a message."""


def are_user_metrics(value: Any) -> bool:
    """Whether it is name -> scalar, or name -> {key: scalar} for metrics of several keys."""
    return type(value) is dict and all(
        type(name) is str and (_is_scalar(each) or _are_scalars(each))
        for name, each in value.items()
    )


def _are_scalars(value: Any) -> bool:
    return type(value) is dict and all(
        type(key) is str and _is_scalar(each) for key, each in value.items()
    )


def _is_scalar(value: Any) -> bool:
    if type(value) is int:
        return -WHOLE_MAX < value < WHOLE_MAX
    return value is None or type(value) in (bool, float, str)


def added(total: Any, newest: Any, *, fractions: bool = False) -> Any:
    """A count plus the last time bucket; None for a value that is not a count. `fractions`:
    whether floats are counts."""
    if type(newest) is int or (fractions and type(newest) is float):
        return min((total if type(total) in (int, float) else 0) + newest, WHOLE_MAX - 1)
    if type(newest) is not dict:
        return total
    before = total if type(total) is dict else {}
    sums = {key: added(before.get(key), each, fractions=fractions) for key, each in newest.items()}
    return {**before, **{key: each for key, each in sums.items() if each is not None}} or None


def summed(totals: Iterable[Values]) -> dict[str, Any]:
    """The sums of several totals (`added`)."""
    sums: dict[str, Any] = {}
    for each in totals:
        for name, total in each.items():
            sums[name] = added(sums.get(name), total, fractions=True)
    return dict(sorted(sums.items()))


def rolled_up(instances: Iterable[Values]) -> dict[str, Any]:
    """One value for each metric of any instance."""
    found: dict[str, list[Any]] = {}
    for values in instances:
        for name, value in values.items():
            if value is not None:
                found.setdefault(name, []).append(value)
    return {name: _joined(values) for name, values in sorted(found.items())}


def _joined(values: list[Any]) -> Any:
    if all(type(each) is dict for each in values):
        return rolled_up(values)
    if all(type(each) is int for each in values):
        return min(sum(values), WHOLE_MAX)
    if all(type(each) in (int, float) for each in values):
        return sum(values) / len(values)
    return values[-1]
