"""What is kept of the events of a window: a sum, say, or all of them."""

from collections.abc import Callable
from typing import Any, Protocol


class Aggregate(Protocol):
    """Incremental aggregation of a window's events.

    `add` and `merge` may change and return their first argument; `merge` leaves the second
    argument unchanged. Merges are in order of time, adds in order of arrival.
    """

    def create(self) -> Any:
        """The accumulator of no event."""

    def add(self, accumulator: Any, value: Any, /) -> Any:
        """The accumulator with one event more."""

    def merge(self, left: Any, right: Any, /) -> Any:
        """The accumulator of both."""

    def result(self, accumulator: Any, /) -> Any:
        """The result of the window; the accumulator stays valid."""


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
        """Zero."""
        return 0

    def add(self, accumulator: int, value: Any) -> int:
        """Increment."""
        return accumulator + 1

    def merge(self, left: int, right: int) -> int:
        """Both."""
        return left + right


class Reduce(AggregateBase):
    """A function of two values, from the first one on; it should not mind their order."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def create(self) -> list[Any]:
        """A list with the value, once present."""
        return []

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        """The function of the accumulator and `value`."""
        return [self.function(accumulator[0], value)] if accumulator else [value]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """The function of both, or the only present value."""
        return self.add(left, right[0]) if right else left

    def result(self, accumulator: list[Any]) -> Any:
        """The value; an emitted window always has a value."""
        return accumulator[0]


class WholeWindow(AggregateBase):
    """All events, as lists that start with a timestamp and an increasing number.

    The result is sorted by timestamp, then number: the order of arrival has no influence.
    """

    def create(self) -> list[Any]:
        """An empty list."""
        return []

    def add(self, accumulator: list[Any], value: Any) -> list[Any]:
        """Append the event."""
        accumulator.append(value)
        return accumulator

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        """All of both."""
        left.extend(right)
        return left

    def result(self, accumulator: list[Any]) -> list[Any]:
        """The sorted events."""
        return sorted(accumulator, key=_time_and_number)


def _time_and_number(event: Any) -> tuple[int, int]:
    return event[0], event[1]
