"""Runner of a bolt's timers: timestamps of tuples, watermarks of sources, the clock."""

from collections.abc import Callable
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_api.topology_context import TopologyContext
from heron_api.windows.clocked_bolt import ClockRunner
from heron_api.windows.event_time import MILLISECONDS, EventClock, EventTimeSettings
from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.errors import ComponentError
from heron_core.state.timer_service import OnTimer, TimerService

TICK_SECS = 0.1
"""A timer by processing time may be late by so much: an idle bolt wakes up for it each time."""


def timers_of(state: Any, component: str) -> TimerService:
    """The timers of a state; ComponentError for a state of a different engine."""
    if not isinstance(state, ComponentState):
        raise ComponentError(f"{component}: this engine has no timers: use the native engine")
    return state.timer_service()


class TimerRunner(ClockRunner):
    """The timers of a bolt's instance, and the instance's clock."""

    def __init__(
        self,
        timers: TimerService,
        clock: EventClock,
        settings: EventTimeSettings,
        by_event_time: bool,
        on_timer: OnTimer,
    ) -> None:
        """Without timestamps (`by_event_time`) the watermark is what sources say."""
        super().__init__(clock, settings, by_event_time)
        self._timers = timers
        self._on_timer = on_timer
        timers.goes_by(clock.now_ms)

    def process(self, tup: Any, process: Callable[[int | None], object]) -> None:
        """Process a tuple with its timestamp and advance time."""
        timestamp_ms = None
        if self._by_event_time:
            now_ms = self._clock.now_ms()
            timestamp_ms = self._clock.timestamp_of(tup, now_ms)
            self._clock.seen(tup, timestamp_ms, now_ms)
        process(timestamp_ms)
        if self._settings.interval_ms == 0:
            self.tick()

    def tick(self) -> None:
        """Time has passed."""
        if self._by_event_time:
            watermark_ms = self._clock.watermark_ms(self._clock.now_ms())
            self._timers.advance_watermark(watermark_ms, self._on_timer)
        self._timers.advance_time(self._on_timer)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Process a source's watermark; when all sources have finished, event-time timers are
        due."""
        self._clock.source_watermark(component, task, watermark_ms)
        self.tick()
        if self._clock.is_complete(retains_tracked=False):
            self.finish()

    def on_watermark(self, watermark_ms: int) -> None:
        """Process the combined watermark of all sources."""
        if not self._by_event_time and watermark_ms < END_OF_TIME:
            self._timers.advance_watermark(watermark_ms, self._on_timer)

    def advance_watermark(self, watermark_ms: int) -> None:
        """A watermark of a test."""
        self._clock.generator.raise_to(watermark_ms)
        self._timers.advance_watermark(watermark_ms, self._on_timer)

    def finish(self) -> None:
        """The end of the input."""
        self._timers.complete(self._on_timer)


def request_timer_ticks(context: Any, settings: EventTimeSettings) -> None:
    """Ticks for both kinds of timers."""
    if isinstance(context, TopologyContext):  # a test may have no context, or its own
        interval_secs = (settings.interval_ms or MILLISECONDS) / MILLISECONDS
        context.request_ticks(min(TICK_SECS, interval_secs))
