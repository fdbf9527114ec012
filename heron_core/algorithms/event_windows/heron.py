"""Heron's windows in processing time, [start, end): aligned to slides since 1970, including
empty windows; a tuple expires with its last window."""

from typing import Any

from heron_core.algorithms.event_windows.storm import (
    Activation,
    Expired,
    Extent,
    Step,
    StormWindows,
)


class HeronWindows(StormWindows):
    """The tuples of one task. A tuple is stored with the millisecond after its arrival, so that
    Storm's windows (end - length, end] equal [start, end) of the arrival."""

    def __init__(self, length_ms: int, slide_ms: int) -> None:
        super().__init__(
            Extent(length_ms, False), Extent(slide_ms, False), False, length_ms % slide_ms
        )
        self._length_ms = length_ms
        self._began_ms: int | None = None
        """Of the first call; empty windows that have ended before are not shown."""

    def add(self, timestamp_ms: int, item: Any) -> list[Step]:
        """A tuple arrives."""
        self._begin(timestamp_ms)
        return super().add(timestamp_ms + 1, item)

    def advance(self, time_ms: int) -> list[Step]:
        """Advance processing time."""
        self._begin(time_ms)
        return super().advance(time_ms)

    def finish(self) -> list[Step]:
        """The windows of retained tuples."""
        steps: list[Step] = []
        self._end_last_slides(steps)
        return steps

    def _begin(self, now_ms: int) -> None:
        if self._began_ms is None:
            self._began_ms = now_ms

    def _next_slide_ms(self, now_ms: int | None) -> int | None:
        end_ms = super()._next_slide_ms(now_ms)
        if now_ms is not None and self._began_ms is not None:
            first_ms = self._aligned(self._began_ms + 1)
            end_ms = first_ms if end_ms is None else min(end_ms, first_ms)
        return None if end_ms is None else max(end_ms, self._aligned(self.latest_end_ms + 1))

    def _activate(self, end_ms: int, steps: list[Step], missing: int = 0, due: Any = None) -> bool:
        start_ms = end_ms - self._length_ms
        if not super()._activate(end_ms, steps) and end_ms > (self._began_ms or 0):
            self.latest_end_ms = max(self.latest_end_ms, end_ms)
            steps.append(Activation([], [], [], start_ms, end_ms))
        last_ms = start_ms + self._slide.amount
        gone = [each.item for each in self._queue if each.timestamp_ms <= last_ms]
        if gone:
            self._queue = [each for each in self._queue if each.timestamp_ms > last_ms]
            steps.append(Expired(gone))
        return True
