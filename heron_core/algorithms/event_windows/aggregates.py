"""What is kept of the events of a window: a sum, say, or all of them."""

from collections.abc import Callable
from typing import Any, Protocol


class Aggregate(Protocol):
    """How the events of a window become its result, one by one.

    `add` and `merge` may change their first argument and return it; `merge` leaves the second one
    as it is. The order of merging is that of time, of adding that of arrival.
    """

    def create(self) -> Any:
        """The accumulator of no event."""

    def add(self, accumulator: Any, value: Any) -> Any:
        """The accumulator with one event more."""

    def merge(self, left: Any, right: Any) -> Any:
        """The accumulator of both."""

    def result(self, accumulator: Any) -> Any:
        """What the window shows; the accumulator goes on as it is."""


class AggregateBase:
    """Defaults for accumulators that are plain data; a checkpoint holds what `pack` makes."""

    def result(self, accumulator: Any) -> Any:
        """The accumulator."""
        return accumulator

    def pack(self, accumulator: Any) -> Any:
        """The accumulator as plain data: numbers, strings, bytes, lists and dicts."""
        return accumulator

    def unpack(self, packed: Any) -> Any:
        """An accumulator from what `pack` made."""
        return packed


class Count(AggregateBase):
    """How many events."""

    def create(self) -> int:
        """None."""
        return 0

    def add(self, accumulator: int, value: Any) -> int:
        """One more."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """Both."""
        return left + right


class Reduce(AggregateBase):
    """A function of two values, from the first one on; it should not mind their order."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def create(self) -> list[Any]:
        """A list that has the value as soon as there is one."""
        return []

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        """The function of what there is and `value`."""
        return [self.function(accumulator[0], value)] if accumulator else [value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """The function of both, or the one that is there."""
        return self.add(left, right[0]) if right else left

    def result(self, accumulator: list[Any]) -> Any:
        """The value; a window that is shown has one."""
        return accumulator[0]


class WholeWindow(AggregateBase):
    """All events, which are lists that begin with their timestamp and a number that grows.

    The result has them in order of their timestamps, equal ones in order of their numbers: what the
    network did to their order is not seen.
    """

    def create(self) -> list[Any]:
        """None."""
        return []

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        """Append it."""
        accumulator.append(value)
        return accumulator

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """All of both."""
        left.extend(right)
        return left

    def result(self, accumulator: list[Any]) -> list[Any]:
        """Those in order."""
        return sorted(accumulator, key=_time_and_number)


def _time_and_number(event: Any) -> tuple[int, int]:
    return event[0], event[1]
