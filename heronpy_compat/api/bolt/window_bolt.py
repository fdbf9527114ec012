"""Bolts that process whole windows of tuples (heronpy.api.bolt.window_bolt).

By processing time, as in heronpy; or, with `topology.bolts.tuple.timestamp.field.name` in the
config, by the time of the events (docs/WINDOWS.md), which heronpy does not have.

By processing time a window ends with each tick, so `initialize` asks the context for ticks. Where
Heron's code and its documentation differ, this follows the documentation: a window holds what
arrived within its duration (Heron hands tuples of the window before out once more), and a tuple is
acked as soon as no later window can hold it.
"""

import time
from collections import deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import Assigner, Sliding, Tumbling
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.values import Firing, Result
from heron_core.errors import ComponentError
from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.api.bolt.event_time import (
    MILLISECONDS,
    EventClock,
    EventTimeSettings,
    field_of,
    request_ticks,
)
from heronpy_compat.api.bolt.saved_tuples import (
    SAVED_TUPLES,
    Kept,
    KeyOf,
    restore_event_windows,
    restored_tuples,
    save_event_windows,
    save_tuples,
    tuples_to_show,
)
from heronpy_compat.api.bolt.window_runner import (
    AnchoredAggregate,
    WindowRunner,
    late_stream_problem,
)
from heronpy_compat.api.state.component_state import ComponentState
from heronpy_compat.api.state.state import State
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.api.topology_context import TopologyContext

WindowContext = namedtuple("WindowContext", ("start", "end"))
WindowContext.__doc__ = "When a window starts and ends, in whole seconds since 1970."


