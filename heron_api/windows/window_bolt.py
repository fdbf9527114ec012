"""Bolts that process whole windows of tuples (heronpy.api.bolt.window_bolt).

By processing time, as in heronpy; or, with `topology.bolts.tuple.timestamp.field.name` in the
config, by the time of the events (docs/WINDOWS.md), which heronpy does not have.

Where Heron's code and its documentation differ, this follows the documentation: a window holds what
arrived within its duration (Heron hands tuples of the window before out once more), and a tuple is
acked as soon as no later window can hold it.
"""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from heron_api.method_shapes import refuse_coroutine
from heron_api.topology_context import TopologyContext
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import name_of
from heron_api.windows.event_time import (
    MILLISECONDS,
    EventClock,
    EventTimeSettings,
    field_of,
    request_slide_ticks,
    request_ticks,
)
from heron_api.windows.retaining_bolt import TupleWindowBolt
from heron_api.windows.tuple_runners import ArrivalRunner, EventTupleRunner
from heron_core import config as keys
from heron_core.algorithms.event_windows.assigners import Assigner, Sliding, Tumbling
from heron_core.algorithms.event_windows.values import TimeWindow
from heron_core.errors import ComponentError

WindowContext = namedtuple("WindowContext", ("start", "end"))
WindowContext.__doc__ = "When a window starts and ends, in whole seconds since 1970."


