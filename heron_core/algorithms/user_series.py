"""Selection of user metrics exported as time series of Prometheus. Pure.

User code may register a key for each word it meets, and each is a series stored for weeks, so a
topology has a limit. Above the limit each metric keeps its first keys, in order of names, and
all metrics keep equally many if available: a metric with a thousand words does not displace a
single count. Omitted series are counted, by component and reason.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from heron_core.algorithms.user_metrics import RAISED
from heron_core.stats import ComponentStats

SERIES_MAX = 200
"""Limit of one topology."""
FLOAT_MAX = 1e300
"""Prometheus's numbers are floats; sums over series stay finite below it."""


class LeftOut(StrEnum):
    """Why a value of user code is not a series."""

    LIMIT = "limit"
    TEXT = "text"
    RAISED = "raised"
    NOT_FINITE = "not_finite"


class UserValue(Struct, frozen=True, kw_only=True):
    """One number of a metric of user code."""

    component: str
    name: str
    key: str
    """Empty for a metric of a single number."""
    value: float
    is_count: bool
    """Since the start, and never falls; else a level, or the count of tuples of which a restore
    takes some back."""


class UserSeries(Struct, frozen=True, kw_only=True):
    """Series of a topology."""

    values: tuple[UserValue, ...] = ()
    left_out: Mapping[tuple[str, LeftOut], int] = {}
    """(component, reason) -> how many values are not among them."""
    example: Mapping[tuple[str, LeftOut], str] = {}
    """(component, reason) -> metric with the most omitted values."""


def user_series(components: Mapping[str, ComponentStats]) -> UserSeries:
    """The series of these components, by name."""
    values = [value for name, stats in components.items() for value in _of_component(name, stats)]
    numbers = [value for value in values if isinstance(value, UserValue)]
    kept = _divided(numbers)
    missing = Counter(value for value in values if not isinstance(value, UserValue))
    keys = {(value.component, value.name, value.key) for value in kept}
    missing.update(
        (value.component, value.name, LeftOut.LIMIT)
        for value in numbers
        if (value.component, value.name, value.key) not in keys
    )
    left_out: Counter[tuple[str, LeftOut]] = Counter()
    example: dict[tuple[str, LeftOut], str] = {}
    for (component, name, reason), number in missing.most_common():
        left_out[component, reason] += number
        example.setdefault((component, reason), name)
    return UserSeries(values=tuple(kept), left_out=left_out, example=example)


def _divided(numbers: list[UserValue]) -> list[UserValue]:
    """As many as there may be: the first of each metric, then the second of each, and so on."""
    if len(numbers) <= SERIES_MAX:
        return numbers
    seen: Counter[tuple[str, str]] = Counter()
    ranked: list[tuple[int, int]] = []
    for at, each in enumerate(numbers):
        ranked.append((seen[each.component, each.name], at))
        seen[each.component, each.name] += 1
    return [numbers[at] for at in sorted(at for _, at in sorted(ranked)[:SERIES_MAX])]


Found = UserValue | tuple[str, str, LeftOut]
"""A number, or (component, metric, reason) for any other value."""


def _of_component(component: str, stats: ComponentStats) -> Iterator[Found]:
    for name in sorted(stats.user.keys() | stats.user_totals.keys()):
        counts = dict(_by_key(stats.user_totals.get(name)))
        levels = dict(_by_key(stats.user.get(name)))
        for key in sorted(counts.keys() | levels.keys()):
            is_total = key in counts
            value = counts[key] if is_total else levels[key]
            is_count = is_total and name not in stats.user_net
            if (reason := _trouble(value)) is not None:
                yield component, name, reason
            elif value is not None:
                yield UserValue(
                    component=component, name=name, key=key, value=float(value), is_count=is_count
                )


def _by_key(found: Any) -> Iterable[tuple[str, Any]]:
    """The values of a metric by key; the key of a single one is empty."""
    if isinstance(found, Mapping):
        return ((str(key), value) for key, value in found.items())
    return (("", found),) if found is not None else ()


def _trouble(value: Any) -> LeftOut | None:
    """Why it is not a series; None for a number, and for a mean without values."""
    if value is None:
        return None
    if not isinstance(value, int | float):
        return LeftOut.RAISED if str(value).startswith(RAISED) else LeftOut.TEXT
    return None if math.isfinite(value) and abs(value) < FLOAT_MAX else LeftOut.NOT_FINITE
