"""WindowedBolt: Storm's windows of tuples, configured by Storm's keys (heronpy has none)."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.state.component_state import ComponentState
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology_context import TopologyContext
from heron_api.windows.clocked_bolt import name_of
from heron_api.windows.event_time import (
    EventClock,
    EventTimeSettings,
    field_of,
    request_slide_ticks,
    request_ticks,
)
from heron_api.windows.saved_tuples import (
    KeyOf,
    restore_storm_windows,
    save_storm_windows,
)
from heron_api.windows.window_runner import give_up_late, is_tracked, late_stream_problem
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.storm import Activation, Extent, Step, StormWindows
from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import DEFAULT_STREAM


class TupleWindow:
    """One window, as Storm's TupleWindow."""

    def __init__(self, step: Activation) -> None:
        self._step = step

    def get(self) -> list[Any]:
        """Its tuples, in order of their arrival; in that of their timestamps where a number of
        tuples by event time ends the window."""
        return self._step.items

    def get_new(self) -> list[Any]:
        """Those of its tuples that no window before it had."""
        return self._step.new

    def get_expired(self) -> list[Any]:
        """What has expired since the window before."""
        return self._step.expired

    def get_start_timestamp(self) -> int | None:
        """The millisecond before its first one; None if its length is a number of tuples."""
        return self._step.start_ms

    def get_end_timestamp(self) -> int:
        """Its last millisecond."""
        return self._step.end_ms