class _WindowBolt(TupleWindowBolt[ReadRow]):
    """Common base of both kinds; `initialize` selects the runner by the kind of time."""

    window_duration: int
    time_runner: ArrivalRunner | EventTupleRunner

    WINDOW_DURATION_SECS: str

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing or invalid duration. A class with its own
        `initialize` may set the duration there."""
        if cls.initialize.__module__ != __name__:
            return None
        return _duration_problem(config, cls.WINDOW_DURATION_SECS) or _time_problem(config)

    @property
    def current_tuples(self) -> list[ReadRow]:
        """In processing time: the retained tuples, in order."""
        runner = self.time_runner
        return runner.windows.retained() if isinstance(runner, ArrivalRunner) else []

    def processWindow(self, window_info: Any, tuples: list[ReadRow]) -> Any:  # noqa: N802
        """Process the tuples of one window; never ack.

        `window_info` is the WindowContext. Anchor emitted tuples to their inputs. An exception
        fails all retained tuples.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define processWindow(self, window_info, tuples)"
        )

    def process(self, tup: Any) -> None:
        """Retain the tuple until its last window has ended."""
        self.time_runner.retain(tup)

    def _begin(
        self, config: dict[str, Any], context: TopologyContext, windows: Assigner, slide_secs: int
    ) -> None:
        """Rest of `initialize`, by the kind of time."""
        if config.get(keys.TIMESTAMP_FIELD) is None:
            self.time_runner = ArrivalRunner(
                self, self.window_duration * MILLISECONDS, slide_secs * MILLISECONDS,
                self._clock_secs, self._show,
            )  # fmt: skip
            self._request_ticks(config, context, slide_secs)
        else:
            name, settings = name_of(self, context), EventTimeSettings.of(config)
            assert settings.field is not None
            timestamp_of = field_of(name, settings.field)
            clock = EventClock(name, settings, context, self.window_clock, timestamp_of)
            self.time_runner = EventTupleRunner(self, windows, clock, settings, self._show)
            request_ticks(context, settings)
        self.restore_windows()

    def _clock_secs(self) -> float:
        return self.window_clock()

    def _request_ticks(
        self, config: dict[str, Any], context: TopologyContext, slide_secs: int
    ) -> None:
        """Look at the clock often enough; say so if tuples are held longer than they may be."""
        request_slide_ticks(context, slide_secs * MILLISECONDS)
        timeout = keys.with_defaults(config)[keys.MESSAGE_TIMEOUT_SECS]
        tracked = config.get(keys.RELIABILITY_MODE) == keys.ATLEAST_ONCE
        if tracked and self.window_duration >= float(timeout):
            self.logger.warning(
                (
                    "bolt %r retains tuples for up to %s s, but %s fails them after %s: raise "
                    "the timeout"
                ),
                name_of(self, context),
                self.window_duration,
                keys.MESSAGE_TIMEOUT_SECS,
                timeout,
            )

    def _seconds(self, config: dict[str, Any], context: TopologyContext, key: str) -> int:
        """The value of `key`; ComponentError naming component and key for an invalid value."""
        if problem := _duration_problem(config, key):
            raise ComponentError(f"bolt {name_of(self, context)!r}: {problem}")
        return keys.whole_number(config, key, 1)

    def _show(self, window: TimeWindow, tuples: list[Any]) -> None:
        info = WindowContext(*(each // MILLISECONDS for each in window))
        try:
            refuse_coroutine(self.processWindow, self.processWindow(info, tuples))
        except Exception as error:
            error.add_note(f"the window from {info.start} to {info.end} s, {len(tuples)} tuples")
            raise


def _duration_problem(config: Mapping[str, Any], key: str) -> str | None:
    if key not in config:
        return f"its config needs {key}, the seconds of a window"
    try:
        keys.whole_number(config, key, 1)
    except ValueError as error:
        return str(error)
    return None


def _time_problem(config: Mapping[str, Any]) -> str | None:
    try:
        EventTimeSettings.of(config)
    except ValueError as error:
        return str(error)
    return None


class SlidingWindowBolt(_WindowBolt[ReadRow]):
    """Calls `processWindow` every slide interval with what arrived within the window's duration.

        class Busiest(SlidingWindowBolt):
            def processWindow(self, window_info, tuples):
                print(collections.Counter(tup.values[0] for tup in tuples).most_common(3))

    and `Busiest.spec(inputs=[words], config={SlidingWindowBolt.WINDOW_DURATION_SECS: 60,
    SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: 10})`. The slide interval defaults to the duration
    and must not be longer. A tuple is acked when it is too old for the next window, so the message
    timeout must be longer than the duration. At the end of a finite run the windows are shown that
    are left.
    """

    WINDOW_DURATION_SECS = "slidingwindowbolt_duration_secs"
    WINDOW_SLIDEINTERVAL_SECS = "slidingwindowbolt_slideinterval_secs"

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's size and ask for ticks."""
        self.window_duration = self._seconds(config, context, self.WINDOW_DURATION_SECS)
        self.slide_interval = self.window_duration
        if self.WINDOW_SLIDEINTERVAL_SECS in config:
            self.slide_interval = self._seconds(config, context, self.WINDOW_SLIDEINTERVAL_SECS)
        if self.slide_interval > self.window_duration:
            raise ComponentError(
                f"bolt {name_of(self, context)!r}: {self.WINDOW_SLIDEINTERVAL_SECS}"
                f" ({self.slide_interval}) must not be longer than {self.WINDOW_DURATION_SECS}"
                f" ({self.window_duration})"
            )
        windows = Sliding(self.window_duration * MILLISECONDS, self.slide_interval * MILLISECONDS)
        self._begin(config, context, windows, self.slide_interval)


class TumblingWindowBolt(_WindowBolt[ReadRow]):
    """Calls `processWindow` once per window duration with the tuples received meanwhile.

    The tuples are acked when the call returns; tuples left at the end of a finite run form a
    last window. Window length: `config={TumblingWindowBolt.WINDOW_DURATION_SECS: 60}`.
    """

    WINDOW_DURATION_SECS = "tumblingwindowbolt_duration_secs"

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's size and ask for ticks."""
        self.window_duration = self._seconds(config, context, self.WINDOW_DURATION_SECS)
        windows = Tumbling(self.window_duration * MILLISECONDS)
        self._begin(config, context, windows, self.window_duration)
