"""Timers of stages that go by the time of their elements, or by that of processing.

By processing time no timer is called behind the end of the input. So what a stage keeps for a later
time has one more timer, by event time, which only the end of the input makes due. Several timers in
a chain need it by event time as well: at the end timers that are registered meanwhile are not due.
"""

from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.state.timer_service import TimerService
from heronpy_compat.streamlet.keyedprocess import ProcessContext

END_OF_INPUT_MS = END_OF_TIME - 1


class StageTimers:
    """The timers of the current key, in one of the two kinds of time."""

    def __init__(self, timers: TimerService, by_event_time: bool) -> None:
        self._timers, self.by_event_time = timers, by_event_time

    def time_ms(self, context: ProcessContext) -> int:
        """When the element happened."""
        if context.timestamp_ms is not None and self.by_event_time:
            return context.timestamp_ms
        return self.now_ms()

    def now_ms(self) -> int:
        """No element below it is expected: the watermark, or the clock."""
        if self.by_event_time:
            return self._timers.current_watermark()
        return self._timers.current_processing_time()

    def register(self, end_ms: int) -> None:
        """At the end of what ends there; an element of that very time is behind it."""
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
        """What was registered, of the timestamp that a timer has."""
        return timestamp_ms + 1 if self.by_event_time else timestamp_ms

    def register_end_of_input(self) -> None:
        """At the end of the input."""
        self._timers.register_event_time_timer(END_OF_INPUT_MS)

    def delete_end_of_input(self) -> None:
        """Nothing is kept for a later time."""
        self._timers.delete_event_time_timer(END_OF_INPUT_MS)
