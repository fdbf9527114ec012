"""Runners of windows of whole tuples, in processing time or event time."""

from collections.abc import Callable
from itertools import count
from typing import Any

from heron_api.windows.clocked_bolt import BoltCalls
from heron_api.windows.event_time import MILLISECONDS, EventClock, EventTimeSettings
from heron_api.windows.saved_tuples import (
    restore_event_windows,
    restore_storm_windows,
    save_event_windows,
    save_storm_windows,
    tuples_to_show,
)
from heron_api.windows.saved_windows import FirstEnd, KeyOf
from heron_api.windows.storm_runner import StepRunner
from heron_api.windows.window_runner import AnchoredAggregate, WindowRunner
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import Assigner
from heron_core.algorithms.event_windows.heron import HeronWindows
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.storm import Activation
from heron_core.algorithms.event_windows.values import (
    END_OF_TIME,
    NO_WATERMARK,
    Firing,
    Result,
    TimeWindow,
)

ShowTuples = Callable[[TimeWindow, list[Any]], None]
"""show(window, tuples of the window)"""


class ArrivalRunner(StepRunner):
    """Windows in processing time of one bolt."""

    def __init__(
        self,
        bolt: BoltCalls,
        duration_ms: int,
        slide_ms: int,
        clock: Callable[[], float],
        show: ShowTuples,
    ) -> None:
        """`clock` gives seconds since 1970."""
        super().__init__(bolt, HeronWindows(duration_ms, slide_ms), self._show_step)
        self._duration_ms = duration_ms
        self._clock_secs = clock
        self._show_tuples = show
        self._first_end = FirstEnd(None)

    def retain(self, tup: Any) -> None:
        """Retain the tuple until its last window has ended."""
        self.run(self.windows.add(self._now_ms(), tup))

    def tick(self) -> None:
        """Emit the ended windows."""
        self.run(self.windows.advance(self._now_ms()))

    def on_watermark(self, watermark_ms: int) -> None:
        """All sources have finished: windows of retained tuples are complete. Replayed tuples go
        to windows by the clock: a watermark follows each replayed tuple, and must not split the
        windows."""
        if watermark_ms == END_OF_TIME and self._first_end.is_now():
            self.finish()

    def remember_end(self, first_end: FirstEnd) -> None:
        """See Runner."""
        self._first_end = first_end

    def finish(self) -> None:
        """Emit the windows of the retained tuples and release the tuples."""
        self.tick()
        self.run(self.windows.finish())

    def save(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        save_storm_windows(state, self.windows, NO_WATERMARK, key_of)

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        restore_storm_windows(state, self.windows, key_of)

    def _now_ms(self) -> int:
        return int(self._clock_secs() * MILLISECONDS)

    def _show_step(self, step: Activation) -> None:
        self._show_tuples(TimeWindow(step.end_ms - self._duration_ms, step.end_ms), step.items)


class EventTupleRunner(WindowRunner):
    """Windows by event time; an event is [timestamp, number, tuple]."""

    def __init__(
        self,
        bolt: BoltCalls,
        windows: Assigner,
        clock: EventClock,
        settings: EventTimeSettings,
        show: ShowTuples,
    ) -> None:
        operator = WindowOperator(
            windows, AnchoredAggregate(WholeWindow()), lateness_ms=settings.lateness_ms
        )
        super().__init__(bolt, operator, clock, settings, self._show_events)
        self._show_tuples = show
        self._numbers = count()

    def retain(self, tup: Any) -> None:
        """Add the tuple to its windows; a late tuple is abandoned."""
        self.process(tup, None, lambda time_ms: [time_ms, next(self._numbers), tup])

    def save(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        save_event_windows(state, self.operator, key_of)

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """See Runner."""
        restore_event_windows(state, self.operator, key_of)

    def _show_events(self, result: Result, anchors: list[Any]) -> None:
        events, _ = result.value
        if result.firing is Firing.ON_TIME:
            tuples = tuples_to_show(events, result.window.end_ms)
        else:
            tuples = [event[2] for event in events]
        if tuples:
            self._show_tuples(result.window, tuples)