class _WindowBolt(Bolt, StatefulComponent):
    """What both kinds have in common: the clock, the state, and tuples of a window that failed."""

    saved_at_least_once = False
    """The tuples of an open window are not acked: they come again."""
    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    window_duration: int
    current_tuples: deque[Any]
    _runner: WindowRunner | None = None
    """Of windows by event time."""

    WINDOW_DURATION_SECS: str

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts: its duration is missing or is none. A class with an
        `initialize` of its own may bring it."""
        if cls.initialize.__module__ != __name__:
            return None
        return _duration_problem(config, cls.WINDOW_DURATION_SECS) or _time_problem(config)

    @classmethod
    def outputs_problem(cls, config: Mapping[str, Any], streams: Iterable[str]) -> str | None:
        """A late stream that is not declared, found when the topology is loaded."""
        return late_stream_problem(config.get(keys.LATE_STREAM), streams)

    def init_state(self, stateful_state: State) -> None:
        """Keep the state; the tuples saved in it are in the first window."""
        self.saved_state = stateful_state

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the tuples of the open window, or of all open ones."""
        key_of = self.key_of_tuple()
        if self._runner is None:
            whole = list(self.current_tuples)
            save_tuples(self.saved_state, self._kept(), key_of, whole)
        else:
            save_event_windows(self.saved_state, self._runner.operator, key_of)

    def key_of_tuple(self) -> KeyOf:
        """How to find the key by which a tuple was grouped; None if keys do not tell which instance
        has it."""
        state = self.saved_state
        return state.key_of_tuple() if isinstance(state, ComponentState) else None

    def _kept(self) -> list[Kept]:
        """What `current_tuples` has."""
        raise NotImplementedError

    def _taken(self, kept: Kept) -> Any:
        """As `current_tuples` has it."""
        raise NotImplementedError

    def clock_state(self) -> ClockState | None:
        """How far it is in event time (the engine asks for it, from any thread)."""
        return None if self._runner is None else self._runner.clock_state()

    def advance_watermark(self, watermark_ms: int) -> None:
        """No event below it is expected, whatever the tuples say (TopologyTester calls it)."""
        if self._runner is not None:
            self._runner.advance_watermark(watermark_ms)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        if self._runner is not None:
            self._runner.source_watermark(component, task, watermark_ms)

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        """Process the tuples of one window; do not ack them.

        `window_info` is its WindowContext. What is emitted should be anchored to the tuples it was
        made of. If it raises, all tuples that are held fail.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define processWindow(self, window_info, tuples)"
        )

    def _begin(
        self, config: dict[str, Any], context: TopologyContext, windows: Assigner, slide_secs: int
    ) -> None:
        """The rest of `initialize`, by the one time or by the other."""
        self.current_tuples = deque()
        if config.get(keys.TIMESTAMP_FIELD) is None:
            self._request_ticks(config, context, slide_secs)
            self.restore_windows()
            return
        name = _name(self, context)
        settings = EventTimeSettings.of(config)
        assert settings.field is not None
        clock = EventClock(
            name, settings, context, self.window_clock, field_of(name, settings.field)
        )
        operator = WindowOperator(
            windows, AnchoredAggregate(WholeWindow()), lateness_ms=settings.lateness_ms
        )
        self._numbers = count()
        self._runner = WindowRunner(self, operator, clock, settings, self._show)
        request_ticks(context, settings)
        self.restore_windows()

    def restore_windows(self) -> None:
        """Hold what the state has; part of `initialize`."""
        state = getattr(self, "saved_state", None)
        if state is None:
            return
        if self._runner is not None:
            restore_event_windows(state, self._runner.operator, self.key_of_tuple())
            return
        whole = state.get(SAVED_TUPLES)
        if whole is not None:
            self.current_tuples = deque(whole)
        else:
            kept = restored_tuples(state, self.key_of_tuple())
            self.current_tuples = deque(map(self._taken, kept))

    def _process_event(self, runner: WindowRunner, tup: Any) -> None:
        runner.process(tup, None, lambda time_ms: [time_ms, next(self._numbers), tup])

    def _show(self, result: Result, anchors: list[Any]) -> None:
        start, end = (each // MILLISECONDS for each in result.window)
        events, _ = result.value
        if result.firing is Firing.ON_TIME:
            tuples = tuples_to_show(events, result.window.end_ms)
        else:
            tuples = [event[2] for event in events]
        if tuples:
            self.processWindow(WindowContext(start, end), tuples)

    def _request_ticks(
        self, config: dict[str, Any], context: TopologyContext, interval_secs: int
    ) -> None:
        """Let a tick end each window; say so if tuples are held longer than they may be."""
        if isinstance(context, TopologyContext):  # a test may have none, or one of its own
            context.request_ticks(interval_secs)
        timeout = keys.with_defaults(config)[keys.MESSAGE_TIMEOUT_SECS]
        tracked = config.get(keys.RELIABILITY_MODE) == keys.ATLEAST_ONCE
        if tracked and self.window_duration >= float(timeout):
            self.logger.warning(
                "bolt %r holds tuples for up to %s s, and %s fails them after %s: raise it",
                _name(self, context),
                self.window_duration,
                keys.MESSAGE_TIMEOUT_SECS,
                timeout,
            )

    def _seconds(self, config: dict[str, Any], context: TopologyContext, key: str) -> int:
        """The value of `key`; ComponentError naming component and key if it is none."""
        if problem := _duration_problem(config, key):
            raise ComponentError(f"bolt {_name(self, context)!r}: {problem}")
        return keys.whole_number(config, key, 1)

    def _run_window(self, now: float, tuples: list[Any], held: list[Any]) -> None:
        end = int(now)
        try:
            self.processWindow(WindowContext(end - self.window_duration, end), tuples)
        except Exception:
            self.current_tuples.clear()
            for tup in held:
                self.fail(tup)
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


def _name(bolt: _WindowBolt, context: Any) -> str:
    return type(bolt).__name__ if context is None else str(context.get_component_id())


class SlidingWindowBolt(_WindowBolt):
    """Calls `processWindow` every slide interval with what arrived within the window's duration.

        class Busiest(SlidingWindowBolt):
            def processWindow(self, window_info, tuples):
                print(collections.Counter(tup.values[0] for tup in tuples).most_common(3))

    and `Busiest.spec(inputs=[words], config={SlidingWindowBolt.WINDOW_DURATION_SECS: 60,
    SlidingWindowBolt.WINDOW_SLIDEINTERVAL_SECS: 10})`. The slide interval defaults to the duration
    and must not be longer. A tuple is acked when it is too old for the next window, so the message
    timeout must be longer than the duration. At the end of a finite run the tuples that no window
    has held yet get a last one.
    """

    WINDOW_DURATION_SECS = "slidingwindowbolt_duration_secs"
    WINDOW_SLIDEINTERVAL_SECS = "slidingwindowbolt_slideinterval_secs"

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's size and ask for a tick at the end of each."""
        self.window_duration = self._seconds(config, context, self.WINDOW_DURATION_SECS)
        self.slide_interval = self.window_duration
        if self.WINDOW_SLIDEINTERVAL_SECS in config:
            self.slide_interval = self._seconds(config, context, self.WINDOW_SLIDEINTERVAL_SECS)
        if self.slide_interval > self.window_duration:
            raise ComponentError(
                f"bolt {_name(self, context)!r}: {self.WINDOW_SLIDEINTERVAL_SECS}"
                f" ({self.slide_interval}) must not be longer than {self.WINDOW_DURATION_SECS}"
                f" ({self.window_duration})"
            )
        windows = Sliding(self.window_duration * MILLISECONDS, self.slide_interval * MILLISECONDS)
        self._unseen = 0
        self._begin(config, context, windows, self.slide_interval)

    def restore_windows(self) -> None:
        """`current_tuples` are (tuple, when it arrived), the oldest first."""
        super().restore_windows()
        self._unseen = len(self.current_tuples)
        """How many of the newest no window has held yet: a late tick must not skip them."""

    def _kept(self) -> list[Kept]:
        return [Kept(arrived, tup) for tup, arrived in self.current_tuples]

    def _taken(self, kept: Kept) -> Any:
        return kept.tuple, kept.rank

    def process(self, tup: Any) -> None:
        """Hold the tuple until it is too old."""
        if self._runner is not None:
            self._process_event(self._runner, tup)
            return
        self.current_tuples.append((tup, self.window_clock()))
        self._unseen += 1

    def process_tick(self, tup: Any) -> None:
        """A window ends."""
        if self._runner is not None:
            self._runner.tick()
            return
        self._end_window(self.window_clock())

    def on_finish(self) -> None:
        """The last window, if anything arrived since the one before; then nothing is held."""
        if self._runner is not None:
            self._runner.finish()
            return
        if self._unseen:
            self._end_window(self.window_clock())
        while self.current_tuples:
            self.ack(self.current_tuples.popleft()[0])

    def _end_window(self, now: float) -> None:
        oldest, first_unseen = now - self.window_duration, len(self.current_tuples) - self._unseen
        inside = [
            tup
            for at, (tup, arrived) in enumerate(self.current_tuples)
            if arrived >= oldest or at >= first_unseen
        ]
        self._unseen = 0
        self._run_window(now, inside, [tup for tup, _ in self.current_tuples])
        self._let_go(now)

    def _let_go(self, now: float) -> None:
        """Ack what the next window cannot hold; where windows do not overlap that is everything."""
        overlap = self.window_duration - self.slide_interval
        held = self.current_tuples
        while held and (overlap == 0 or held[0][1] < now - overlap):
            self.ack(held.popleft()[0])


