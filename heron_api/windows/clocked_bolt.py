"""Common base of bolts with a time-driven runner: callbacks and time sources."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from heron_api.bolt.bolt import Bolt
from heron_api.tuple import ReadRow
from heron_api.windows.event_time import EventClock, EventTimeSettings, field_of
from heron_api.windows.saved_windows import FirstEnd, KeyOf
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.errors import ComponentError


class BoltCalls(Protocol):
    """Callbacks of a runner."""

    logger: Any

    def emit(self, tup: Any, stream: str = ..., anchors: Any = ...) -> Any:
        """Emit."""

    def ack(self, tup: Any) -> None:
        """Ack."""

    def fail(self, tup: Any) -> None:
        """Fail."""


class Runner:
    """Time-driven actions of a bolt; watermarks have no effect in processing time."""

    def tick(self) -> None:
        """Time has passed."""
        raise NotImplementedError

    def finish(self) -> None:
        """The end of the input."""
        raise NotImplementedError

    def clock_state(self) -> ClockState | None:
        """Current event time, or None in processing time; callable from any thread."""
        return None

    def advance_watermark(self, watermark_ms: int) -> None:
        """A watermark from elsewhere than the tuples: from a test, or with the data."""

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Process a source's watermark."""

    def on_watermark(self, watermark_ms: int) -> None:
        """Process the combined watermark of all sources."""

    def save(self, state: Any, key_of: KeyOf) -> None:
        """Write unsaved changes to the state, by `key_of` of keys or tuples; None: no key
        divides the state."""

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """Restore from the state written by `save`."""

    def remember_end(self, first_end: FirstEnd) -> None:
        """Record whether the sources have finished before."""

    def fail_retained(self) -> None:
        """Fail every retained tuple and discard their results."""


class ClockRunner(Runner):
    """A runner with an EventClock."""

    def __init__(self, clock: EventClock, settings: EventTimeSettings, by_event_time: bool) -> None:
        """`by_event_time`: tuples have timestamps."""
        self._clock = clock
        self._settings = settings
        self._by_event_time = by_event_time

    def remember_end(self, first_end: FirstEnd) -> None:
        """See Runner."""
        self._clock.first_end = first_end

    def clock_state(self) -> ClockState | None:
        """See Runner."""
        return self._clock.state() if self._by_event_time else None

    def advance_watermark(self, watermark_ms: int) -> None:
        """See Runner."""
        self._clock.generator.raise_to(watermark_ms)
        self.tick()


class ClockedBolt(Bolt[ReadRow]):
    """A bolt with a `time_runner`, set in `initialize`."""

    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    time_runner: Runner

    @classmethod
    def with_settings(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config, with the class's attributes as defaults."""
        return dict(config)

    def process_tick(self, tup: Any) -> None:
        """Time has passed."""
        self.time_runner.tick()

    def clock_state(self) -> ClockState | None:
        """Current event time (read by the engine, from any thread)."""
        return self.time_runner.clock_state()

    def advance_watermark(self, watermark_ms: int) -> None:
        """Set the lower bound of expected events, regardless of tuples (TopologyTester calls the
        method)."""
        self.time_runner.advance_watermark(watermark_ms)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        self.time_runner.source_watermark(component, task, watermark_ms)

    def on_watermark(self, watermark_ms: int) -> None:
        """All sources have sent a watermark; call super when overriding."""
        self.time_runner.on_watermark(watermark_ms)

    def on_finish(self) -> None:
        """End of a finite run: open windows are complete; call super when overriding."""
        self.time_runner.finish()


class TimedBolt(ClockedBolt[ReadRow]):
    """A bolt whose class declares the time of events."""

    timestamp_field: str | None = None
    lag_ms: int | None = None
    """Longest lag of an event behind the latest event: the watermark's distance."""
    watermarks: WatermarkStrategy | None = None
    """Alternative to `lag_ms`: BoundedDisorder, Monotonous, ByPartition, Given, or a user's own."""
    idle_ms: int | None = None
    """Silence after which a source does not delay the watermark."""
    settings: EventTimeSettings

    @classmethod
    def own_settings(cls) -> dict[str, Any]:
        """Config defaults from the class; None values are skipped."""
        return {
            keys.TIMESTAMP_FIELD: cls.timestamp_field,
            keys.TIMESTAMP_LAG_MS: cls.lag_ms,
            keys.WATERMARK_IDLE_MS: cls.idle_ms,
        }

    @classmethod
    def with_settings(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config, with the class's attributes as defaults."""
        own = {key: value for key, value in cls.own_settings().items() if value is not None}
        return own | dict(config)

    @classmethod
    def settings_of(cls, config: Mapping[str, Any]) -> EventTimeSettings:
        """Event-time settings of config and class; TopologyError naming the key."""
        return EventTimeSettings.of(cls.with_settings(config), keys.OF_TASKS, cls._has_own_time())

    @classmethod
    def _has_own_time(cls) -> bool:
        return cls.timestamp is not TimedBolt.timestamp

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start."""
        try:
            cls.settings_of(config)
        except ValueError as error:
            return str(error)
        return None

    def begin_clock(self, config: Mapping[str, Any], context: Any) -> tuple[EventClock, bool]:
        """The clock, and whether tuples have timestamps; ComponentError for a wrong config."""
        name = name_of(self, context)
        if problem := self.load_problem(config, True):
            raise ComponentError(f"bolt {name!r}: {problem}")
        settings = self.settings = self.settings_of(config)
        if settings.field is not None and not self._has_own_time():
            self.timestamp = field_of(name, settings.field)  # type: ignore[method-assign,assignment]
        clock = EventClock(
            name, settings, context, self.window_clock, self._timestamp, self.watermarks
        )
        return clock, settings.field is not None or self._has_own_time()

    def timestamp(self, tup: ReadRow) -> int:
        """Milliseconds since 1970 of an event; by default those in `timestamp_field`."""
        raise NotImplementedError

    def _timestamp(self, tup: Any) -> Any:
        return self.timestamp(tup)


def name_of(bolt: Any, context: Any) -> str:
    """The component's name; in a test without a context, the class's name."""
    return type(bolt).__name__ if context is None else str(context.get_component_id())
