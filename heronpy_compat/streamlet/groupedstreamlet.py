"""Streamlets by key without windows: running values (Gearpump's group_by, Heron's countByKey).

heronpy has none.

builder.from_collection(lines).flat_map(str.split).map(lambda word: (word, 1)).group_by_key().sum()
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heronpy_compat.streamlet.impl.keygrouping import key_and_value
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.running import (
    RunningFold,
    running_count,
    running_reduce,
    running_sum,
)
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streamlet.timedstreamlet import KeyedStreamlet

Function = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class GroupedStreamlet:
    """A streamlet and the keys of its elements; equal keys meet in one partition.

    Each operation adds a stage, whose elements are (key, value so far), one for each element.
    """

    keyed: KeyedStreamlet
    value_function: Function | None = None
    """What is reduced and summed of an element; None: the element."""

    def reduce(self, reduce_function: Callable[[Any, Any], Any]) -> Streamlet:
        """reduce_function(so far, value), from a key's first value on."""
        return self._running("reduce", running_reduce(reduce_function, self.value_function))

    def sum(self, value_function: Function | None = None) -> Streamlet:
        """The sum of the values, or of the function's result for each value."""
        return self._running("sum", running_sum(self._value_of("sum", value_function)))

    def count(self) -> Streamlet:
        """How many elements."""
        return self._running("count", running_count())

    def _value_of(self, what: str, value_function: Function | None) -> Function | None:
        if value_function is None:
            return self.value_function
        function = checked_function(what, value_function)
        return function if self.value_function is None else _Composed(self.value_function, function)

    def _running(self, prefix: str, fold: RunningFold) -> Streamlet:
        return self.keyed.processed(fold, prefix)


@dataclass(frozen=True, slots=True)
class _Composed:
    first: Function
    second: Function

    def __call__(self, element: Any) -> Any:
        return self.second(self.first(element))


def first_of_pair(element: Any) -> Any:
    """The key of (key, value); ComponentError for anything else."""
    return key_and_value(element, "group_by_key")[0]


def second_of_pair(element: Any) -> Any:
    """The value of (key, value)."""
    return key_and_value(element, "group_by_key")[1]