class TumblingWindowBolt(_WindowBolt):
    """Calls `processWindow` every window's duration with what arrived since the last call.

    The tuples are acked when it returns; what is there at the end of a finite run gets a last
    window. Its size is `config={TumblingWindowBolt.WINDOW_DURATION_SECS: 60}`.
    """

    WINDOW_DURATION_SECS = "tumblingwindowbolt_duration_secs"

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's size and ask for a tick at the end of each."""
        self.window_duration = self._seconds(config, context, self.WINDOW_DURATION_SECS)
        windows = Tumbling(self.window_duration * MILLISECONDS)
        self._begin(config, context, windows, self.window_duration)

    def _kept(self) -> list[Kept]:
        return [Kept(number, tup) for number, tup in enumerate(self.current_tuples)]

    def _taken(self, kept: Kept) -> Any:
        return kept.tuple

    def process(self, tup: Any) -> None:
        """Hold the tuple until the window ends."""
        if self._runner is not None:
            self._process_event(self._runner, tup)
            return
        self.current_tuples.append(tup)

    def process_tick(self, tup: Any) -> None:
        """The window ends."""
        if self._runner is not None:
            self._runner.tick()
            return
        tuples = list(self.current_tuples)
        self._run_window(self.window_clock(), tuples, tuples)
        while self.current_tuples:
            self.ack(self.current_tuples.popleft())

    def on_finish(self) -> None:
        """The last window, if it has tuples."""
        if self._runner is not None:
            self._runner.finish()
        elif self.current_tuples:
            self.process_tick(None)
