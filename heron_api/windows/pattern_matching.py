"""Patterns by key: events are put into order by event time, then matched. PatternBolt is an
extension of heronpy's API."""

from collections.abc import Iterator, Mapping
from typing import Any

from heron_api.method_shapes import refusal
from heron_api.state.keyed_state import list_state, value_state
from heron_api.tuple import ReadRow
from heron_api.windows.event_time import EventClock
from heron_api.windows.keyed_process_bolt import KeyedProcessBolt
from heron_api.windows.window_runner import drop_late
from heron_core.algorithms.patterns import Pattern
from heron_core.state.keys import shown_key
from heron_core.state.timer_service import Timer, TimerService


class OrderedMatching:
    """The events and runs of the current key, in its state."""

    def __init__(
        self, pattern: Pattern, waiting: Any, runs: Any, matched_ms: Any, timers: TimerService
    ) -> None:
        """`waiting`: a list state of [time, event]; `runs`: a value state; `matched_ms`: a value
        state, the time of the newest matched event."""
        self._pattern, self._waiting, self._runs, self._timers = pattern, waiting, runs, timers
        self._matched_ms = matched_ms

    def add(self, event: Any, timestamp_ms: int | None) -> list[list[Any]] | None:
        """The matches of an event without event time; with event time the event waits for the
        watermark. None for a late event."""
        if timestamp_ms is None:
            return list(self._advance(event, self._timers.current_processing_time()))
        # An instance that takes over keys of several has the lowest of their watermarks, which may
        # be below the last match of a key.
        if timestamp_ms < max(self._timers.current_watermark(), self._matched_ms.get() or 0):
            return None
        self._waiting.add([timestamp_ms, event])
        self._timers.register_event_time_timer(timestamp_ms)
        return []

    def due(self, timestamp_ms: int) -> Iterator[list[Any]]:
        """The matches of all events up to a time, now that no earlier event is expected."""
        waiting = list(self._waiting.get())
        due = [each for each in waiting if each[0] <= timestamp_ms]
        if not due:
            return
        self._waiting.update([each for each in waiting if each[0] > timestamp_ms])
        for time_ms, event in sorted(due, key=_time_of):  # stable: equal times as they arrived
            yield from self._advance(event, time_ms)
        self._matched_ms.put(max(time_ms for time_ms, _ in due))

    def _advance(self, event: Any, time_ms: int) -> list[list[Any]]:
        runs, matches = self._pattern.advanced(self._runs.get() or [], event, time_ms)
        if runs:
            self._runs.put(runs)
        else:
            self._runs.clear()
        return matches


def _time_of(waiting: list[Any]) -> int:
    return int(waiting[0])


class PatternBolt(KeyedProcessBolt[ReadRow]):
    """Emits the matches of a pattern, by key: [key, events].

        class Overheated(PatternBolt):
            outputs = ["machine", "events"]
            timestamp_field = "time_ms"
            lag_ms = 5_000
            pattern = sequence(is_hot, is_loud).within(60).not_(is_service)

            def event(self, tup):                     # what the functions get
                return {"kind": tup.kind, "value": tup.value}

    Read it with `Grouping.fields`. With event time, events are matched when the watermark has
    passed them; late events are logged and counted as dropped. Without, as they arrive.
    """

    pattern: Pattern
    waiting = list_state()
    runs = value_state()
    matched_ms = value_state()

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing pattern, or one without a time."""
        pattern = getattr(cls, "pattern", None)
        if not isinstance(pattern, Pattern):
            return f"class {cls.__name__} has no pattern, as in pattern = sequence(a, b).within(60)"
        if problem := pattern.problem():
            return f"class {cls.__name__}: {problem}"
        for function in (*pattern.steps, *pattern.excluded):
            if problem := refusal(f"a function of the pattern of class {cls.__name__}", function):
                return problem
        return super().load_problem(config, runs_here)

    def event(self, tup: Any) -> Any:
        """The event that the pattern's functions get, as plain data; by default the values."""
        return list(tup.values)

    def begin_clock(self, config: Mapping[str, Any], context: Any) -> tuple[EventClock, bool]:
        """See TimedBolt."""
        self._clock, by_event_time = super().begin_clock(config, context)
        return self._clock, by_event_time

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Open the matching; call super when overriding."""
        super().initialize(config, context)
        self._matching = OrderedMatching(
            self.pattern, self.waiting, self.runs, self.matched_ms, self.timers
        )

    def process_element(self, tup: Any, timestamp_ms: int | None) -> None:
        """Add an event."""
        matches = self._matching.add(self.event(tup), timestamp_ms)
        if matches is None:
            drop_late(self, self.settings, self._clock, tup, list(tup.values))
            return
        state: Any = self._timer_state
        for events in matches:
            self.emit([shown_key(state.named.current()), events], anchors=[tup])
        self.ack(tup)

    def on_timer(self, timestamp_ms: int, timer: Timer) -> None:
        """The watermark has passed some events."""
        for events in self._matching.due(timestamp_ms):
            self.emit([timer.key, events])
