"""Which windows a timestamp belongs to.

A sliding window of 60 s every 10 s would have each event in six windows. Instead the time line is
cut wherever a window begins or ends; each event is added to the one *slice* it falls into, and the
result of a window is merged from its slices (Krishnamurthy's paired windows):

    length 5, slide 3     |--a--|--b-|--a--|--b-|--a--|       a = 5 mod 3, b = 3 - a
    windows               [-------------)                     at most two slices for each slide
                                [-------------)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK, TimeWindow
from heron_core.errors import TopologyError

OVERLAPS_MAX = 100_000
"""Windows that hold one event. A day every second is 86,400; more is a slide in the wrong unit."""


class Assigner(Protocol):
    """Windows are made of cells, each of which has an accumulator: slices, or whole windows."""

    @property
    def merges(self) -> bool:
        """Whether overlapping windows are merged (sessions)."""

    @property
    def is_sliced(self) -> bool:
        """Whether a cell belongs to several windows."""

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """All windows of the timestamp, the earliest first."""

    def cell(self, timestamp_ms: int) -> TimeWindow:
        """The slice of the timestamp, if the assigner is sliced."""

    def last_end_ms(self, cell: TimeWindow) -> int:
        """The end of the last window that the cell is part of."""


class _WholeWindows:
    """Windows that are their own slices."""

    merges = False
    is_sliced = False

    def cell(self, timestamp_ms: int) -> TimeWindow:
        """The only window."""
        return self.windows(timestamp_ms)[0]

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """The windows of the timestamp."""
        raise NotImplementedError

    def last_end_ms(self, cell: TimeWindow) -> int:
        """The end of the cell, which is a whole window."""
        return cell.end_ms


@dataclass(frozen=True, slots=True)
class Tumbling(_WholeWindows):
    """Tumbling windows of one length; `offset_ms` shifts all windows."""

    length_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        checked_ms("the length of a window", self.length_ms)

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """The only window."""
        start = timestamp_ms - (timestamp_ms - self.offset_ms) % self.length_ms
        return (TimeWindow(start, start + self.length_ms),)


@dataclass(frozen=True, slots=True)
class Sliding:
    """Sliding windows of one length, started every `slide_ms`."""

    length_ms: int
    slide_ms: int
    offset_ms: int = 0
    shares_slices: bool = True
    """False: each window has its own accumulator, so that content of an emitted window can be
    dropped while a later window still needs the events (a discarding trigger)."""

    def __post_init__(self) -> None:
        checked_ms("the length of a window", self.length_ms)
        checked_ms("the slide of a window", self.slide_ms)
        if self.slide_ms > self.length_ms:
            raise TopologyError(
                f"a slide of {self.slide_ms} ms is longer than its window of {self.length_ms} ms:"
                " the events between two windows would be in none"
            )
        if self.length_ms // self.slide_ms > OVERLAPS_MAX:
            raise TopologyError(
                f"a window of {self.length_ms} ms every {self.slide_ms} ms has each event in more"
                f" than {OVERLAPS_MAX} windows: both are milliseconds"
            )

    @property
    def merges(self) -> bool:
        """No."""
        return False

    @property
    def is_sliced(self) -> bool:
        """Unless each window is to have its own accumulator."""
        return self.shares_slices

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """As many as slides fit into the length, or one more."""
        last = self._last_start(timestamp_ms)
        first = last - (self.length_ms - 1 - (timestamp_ms - last)) // self.slide_ms * self.slide_ms
        starts = range(first, last + 1, self.slide_ms)
        return [TimeWindow(start, start + self.length_ms) for start in starts]

    def cell(self, timestamp_ms: int) -> TimeWindow:
        """The slice of the timestamp."""
        start = self._last_start(timestamp_ms)
        cut = start + self.length_ms % self.slide_ms
        if timestamp_ms < cut:
            return TimeWindow(start, cut)
        return TimeWindow(cut, start + self.slide_ms)

    def last_end_ms(self, cell: TimeWindow) -> int:
        """Of the window that begins last before the slice."""
        if not self.shares_slices:
            return cell.end_ms
        return self._last_start(cell.start_ms) + self.length_ms

    def _last_start(self, timestamp_ms: int) -> int:
        return timestamp_ms - (timestamp_ms - self.offset_ms) % self.slide_ms


@dataclass(frozen=True, slots=True)
class Session(_WholeWindows):
    """Events with less than `gap_ms` between them; the gap is part of the window."""

    gap_ms: int

    def __post_init__(self) -> None:
        checked_ms("the gap of a session", self.gap_ms)

    @property
    def merges(self) -> bool:  # type: ignore[override]
        """Yes."""
        return True

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """The session of a single event, before merges."""
        return (TimeWindow(timestamp_ms, timestamp_ms + self.gap_ms),)


@dataclass(frozen=True, slots=True)
class Global(_WholeWindows):
    """One window without end: complete at the end of the input, shown before by a trigger.

    Example:

        class Totals(KeyedWindowBolt):
            window = Global()
    """

    def windows(self, timestamp_ms: int) -> Sequence[TimeWindow]:
        """The one global window."""
        return (EVERYTHING,)


EVERYTHING = TimeWindow(NO_WATERMARK, END_OF_TIME)


def checked_ms(what: str, value: object, least: int = 1) -> int:
    """`value` if it is a whole number of milliseconds, TopologyError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise TopologyError(
            f"{what} must be a whole number of milliseconds, at least {least}, not {value!r}"
        )
    return value


_kinds: tuple[type[Assigner], ...] = (Tumbling, Sliding, Session, Global)
