"""The oracle of windows: every window is a list of its events, and each call reads all events.

Without slices, timers and incremental aggregation: this file is the definition.
"""

from dataclasses import dataclass, field
from typing import Any

from heron_core.algorithms.event_windows.assigners import Assigner, Session
from heron_core.algorithms.event_windows.triggers import Trigger
from heron_core.algorithms.event_windows.values import (
    END_OF_TIME,
    NO_WATERMARK,
    Firing,
    Late,
    Result,
    TimeWindow,
)

Event = list[int]
"""Timestamp, number."""


@dataclass(slots=True)
class PlainWindow:
    """Of one key."""

    key: str
    window: TimeWindow
    events: list[Event]
    unseen: list[Event]
    firings: int = 0
    due_ms: int | None = None

    def shown(self, firing: Firing, trigger: Trigger) -> list[Result]:
        """The whole window, or only new events if the trigger discards."""
        events = self.unseen if trigger.discarding else self.events
        self.unseen, self.due_ms = [], None
        if not events:
            return []
        self.firings += 1
        return [Result(self.key, self.window, sorted(events), firing, self.firings)]


@dataclass(slots=True)
class PlainOperator:
    """Specification of WindowOperator with WholeWindow as its aggregate."""

    assigner: Assigner
    trigger: Trigger
    lateness_ms: int
    watermark_ms: int = NO_WATERMARK
    windows: list[PlainWindow] = field(default_factory=list)

    def is_past(self, window: TimeWindow) -> bool:
        """Whether its content is dropped."""
        return min(window.end_ms + self.lateness_ms, END_OF_TIME) <= self.watermark_ms

    def add(self, key: str, timestamp_ms: int, value: Event, now_ms: int) -> list[Any]:
        """An event."""
        spans = [each for each in self._spans(key, timestamp_ms) if not self.is_past(each)]
        if not spans:
            return [Late(key, timestamp_ms, value)]
        return [found for span in spans for found in self._into(key, span, value, now_ms)]

    def _spans(self, key: str, timestamp_ms: int) -> list[TimeWindow]:
        if not isinstance(self.assigner, Session):
            return list(self.assigner.windows(timestamp_ms))
        gap = self.assigner.gap_ms
        near = [
            event[0] for each in self.windows if each.key == key for event in each.events
            if any(abs(timestamp_ms - other[0]) < gap for other in each.events)
        ]  # fmt: skip
        return [TimeWindow(min([timestamp_ms, *near]), max([timestamp_ms, *near]) + gap)]

    def _into(self, key: str, span: TimeWindow, value: Event, now_ms: int) -> list[Any]:
        inside = [
            each for each in self.windows
            if each.key == key and (each.window == span or self._is_joined(each.window, span))
        ]  # fmt: skip
        dues = [each.due_ms for each in inside if each.due_ms is not None]
        joined = PlainWindow(
            key, span,
            [*(event for each in inside for event in each.events), value],
            [*(event for each in inside for event in each.unseen), value],
            max((each.firings for each in inside), default=0), min(dues, default=None),
        )  # fmt: skip
        self.windows = [each for each in self.windows if each not in inside]
        self.windows.append(joined)
        return self._counted(joined, now_ms)

    def _is_joined(self, window: TimeWindow, span: TimeWindow) -> bool:
        return self.assigner.merges and span.start_ms <= window.start_ms < span.end_ms

    def _counted(self, window: PlainWindow, now_ms: int) -> list[Any]:
        is_late = window.window.end_ms <= self.watermark_ms
        number, wait_ms = self.trigger.limits(is_late)
        if number is not None and len(window.unseen) >= number:
            return window.shown(Firing.LATE if is_late else Firing.EARLY, self.trigger)
        if wait_ms is not None and window.due_ms is None:
            window.due_ms = now_ms + wait_ms
        return []

    def advance_watermark(self, watermark_ms: int) -> list[Any]:
        """Windows are complete, and dropped."""
        before, self.watermark_ms = self.watermark_ms, max(self.watermark_ms, watermark_ms)
        found: list[Any] = []
        for each in self.windows:
            if before < each.window.end_ms <= self.watermark_ms:
                found += each.shown(Firing.ON_TIME, self.trigger)
            if self.is_past(each.window) and each.unseen:
                found += each.shown(Firing.LATE, self.trigger)
        self.windows = [each for each in self.windows if not self.is_past(each.window)]
        return found

    def advance_time(self, now_ms: int) -> list[Any]:
        """What is due is shown."""
        found: list[Any] = []
        for each in self.windows:
            if each.due_ms is not None and each.due_ms <= now_ms:
                late = each.window.end_ms <= self.watermark_ms
                found += each.shown(Firing.LATE if late else Firing.EARLY, self.trigger)
        return found
