"""Bolts that process whole windows of tuples (heronpy.api.bolt.window_bolt).

By processing time, as in heronpy; or, with `topology.bolts.tuple.timestamp.field.name` in the
config, by the time of the events (docs/WINDOWS.md), which heronpy does not have.

Windows by processing time are those of 1970 and whole slides later, [start, end): a tuple is in
exactly those of its arrival, however late a tick comes by which they are shown. Where Heron's code
and its documentation differ, this follows the documentation: a window holds what arrived within its
duration (Heron hands tuples of the window before out once more), and a tuple is acked as soon as no
later window can hold it.
"""

import time
from collections import deque, namedtuple
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.state.component_state import ComponentState
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology_context import TopologyContext
from heron_api.windows.clocked_bolt import name_of
from heron_api.windows.event_time import (
    MILLISECONDS,
    EventClock,
    EventTimeSettings,
    field_of,
    request_slide_ticks,
    request_ticks,
)
from heron_api.windows.saved_tuples import (
    SAVED_TUPLES,
    Kept,
    KeyOf,
    restore_event_windows,
    restored_tuples,
    save_event_windows,
    save_tuples,
    tuples_to_show,
)
from heron_api.windows.window_runner import (
    AnchoredAggregate,
    WindowRunner,
    late_stream_problem,
)
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.assigners import Assigner, Sliding, Tumbling
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.values import END_OF_TIME, NO_WATERMARK, Firing, Result
from heron_core.errors import ComponentError

WindowContext = namedtuple("WindowContext", ("start", "end"))
WindowContext.__doc__ = "When a window starts and ends, in whole seconds since 1970."


