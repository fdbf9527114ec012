"""KeyedProcessBolt: keyed state and timers (Flink's KeyedProcessFunction). heronpy has none."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.state.state import State
from heron_api.topology_context import TopologyContext
from heron_api.windows.event_time import EventClock, EventTimeSettings, field_of
from heron_api.windows.timer_runner import TimerRunner, request_timer_ticks, timers_of
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.errors import ComponentError
from heron_core.state.timer_service import Timer, TimerService

KEY_SHOWN = 100
"""Characters of a key in an error's note."""


class KeyedProcessBolt(Bolt):
    """Processes tuples by key, with state, and is called when time has come to a point.

        class Inactive(KeyedProcessBolt):
            outputs = ["user", "last_ms"]
            auto_ack = True
            timestamp_field = "time_ms"
            lag_ms = 5_000
            last = value_state()

            def process_element(self, tup, timestamp_ms):      # grouped by "user"
                self.last.put(timestamp_ms)
                self.timers.register_event_time_timer(timestamp_ms + 60_000)

            def on_timer(self, timestamp_ms, timer):           # for timer.key
                if self.last.get() == timestamp_ms - 60_000:
                    self.emit([timer.key, self.last.get()])

    Timers are part of the state. Read the bolt with `Grouping.fields`, as keyed states want it.
    Without a timestamp field (or a `timestamp(self, tup)`) the watermark is what spouts give by
    `emit_watermark`. What the config says of `topology.bolts…` wins over the class.
    """

    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    timestamp_field: str | None = None
    lag_ms: int | None = None
    """How far behind the latest event one may be: the watermark's distance."""
    watermarks: WatermarkStrategy | None = None
    """Instead of `lag_ms`: BoundedDisorder, Monotonous, ByPartition, Given, or one of your own."""
    idle_ms: int | None = None
    """A source that sends nothing for so long does not hold the watermark back."""
    timers: TimerService
    """There from `init_state` on."""
    runner: TimerRunner

    @classmethod
    def with_settings(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config with the class's attributes under it."""
        own = {
            keys.TIMESTAMP_FIELD: cls.timestamp_field,
            keys.TIMESTAMP_LAG_MS: cls.lag_ms,
            keys.WATERMARK_IDLE_MS: cls.idle_ms,
        }
        return {key: value for key, value in own.items() if value is not None} | dict(config)

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts: nothing to process with, a wrong value."""
        if cls.process_element is KeyedProcessBolt.process_element:
            return f"class {cls.__name__} must define process_element(self, tup, timestamp_ms)"
        try:
            EventTimeSettings.of(cls.with_settings(config), keys.OF_TASKS, cls._has_own_time())
        except ValueError as error:
            return str(error)
        return None

    @classmethod
    def _has_own_time(cls) -> bool:
        return cls.timestamp is not KeyedProcessBolt.timestamp

    def init_state(self, state: State) -> None:
        """Keep the timers that are in the state; call it if you override it."""
        self.timers = timers_of(state, type(self).__name__)

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the clock's settings, and ask for ticks; call it if you override it."""
        name = type(self).__name__ if context is None else str(context.get_component_id())
        if problem := self.load_problem(config, True):
            raise ComponentError(f"bolt {name!r}: {problem}")
        has_own_time = self._has_own_time()
        settings = EventTimeSettings.of(self.with_settings(config), keys.OF_TASKS, has_own_time)
        timestamp_of: Callable[[Any], Any] = self.timestamp
        if settings.field is not None and not has_own_time:
            timestamp_of = field_of(name, settings.field)
        clock = EventClock(
            name, settings, context, self.window_clock, timestamp_of, self.watermarks
        )
        by_event_time = settings.field is not None or has_own_time
        self.runner = TimerRunner(self.timers, clock, settings, by_event_time, self._due)
        request_timer_ticks(context, settings)

    def timestamp(self, tup: Any) -> int:
        """Milliseconds since 1970 of an event; by default those in `timestamp_field`."""
        raise NotImplementedError

    def process_element(self, tup: Any, timestamp_ms: int | None) -> Any:
        """Process one tuple, as `process` of other bolts; `timestamp_ms` None without event
        time."""
        raise NotImplementedError

    def on_timer(self, timestamp_ms: int, timer: Timer) -> Any:
        """A timer is due; `timer.key` is the current key, `timer.domain` says by which time."""

    def _due(self, timer: Timer) -> None:
        try:
            refuse_coroutine(self.on_timer, self.on_timer(timer.timestamp_ms, timer))
        except Exception as error:
            error.add_note(f"the timer of {timer.timestamp_ms} ms, key {timer.key!r:.{KEY_SHOWN}}")
            raise

    def _run_element(self, tup: Any, timestamp_ms: int | None) -> None:
        refuse_coroutine(self.process_element, self.process_element(tup, timestamp_ms))

    def process(self, tup: Any) -> None:
        """Process a tuple, then what is due."""
        self.runner.process(tup, partial(self._run_element, tup))

    def process_tick(self, tup: Any) -> None:
        """Time has passed."""
        self.runner.tick()

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        self.runner.source_watermark(component, task, watermark_ms)

    def on_watermark(self, watermark_ms: int) -> None:
        """All sources have sent one; call it if you override it."""
        self.runner.watermark(watermark_ms)

    def advance_watermark(self, watermark_ms: int) -> None:
        """No event below it is expected, whatever the tuples say (TopologyTester calls it)."""
        self.runner.advance_watermark(watermark_ms)

    def clock_state(self) -> ClockState | None:
        """How far it is in event time (the engine asks for it, from any thread)."""
        return self.runner.clock_state()

    def on_finish(self) -> None:
        """The end of a finite run: timers by event time are due; call it if you override it."""
        self.runner.finish()
