"""Window lengths and slides (org.apache.storm.trident.windowing.config). Pure.

A window ends after every `slide` tuples, or `slide` milliseconds after the previous end, and covers
the preceding length. Both are counted per partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from msgspec import Struct

from heronpy_compat.trident.errors import TridentError


class WindowPosition(Struct, frozen=True):
    """Position of a partition's windows after a batch. Tuples are numbered from 0."""

    first: int = 0
    """The oldest tuple needed by a window."""
    end: int = 0
    """The number of the next tuple."""
    fired: int = 0
    """Number of ended windows."""
    due_ms: int | None = None
    """End of the next window; None for count windows, and before the first batch."""


class EndedWindow(Struct, frozen=True):
    """An ended window: tuples from `begin` (inclusive) to `end` (exclusive)."""

    number: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Number of tuples."""
        return self.end - self.begin


class TridentWindows(Protocol):
    """Windows of one kind."""

    def behind(
        self, position: WindowPosition, times_ms: Sequence[int], added: int, now_ms: int
    ) -> tuple[WindowPosition, list[EndedWindow]]:
        """The windows that a batch ends. `times_ms`: when the kept tuples came, from
        `position.first` on; `added`: how many tuples the batch has."""


def _checked(what: str, length: int, slide: int) -> None:
    for value in (length, slide):
        if type(value) is not int or value < 1:
            raise TridentError(f"{what}: must be a positive whole number, not {value!r}")
    if slide > length:
        raise TridentError(f"{what}: the slide {slide} is longer than the window {length}")


@dataclass(frozen=True, slots=True)
class CountWindows:
    """The last `length` tuples, after every `slide` tuples."""

    length: int
    slide: int

    def __post_init__(self) -> None:
        _checked("windows of so many tuples", self.length, self.slide)

    def behind(
        self, position: WindowPosition, times_ms: Sequence[int], added: int, now_ms: int
    ) -> tuple[WindowPosition, list[EndedWindow]]:
        """See TridentWindows."""
        total = position.end + added
        next_end = position.end // self.slide * self.slide + self.slide
        ended = [
            EndedWindow(position.fired + number, max(0, end - self.length), end)
            for number, end in enumerate(range(next_end, total + 1, self.slide), 1)
        ]
        first = max(position.first, total - self.length)
        return WindowPosition(first, total, position.fired + len(ended)), ended


@dataclass(frozen=True, slots=True)
class DurationWindows:
    """The tuples of the last `length` milliseconds, every `slide` milliseconds; empty windows are
    skipped.

    A tuple that arrives in the millisecond of a window's end belongs to the next window. Storm
    drops such a tuple from both windows.
    """

    length: int
    slide: int

    def __post_init__(self) -> None:
        _checked("windows of so many milliseconds", self.length, self.slide)

    def behind(
        self, position: WindowPosition, times_ms: Sequence[int], added: int, now_ms: int
    ) -> tuple[WindowPosition, list[EndedWindow]]:
        """See TridentWindows. Windows ended by now exclude the current batch, whose tuples arrive
        now."""
        due = now_ms + self.slide if position.due_ms is None else position.due_ms
        kept = 0
        ended: list[EndedWindow] = []
        while due <= now_ms and kept < len(times_ms):
            while kept < len(times_ms) and due - times_ms[kept] > self.length:
                kept += 1
            if kept < len(times_ms):
                number = position.fired + len(ended) + 1
                ended.append(EndedWindow(number, position.first + kept, position.end))
            due += self.slide
        if due <= now_ms:
            due += ((now_ms - due) // self.slide + 1) * self.slide
        while kept < len(times_ms) and due - times_ms[kept] > self.length:
            kept += 1
        first, total = position.first + kept, position.end + added
        return WindowPosition(first, total, position.fired + len(ended), due), ended


def milliseconds_of(duration: Any) -> int:
    """Convert a timedelta or a Duration; TridentError for any other type."""
    if isinstance(duration, timedelta):
        return round(duration / timedelta(milliseconds=1))
    is_count = getattr(duration, "is_count", False)
    value = getattr(duration, "amount", getattr(duration, "value", None))
    if is_count or type(value) is not int:
        raise TridentError(f"a duration is a timedelta or Duration.seconds(…), not {duration!r}")
    return value


class SlidingCountWindow:
    """`of(length, slide)`: the last `length` tuples, behind every `slide` of them."""

    @staticmethod
    def of(length: int, slide: int) -> CountWindows:
        """See the class."""
        return CountWindows(length, slide)


class TumblingCountWindow:
    """`of(length)`: tumbling windows of `length` tuples.

    Example:

        windows = TumblingCountWindow.of(100)
    """

    @staticmethod
    def of(length: int) -> CountWindows:
        """See the class."""
        return CountWindows(length, length)


class SlidingDurationWindow:
    """`of(length, slide)`: the tuples of the last `length`, once in every `slide`.

    Example:

        windows = SlidingDurationWindow.of(timedelta(minutes=5), timedelta(minutes=1))
    """

    @staticmethod
    def of(length: Any, slide: Any) -> DurationWindows:
        """See the class."""
        return DurationWindows(milliseconds_of(length), milliseconds_of(slide))


class TumblingDurationWindow:
    """`of(length)`: tumbling windows of duration `length`.

    Example:

        windows = TumblingDurationWindow.of(timedelta(minutes=1))
    """

    @staticmethod
    def of(length: Any) -> DurationWindows:
        """See the class."""
        return DurationWindows(milliseconds_of(length), milliseconds_of(length))
