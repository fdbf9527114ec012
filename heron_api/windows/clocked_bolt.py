"""What bolts have in common whose runner knows the time: its calls, and where time comes from."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from heron_api.bolt.bolt import Bolt
from heron_api.windows.event_time import EventClock, EventTimeSettings, field_of
from heron_api.windows.saved_windows import FirstEnd, KeyOf
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.errors import ComponentError


class BoltCalls(Protocol):
    """What a runner calls of its bolt."""

    logger: Any

    def emit(self, tup: Any, stream: str = ..., anchors: Any = ...) -> Any:
        """Emit."""

    def ack(self, tup: Any) -> None:
        """Ack."""

    def fail(self, tup: Any) -> None:
        """Fail."""


class Runner:
    """What is done for a bolt as time goes on; watermarks change nothing by processing time."""

    def tick(self) -> None:
        """Time has passed."""
        raise NotImplementedError

    def finish(self) -> None:
        """The end of the input."""
        raise NotImplementedError

    def clock_state(self) -> ClockState | None:
        """How far it is in event time, if it goes by it; from any thread."""
        return None

    def advance_watermark(self, watermark_ms: int) -> None:
        """A watermark from elsewhere than the tuples: from a test, or with the data."""

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """What a source says of itself."""

    def on_watermark(self, watermark_ms: int) -> None:
        """What all sources together have said."""

    def save(self, state: Any, key_of: KeyOf) -> None:
        """Put into the state what is not in it yet, by `key_of` its keys or of its tuples; None: no
        key divides it."""

    def restore(self, state: Any, key_of: KeyOf) -> None:
        """Go on with what `save` has put there."""

    def remember_end(self, first_end: FirstEnd) -> None:
        """Whether its sources have finished before is known by this one."""

    def fail_retained(self) -> None:
        """Every tuple that is held fails; what was made of it is dropped."""


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


class ClockedBolt(Bolt):
    """A bolt with a `time_runner`, which its `initialize` sets."""

    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    time_runner: Runner

    @classmethod
    def with_settings(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config with what the class says under it."""
        return dict(config)

    def process_tick(self, tup: Any) -> None:
        """Time has passed."""
        self.time_runner.tick()

    def clock_state(self) -> ClockState | None:
        """How far it is in event time (the engine asks for it, from any thread)."""
        return self.time_runner.clock_state()

    def advance_watermark(self, watermark_ms: int) -> None:
        """No event below it is expected, whatever the tuples say (TopologyTester calls it)."""
        self.time_runner.advance_watermark(watermark_ms)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        self.time_runner.source_watermark(component, task, watermark_ms)

    def on_watermark(self, watermark_ms: int) -> None:
        """All sources have sent one; call it if you override it."""
        self.time_runner.on_watermark(watermark_ms)

    def on_finish(self) -> None:
        """The end of a finite run: what is open is complete; call it if you override it."""
        self.time_runner.finish()


class TimedBolt(ClockedBolt):
    """A bolt whose class says how it tells the time of its events."""

    timestamp_field: str | None = None
    lag_ms: int | None = None
    """How far behind the latest event one may be: the watermark's distance."""
    watermarks: WatermarkStrategy | None = None
    """Instead of `lag_ms`: BoundedDisorder, Monotonous, ByPartition, Given, or one of your own."""
    idle_ms: int | None = None
    """A source that sends nothing for so long does not hold the watermark back."""
    settings: EventTimeSettings

    @classmethod
    def own_settings(cls) -> dict[str, Any]:
        """What the class says of keys; None for nothing."""
        return {
            keys.TIMESTAMP_FIELD: cls.timestamp_field,
            keys.TIMESTAMP_LAG_MS: cls.lag_ms,
            keys.WATERMARK_IDLE_MS: cls.idle_ms,
        }

    @classmethod
    def with_settings(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The config with the class's attributes under it."""
        own = {key: value for key, value in cls.own_settings().items() if value is not None}
        return own | dict(config)

    @classmethod
    def settings_of(cls, config: Mapping[str, Any]) -> EventTimeSettings:
        """What the config and the class say of event time; TopologyError naming the key."""
        return EventTimeSettings.of(cls.with_settings(config), keys.OF_TASKS, cls._has_own_time())

    @classmethod
    def _has_own_time(cls) -> bool:
        return cls.timestamp is not TimedBolt.timestamp

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts."""
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

    def timestamp(self, tup: Any) -> int:
        """Milliseconds since 1970 of an event; by default those in `timestamp_field`."""
        raise NotImplementedError

    def _timestamp(self, tup: Any) -> Any:
        return self.timestamp(tup)


def name_of(bolt: Any, context: Any) -> str:
    """The name of its component; that of its class in a test without a context."""
    return type(bolt).__name__ if context is None else str(context.get_component_id())
