"""The watermark from the timestamps of several sources.

A source's own watermark is its highest timestamp minus the *lag*, the largest delay of an event.
The combined watermark is the slowest source's. A source without input for *idle* milliseconds of
processing time is left out until its next input, which may be late. The watermark exists only
after every non-idle source has sent input.

A source with END_OF_TIME has finished and is ignored until it sends again (a failed tuple,
replayed). When all have finished, `has_ended` is true: the watermark stays unchanged, so that a
replay is not late.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from heron_core.algorithms.clock_state import ClockState, clock_state
from heron_core.algorithms.event_windows.assigners import checked_ms
from heron_core.algorithms.event_windows.panes import hashable
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK


class WatermarkGenerator:
    """The watermark of all sources; it never falls."""

    def __init__(
        self, sources: Iterable[Hashable], lag_ms: int, idle_ms: int | None, now_ms: int
    ) -> None:
        """`idle_ms` None: a source is never left out."""
        self._lag_ms = checked_ms("the lag of a watermark", lag_ms, 0)
        self._idle_ms = idle_ms
        self._watermarks: dict[Hashable, int] = dict.fromkeys(sources, NO_WATERMARK)
        self._heard_ms = dict.fromkeys(self._watermarks, now_ms)
        self._last_heard_ms = now_ms
        self._finished: set[Hashable] = set()
        self.watermark_ms = NO_WATERMARK

    def seen(self, source: Hashable, timestamp_ms: int, now_ms: int) -> None:
        """An event of a source; an unknown source is added."""
        self._finished.discard(source)
        self.received(source, timestamp_ms - self._lag_ms, now_ms)

    def heard(self, source: Hashable, now_ms: int) -> None:
        """An event of a source, without a timestamp."""
        self._finished.discard(source)
        self.received(source, NO_WATERMARK, now_ms)
        self._watermarks.setdefault(source, NO_WATERMARK)

    def divide(self, source: Hashable, parts: Iterable[Hashable], now_ms: int) -> None:
        """A source turns out to be several: it is none itself any more."""
        self._watermarks.pop(source, None)
        self._finished.discard(source)
        for part in parts:
            self._heard_ms[part] = now_ms  # first: `statistics` may come from another thread
            self._watermarks.setdefault(part, NO_WATERMARK)

    def received(self, source: Hashable, watermark_ms: int, now_ms: int) -> None:
        """A watermark of the source itself, sent with its data."""
        self._heard_ms[source] = self._last_heard_ms = now_ms
        if watermark_ms == END_OF_TIME:
            self._finished.add(source)
            self._watermarks.setdefault(source, NO_WATERMARK)
            return
        if watermark_ms > self._watermarks.get(source, NO_WATERMARK):
            self._watermarks[source] = watermark_ms

    def advance(self, now_ms: int) -> int:
        """The current watermark: of the slowest non-idle source."""
        watermarks = [self._watermarks[source] for source in self._active(now_ms)]
        if watermarks:
            self.watermark_ms = max(self.watermark_ms, min(watermarks))
        return self.watermark_ms

    def forget(self) -> None:
        """Events come again: there is no watermark until every source has sent some."""
        self.watermark_ms = NO_WATERMARK
        for source in list(self._watermarks):
            self._watermarks[source] = NO_WATERMARK

    def raise_to(self, watermark_ms: int) -> None:
        """Set an external lower bound of events, regardless of the sources."""
        self.watermark_ms = max(self.watermark_ms, watermark_ms)

    def silent_ms(self, now_ms: int) -> int:
        """For how long no source has sent anything."""
        return now_ms - self._last_heard_ms

    def slowest(self, now_ms: int) -> Hashable | None:
        """The source that holds the watermark back; None if all are idle or have finished."""
        return min(self._active(now_ms), key=self._watermarks.__getitem__, default=None)

    def statistics(self, now_ms: int) -> ClockState:
        """Current watermark, and the delaying source; from any thread."""
        watermarks, heard = list(self._watermarks.items()), dict(self._heard_ms)
        left = [(own, source) for source, own in watermarks if source not in self._finished]
        idle = [source for _, source in left if self._is_idle(source, now_ms)]
        active = [each for each in left if each[1] not in idle]
        waits_for = min(active, key=_watermark_of)[1] if active else None
        return clock_state(
            END_OF_TIME if watermarks and not left else self.watermark_ms,
            waits_for,
            0.0 if waits_for is None else (now_ms - heard[waits_for]) / 1000,
            idle,
        )

    @property
    def has_ended(self) -> bool:
        """Whether every source has finished."""
        return bool(self._watermarks) and self._finished >= self._watermarks.keys()

    def _active(self, now_ms: int) -> list[Hashable]:
        return [each for each in self._unfinished() if not self._is_idle(each, now_ms)]

    def _unfinished(self) -> list[Hashable]:
        return [each for each in self._watermarks if each not in self._finished]

    def _is_idle(self, source: Hashable, now_ms: int) -> bool:
        return self._idle_ms is not None and now_ms - self._heard_ms[source] >= self._idle_ms

    def snapshot(self) -> dict[str, Any]:
        """State as plain data, without the times of the sources' last input."""
        return {"watermark_ms": self.watermark_ms, "marks": [*map(list, self._watermarks.items())]}

    def restore(self, snapshot: Mapping[str, Any], now_ms: int) -> None:
        """Continue from the state of a previous object; each source counts as heard just now."""
        self.watermark_ms = snapshot["watermark_ms"]
        for source, watermark_ms in snapshot["marks"]:
            self.received(hashable(source), watermark_ms, now_ms)


def _watermark_of(each: tuple[int, Hashable]) -> int:
    return each[0]