class WindowedBolt(Bolt, StatefulComponent):
    """Calls `execute` with each window that holds something.

        class Average(WindowedBolt):
            outputs = ["average"]

            def execute(self, window):
                values = [tup["value"] for tup in window.get()]
                self.emit([sum(values) / len(values)])

    with `config={"topology.bolts.window.length.duration.ms": 20_000,
    "topology.bolts.window.sliding.interval.duration.ms": 10_000,
    "topology.bolts.tuple.timestamp.field.name": "time_ms",
    "topology.bolts.tuple.timestamp.max.lag.ms": 5_000}`. Length and slide are each a duration or
    a number of tuples (`….count`); without a slide there is a window with each tuple; without a
    timestamp field windows go by processing time. What `execute` emits without `anchors` is
    anchored to all tuples of the window, and a tuple is acked when it expires.
    """

    window_clock: Callable[[], float] = staticmethod(time.time)
    """Seconds since 1970."""
    saved_at_least_once = False
    """The tuples of an open window are not acked: they come again."""
    saved_state: Any = None
    """Where the windows are saved, if anything is."""

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts. A class with an `initialize` of its own may bring
        its window there."""
        if cls.initialize is not WindowedBolt.initialize:
            return None
        try:
            cls._checked(config)
        except TopologyError as error:
            return str(error)
        return None

    @classmethod
    def outputs_problem(cls, config: Mapping[str, Any], streams: Iterable[str]) -> str | None:
        """A late stream that is not declared, found when the topology is loaded."""
        return late_stream_problem(config.get(keys.LATE_STREAM), streams)

    def init_state(self, stateful_state: State) -> None:
        """Keep the state; the windows saved in it go on. Call it if you override it."""
        self.saved_state = stateful_state

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the tuples that are held; call it if you override it."""
        state = self.saved_state
        if state is not None:
            save_storm_windows(state, self._windows, self._watermark_ms, self._key_of_tuple())

    def fail_held(self) -> bool:
        """Every tuple of an open window fails: an update divides the keys anew, or ends this
        instance, and the tuples come again. Whether keys tell which instance has what is left."""
        held = self._windows.held()
        self._windows.clear()
        if self._by_event_time and held:
            # Storm's are late behind the watermark, though windows to come have them.
            self._clock.generator.forget()
            self._watermark_ms = NO_WATERMARK
        for tup in held:
            self.fail(tup)
        return self._windows.is_divisible and self._key_of_tuple() is not None

    def _key_of_tuple(self) -> KeyOf:
        state = self.saved_state
        return state.key_of_tuple() if isinstance(state, ComponentState) else None

    def restore_windows(self) -> None:
        """Hold what the state has; part of `initialize`."""
        if self.saved_state is not None:
            watermark_ms = restore_storm_windows(
                self.saved_state, self._windows, self._key_of_tuple()
            )
            self._clock.generator.raise_to(watermark_ms)
        self._watermark_ms = self._clock.generator.watermark_ms

    @classmethod
    def _checked(cls, config: Mapping[str, Any]) -> EventTimeSettings:
        """The settings; TopologyError for what Storm refuses (validateWindow), too."""
        settings = EventTimeSettings.of(config, keys.OF_STREAMS, cls._has_own_time())
        length, slide = _extents(config)
        merged = keys.with_defaults(config)
        if merged[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE:
            return settings
        sums = {True: 0, False: 0}
        for each in (length, slide):
            sums[each.is_count] += each.amount
        timeout_ms = keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS) * 1000
        pending = keys.value_of(merged, keys.MAX_SPOUT_PENDING)
        if sums[False] > timeout_ms:
            raise TopologyError(
                f"length and slide of its window are {sums[False]} ms, and"
                f" {keys.MESSAGE_TIMEOUT_SECS} fails what it holds after {timeout_ms:g}: raise it"
            )
        if sums[True] > pending:
            raise TopologyError(
                f"length and slide of its window are {sums[True]} tuples, and"
                f" {keys.MAX_SPOUT_PENDING} lets a spout send {pending}: raise it"
            )
        return settings

    @classmethod
    def _has_own_time(cls) -> bool:
        return cls.timestamp is not WindowedBolt.timestamp

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Read the window's extent and ask for ticks; call it if you override it."""
        name = name_of(self, context)
        try:
            self._settings = self._checked(config)
        except TopologyError as error:
            raise ComponentError(f"bolt {name!r}: {error}") from None
        length, slide = _extents(config)
        self._by_event_time = self._settings.field is not None or self._has_own_time()
        timestamp_of: Callable[[Any], Any] = self.timestamp
        if self._settings.field is not None and not self._has_own_time():
            timestamp_of = field_of(name, self._settings.field)
        self._windows = StormWindows(length, slide, self._by_event_time)
        self._clock = EventClock(name, self._settings, context, self.window_clock, timestamp_of)
        self.restore_windows()
        if self._by_event_time:
            request_ticks(context, self._settings)
        elif not slide.is_count:
            request_slide_ticks(context, slide.amount)

    def timestamp(self, tup: Any) -> int:
        """Milliseconds since 1970 of a tuple, instead of a field (Storm: TimestampExtractor)."""
        raise NotImplementedError

    def execute(self, window: TupleWindow) -> Any:
        """Process one window; do not ack its tuples. If it raises, all tuples held fail."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, window)")

    def process(self, tup: Any) -> None:
        """Hold the tuple until it expires; one behind the watermark is late."""
        now_ms = self._clock.now_ms()
        if not self._by_event_time:
            self._run(self._windows.add(now_ms, tup))
            return
        timestamp_ms = self._clock.timestamp_of(tup, now_ms)
        self._clock.seen(tup, timestamp_ms, now_ms)
        if timestamp_ms < self._watermark_ms:
            give_up_late(self, self._settings, self._clock, tup, list(tup.values))
        else:
            self._run(self._windows.add(timestamp_ms, tup))
        if self._settings.interval_ms == 0:
            self.process_tick(None)

    def process_tick(self, tup: Any) -> None:
        """Time has passed: a watermark, or a window by the clock."""
        now_ms = self._clock.now_ms()
        if self._by_event_time:
            self._watermark_ms = self._clock.watermark_ms(now_ms)
            now_ms = self._watermark_ms
        self._run(self._windows.advance(now_ms))
        if (
            self._by_event_time
            and self._windows.held()
            and self._clock.is_quiet(self._clock.now_ms())
        ):
            # Tuples that come for these windows later are not late: they are shown by themselves.
            self._run(self._windows.finish())
        if self._by_event_time and self._clock.has_ended(
            self._clock.now_ms(), len(self._windows.held()), self.logger
        ):
            self._run(self._windows.finish())
            # Its windows hold their end.
            self._clock.generator.raise_to(self._windows.latest_end_ms + 1)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """A source has sent a watermark, or has finished (the engine calls it)."""
        self._clock.source_watermark(component, task, watermark_ms)
        if self._by_event_time:
            self.process_tick(None)
        if self._clock.is_complete(any(map(is_tracked, self._windows.held()))):
            self._run(self._windows.finish())

    def clock_state(self) -> ClockState | None:
        """How far it is in event time (the engine asks for it, from any thread)."""
        return self._clock.state() if self._by_event_time else None

    def advance_watermark(self, watermark_ms: int) -> None:
        """No event below it is expected, whatever the tuples say (TopologyTester calls it)."""
        self._clock.generator.raise_to(watermark_ms)
        self.process_tick(None)

    def on_finish(self) -> None:
        """The end of a finite run: the windows that are left."""
        if not self._by_event_time:
            self.process_tick(None)  # those that have ended
        self._run(self._windows.finish())

    def _run(self, steps: list[Step]) -> None:
        held = self._windows.held()
        for at, step in enumerate(steps):
            if not isinstance(step, Activation):
                for tup in step.items:
                    self.ack(tup)
                continue
            try:
                self._execute_anchored(step)
            except Exception:
                self._windows.clear()
                self._fail_all(steps[at:], held)
                raise

    def _execute_anchored(self, step: Activation) -> None:
        """`execute`, whose `emit` meanwhile anchors to the tuples of the window."""
        own = vars(self).get("emit")
        self.emit = _anchored(self.emit, step.items)  # type: ignore[method-assign]
        try:
            refuse_coroutine(self.execute, self.execute(TupleWindow(step)))
        except Exception as error:
            error.add_note(f"the window until {step.end_ms} ms, {len(step.items)} tuples")
            raise
        finally:
            if own is None:
                del self.emit
            else:
                self.emit = own  # type: ignore[method-assign]

    def _fail_all(self, steps: list[Step], held: list[Any]) -> None:
        """What the windows from the one that failed on would have let go, and what is held."""
        later = [tup for each in steps if not isinstance(each, Activation) for tup in each.items]
        for tup in [*later, *held]:
            self.fail(tup)


def _anchored(emit: Callable[..., Any], items: list[Any]) -> Callable[..., Any]:
    def anchored(
        tup: Any,
        stream: str = DEFAULT_STREAM,
        anchors: Any = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> Any:
        chosen = items if anchors is None else anchors
        return emit(tup, stream, chosen, direct_task, need_task_ids)

    return anchored


def _extents(config: Mapping[str, Any]) -> tuple[Extent, Extent]:
    """Length and slide; TopologyError if there is no length, or both kinds of one."""
    length = _extent(config, keys.WINDOW_LENGTH_COUNT, keys.WINDOW_LENGTH_MS)
    if length is None:
        raise TopologyError(
            f"its config needs the length of a window: {keys.WINDOW_LENGTH_MS} or"
            f" {keys.WINDOW_LENGTH_COUNT}"
        )
    return length, _extent(config, keys.WINDOW_SLIDE_COUNT, keys.WINDOW_SLIDE_MS) or Extent(1, True)


def _extent(config: Mapping[str, Any], count: str, duration_ms: str) -> Extent | None:
    given = [key for key in (count, duration_ms) if config.get(key) is not None]
    if len(given) == 2:
        raise TopologyError(f"its config has both {count} and {duration_ms}: choose one")
    if not given:
        return None
    return Extent(keys.value_of(config, given[0]), given[0] == count)
