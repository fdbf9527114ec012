"""Running aggregates: the aggregate of a key's elements so far, without a window.

Each element produces one result, (key, value so far). The value is keyed state: the value survives
a restart of the process, and is exact in EFFECTIVELY_ONCE.
"""

from collections.abc import Callable, Iterator
from operator import add
from typing import Any

from heron_api.method_shapes import CheckedCall
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.keyedprocess import KeyedProcess, ProcessContext

Function = Callable[[Any], Any]


class RunningFold(KeyedProcess):
    """fold(so far, value) for each value of a key, from the first one on."""

    def __init__(self, fold: Callable[[Any, Any], Any], value_function: Function | None) -> None:
        self._fold, self._value_function = fold, value_function

    def open(self, context: ProcessContext) -> None:
        """The state is a list of one value, because the value may be None."""
        self._stored = context.value_state("so_far")

    def process_element(self, element: Any, context: ProcessContext) -> Iterator[Any]:
        """(key, value so far)."""
        value = element if self._value_function is None else self._value_function(element)
        stored = self._stored.get()
        so_far = value if stored is None else self._fold(stored[0], value)
        self._stored.put([so_far])
        yield context.key, so_far


def running_reduce(function: Any, value_function: Function | None) -> RunningFold:
    """By a function of the user's."""
    return RunningFold(CheckedCall("reduce", checked_function("reduce", function)), value_function)


def running_sum(value_function: Function | None) -> RunningFold:
    """Sum by `+`: numbers and any type with addition."""
    return RunningFold(add, value_function)


def running_count() -> RunningFold:
    """How many elements."""
    return RunningFold(add, one)


def one(element: Any) -> int:
    """The count added by an element."""
    return 1
