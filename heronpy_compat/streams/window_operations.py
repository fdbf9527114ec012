"""Operations on the elements of a window: functions from list to list."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.keygrouping import key_and_value
from heronpy_compat.streams.aggregators import StreamAggregator

Elements = list[Any]
WindowRun = Callable[[list[Elements]], Elements]
"""From the elements of each source to what a window emits."""


def only_source(parts: list[Elements]) -> Elements:
    """A window of one stream, unchanged."""
    return parts[0]


@dataclass(frozen=True, slots=True)
class Then:
    """An operation applied after previous operations."""

    before: WindowRun
    operation: Callable[[Elements], Elements]

    def __call__(self, parts: list[Elements]) -> Elements:
        return self.operation(self.before(parts))


@dataclass(frozen=True, slots=True)
class MapEach:
    """map"""

    function: Callable[[Any], Any]

    def __call__(self, elements: Elements) -> Elements:
        return [has_run("map", self.function(element)) for element in elements]


@dataclass(frozen=True, slots=True)
class FlatMapEach:
    """flatMap"""

    function: Callable[[Any], Any]

    def __call__(self, elements: Elements) -> Elements:
        results: Elements = []
        for element in elements:
            result = has_run("flat_map", self.function(element), may_yield=True)
            results.extend(result if isinstance(result, Iterable) else (result,))
        return results


@dataclass(frozen=True, slots=True)
class FilterEach:
    """filter"""

    function: Callable[[Any], Any]

    def __call__(self, elements: Elements) -> Elements:
        return [element for element in elements if has_run("filter", self.function(element))]


@dataclass(frozen=True, slots=True)
class AggregateAll:
    """aggregate, reduce, count: one result per non-empty window."""

    aggregator: StreamAggregator

    def __call__(self, elements: Elements) -> Elements:
        if not elements:
            return []
        aggregate = self.aggregator.init()
        for element in elements:
            aggregate = self.aggregator.apply(aggregate, element)
        return [self.aggregator.result(aggregate)]


@dataclass(frozen=True, slots=True)
class AggregateKeys:
    """aggregateByKey and the like: (key, result), in order of the keys' first appearance."""

    aggregator: StreamAggregator

    def __call__(self, elements: Elements) -> Elements:
        by_key: dict[Hashable, Any] = {}
        for element in elements:
            key, value = key_and_value(element, "an aggregate by key")
            before = by_key[key] if key in by_key else self.aggregator.init()
            by_key[key] = self.aggregator.apply(before, value)
        return [(key, self.aggregator.result(aggregate)) for key, aggregate in by_key.items()]


@dataclass(frozen=True, slots=True)
class JoinSides:
    """join and its outer forms: (key, joined) for each pair of values with equal keys."""

    left: WindowRun
    right: WindowRun
    left_sources: int
    joiner: Callable[[Any, Any], Any]
    keeps_left: bool
    keeps_right: bool

    def __call__(self, parts: list[Elements]) -> Elements:
        left, right = _sides(self.left, self.right, self.left_sources, parts)
        results: Elements = []
        for key in dict.fromkeys([*left, *right]):
            ours = left.get(key) or ([None] if self.keeps_right else [])
            theirs = right.get(key) or ([None] if self.keeps_left else [])
            results += [(key, self.joiner(one, other)) for one in ours for other in theirs]
        return results


@dataclass(frozen=True, slots=True)
class GroupSides:
    """coGroupByKey: (key, (values of the left, values of the right))."""

    left: WindowRun
    right: WindowRun
    left_sources: int

    def __call__(self, parts: list[Elements]) -> Elements:
        left, right = _sides(self.left, self.right, self.left_sources, parts)
        keys = dict.fromkeys([*left, *right])
        return [(key, (left.get(key, []), right.get(key, []))) for key in keys]


def _sides(
    left: WindowRun, right: WindowRun, left_sources: int, parts: list[Elements]
) -> tuple[dict[Hashable, Elements], dict[Hashable, Elements]]:
    return _by_key(left(parts[:left_sources])), _by_key(right(parts[left_sources:]))


def _by_key(elements: Elements) -> dict[Hashable, Elements]:
    values: dict[Hashable, Elements] = {}
    for element in elements:
        key, value = key_and_value(element, "a join")
        values.setdefault(key, []).append(value)
    return values
