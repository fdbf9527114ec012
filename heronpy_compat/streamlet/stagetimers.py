"""Timers of stages, in event time or in processing time.

The end of the input makes event-time timers due, but no processing-time timers, and no timers
registered meanwhile. A stage with pending results therefore registers a further timer, at the last
point of event time, and emits all pending results when this timer is due.
"""

from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.state.timer_service import TimerService
from heronpy_compat.streamlet.keyedprocess import ProcessContext

END_OF_INPUT_MS = END_OF_TIME - 1


class StageTimers:
    """Timers of the current key, in event time or in processing time."""

    def __init__(self, timers: TimerService, by_event_time: bool) -> None:
        self._timers, self.by_event_time = timers, by_event_time

    def time_ms(self, context: ProcessContext) -> int:
        """When the element happened."""
        if context.timestamp_ms is not None and self.by_event_time:
            return context.timestamp_ms
        return self.now_ms()

    def now_ms(self) -> int:
        """The watermark, or the clock: no earlier element is expected."""
        if self.by_event_time:
            return self._timers.current_watermark()
        return self._timers.current_processing_time()

    def register(self, end_ms: int) -> None:
        """A timer for the exclusive end of an interval."""
        if self.by_event_time:
            self._timers.register_event_time_timer(end_ms - 1)
        else:
            self._timers.register_processing_time_timer(end_ms)

    def delete(self, end_ms: int) -> None:
        """The timer of `register`."""
        if self.by_event_time:
            self._timers.delete_event_time_timer(end_ms - 1)
        else:
            self._timers.delete_processing_time_timer(end_ms)

    def end_of(self, timestamp_ms: int) -> int:
        """The registered end, from a timer's timestamp."""
        return timestamp_ms + 1 if self.by_event_time else timestamp_ms

    def register_end_of_input(self) -> None:
        """At the end of the input."""
        self._timers.register_event_time_timer(END_OF_INPUT_MS)

    def delete_end_of_input(self) -> None:
        """Nothing is kept for a later time."""
        self._timers.delete_event_time_timer(END_OF_INPUT_MS)