class _WindowBolt(Bolt, StatefulComponent):
    """What both kinds have in common: the clock, the state, and tuples of a window that failed."""

    saved_at_least_once = False
    """The tuples of an open window are not acked: they come again."""
    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    window_duration: int
    current_tuples: deque[tuple[Any, int]]
    """By processing time: (tuple, the millisecond of its arrival), in order."""
    _slide_ms: int
    _next_end_ms = NO_WATERMARK
    """By processing time: of the first window that is not shown yet; from the first call on."""
    _began_ms = NO_WATERMARK
    """When that call was."""
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

    def fail_held(self) -> bool:
        """Every tuple of an open window fails: an update divides the keys anew, or ends this
        instance, and the tuples come again. Whether keys tell which instance has what is left."""
        if self._runner is not None:
            self._runner.fail_held()
        held = [tup for tup, _ in self.current_tuples]
        self.current_tuples.clear()
        for tup in held:
            self.fail(tup)
        return self.key_of_tuple() is not None

    def key_of_tuple(self) -> KeyOf:
        """How to find the key by which a tuple was grouped; None if keys do not tell which instance
        has it."""
        state = self.saved_state
        return state.key_of_tuple() if isinstance(state, ComponentState) else None

    def _kept(self) -> list[Kept]:
        return [Kept(arrived_ms, tup) for tup, arrived_ms in self.current_tuples]

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

    def processWindow(self, window_info: Any, tuples: list[Any]) -> Any:  # noqa: N802
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
        self._has_ended = False
        self._slide_ms = slide_secs * MILLISECONDS
        if config.get(keys.TIMESTAMP_FIELD) is None:
            self._request_ticks(config, context, slide_secs)
            self.restore_windows()
            return
        name = name_of(self, context)
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
            self.current_tuples = deque((tup, arrived_ms) for tup, arrived_ms in whole)
        else:
            kept = restored_tuples(state, self.key_of_tuple())
            self.current_tuples = deque((each.tuple, int(each.rank)) for each in kept)

    # --- windows by processing time -----------------------------------------------------------

    def _now_ms(self) -> int:
        now_ms = int(self.window_clock() * MILLISECONDS)
        if self._began_ms == NO_WATERMARK:
            self._began_ms = now_ms
            earliest_ms = min([now_ms, *(each for _, each in self.current_tuples)])
            self._next_end_ms = self._first_end_ms(earliest_ms)
        return now_ms

    def _first_end_ms(self, arrived_ms: int) -> int:
        """The end of the first window that holds what arrives then."""
        duration_ms, slide_ms = self.window_duration * MILLISECONDS, self._slide_ms
        return ((arrived_ms - duration_ms) // slide_ms + 1) * slide_ms + duration_ms

    def process(self, tup: Any) -> None:
        """Hold the tuple until no later window can hold it."""
        if self._runner is not None:
            self._process_event(self._runner, tup)
            return
        now_ms = self._now_ms()
        # The clock may have been put back: no window that was shown is changed.
        shown_until_ms = self._next_end_ms - self._slide_ms
        latest_ms = self.current_tuples[-1][1] if self.current_tuples else shown_until_ms
        self.current_tuples.append((tup, max(now_ms, latest_ms, shown_until_ms)))

    def process_tick(self, tup: Any) -> None:
        """Time has passed: show the windows that have ended."""
        if self._runner is not None:
            self._runner.tick()
            return
        now_ms = self._now_ms()
        while self._next_end_ms <= now_ms:
            self._end_window()

    def on_watermark(self, watermark_ms: int) -> None:
        """All sources have finished: nothing more comes into the windows of what is held. What has
        failed comes again, and is in windows by the clock: a watermark follows each of its tuples,
        which must not divide them. Call it if you override it."""
        if self._runner is None and watermark_ms == END_OF_TIME and not self._has_ended:
            self._has_ended = True
            self._end_all()

    def on_finish(self) -> None:
        """The end of a finite run: the windows of what is held; then nothing is."""
        if self._runner is not None:
            self._runner.finish()
        else:
            self._end_all()

    def _end_all(self) -> None:
        self.process_tick(None)
        while self.current_tuples:
            self._end_window()

    def _end_window(self) -> None:
        end_ms = self._next_end_ms
        self._next_end_ms = self._following_end_ms(end_ms)
        start_ms = end_ms - self.window_duration * MILLISECONDS
        held = self.current_tuples
        inside = [tup for tup, arrived_ms in held if start_ms <= arrived_ms < end_ms]
        self._run_window(end_ms // MILLISECONDS, inside, [tup for tup, _ in held])
        while held and held[0][1] < start_ms + self._slide_ms:
            self.ack(held.popleft()[0])

    def _following_end_ms(self, end_ms: int) -> int:
        """A slide later; windows that ended while nothing ran are not shown if they are empty."""
        following_ms = end_ms + self._slide_ms
        if following_ms > self._began_ms:
            return following_ms
        first_ms = end_ms - self.window_duration * MILLISECONDS + self._slide_ms
        left_ms = [each for _, each in self.current_tuples if each >= first_ms]
        return max(following_ms, self._first_end_ms(min([*left_ms, self._began_ms])))

    # --- windows by event time ----------------------------------------------------------------

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
            self._run_user(WindowContext(start, end), tuples)

    def _request_ticks(
        self, config: dict[str, Any], context: TopologyContext, slide_secs: int
    ) -> None:
        """Look at the clock often enough; say so if tuples are held longer than they may be."""
        request_slide_ticks(context, slide_secs * MILLISECONDS)
        timeout = keys.with_defaults(config)[keys.MESSAGE_TIMEOUT_SECS]
        tracked = config.get(keys.RELIABILITY_MODE) == keys.ATLEAST_ONCE
        if tracked and self.window_duration >= float(timeout):
            self.logger.warning(
                "bolt %r holds tuples for up to %s s, and %s fails them after %s: raise it",
                name_of(self, context),
                self.window_duration,
                keys.MESSAGE_TIMEOUT_SECS,
                timeout,
            )

    def _seconds(self, config: dict[str, Any], context: TopologyContext, key: str) -> int:
        """The value of `key`; ComponentError naming component and key if it is none."""
        if problem := _duration_problem(config, key):
            raise ComponentError(f"bolt {name_of(self, context)!r}: {problem}")
        return keys.whole_number(config, key, 1)

    def _run_user(self, info: WindowContext, tuples: list[Any]) -> None:
        try:
            refuse_coroutine(self.processWindow, self.processWindow(info, tuples))
        except Exception as error:
            error.add_note(f"the window from {info.start} to {info.end} s, {len(tuples)} tuples")
            raise

    def _run_window(self, end: int, tuples: list[Any], held: list[Any]) -> None:
        try:
            self._run_user(WindowContext(end - self.window_duration, end), tuples)
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


class SlidingWindowBolt(_WindowBolt):
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


class TumblingWindowBolt(_WindowBolt):
    """Calls `processWindow` every window's duration with what arrived within it.

    The tuples are acked when it returns; what is there at the end of a finite run gets a last
    window. Its size is `config={TumblingWindowBolt.WINDOW_DURATION_SECS: 60}`.
    """

    WINDOW_DURATION_SECS = "tumblingwindowbolt_duration_secs"

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's size and ask for ticks."""
        self.window_duration = self._seconds(config, context, self.WINDOW_DURATION_SECS)
        windows = Tumbling(self.window_duration * MILLISECONDS)
        self._begin(config, context, windows, self.window_duration)
