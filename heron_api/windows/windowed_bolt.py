"""WindowedBolt: Storm's windows of tuples, configured by Storm's keys (heronpy has none)."""

from collections.abc import Callable, Mapping
from typing import Any, Generic

from heron_api.method_shapes import refuse_coroutine
from heron_api.topology_context import TopologyContext
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import name_of
from heron_api.windows.event_time import (
    EventClock,
    EventTimeSettings,
    field_of,
    request_slide_ticks,
    request_ticks,
)
from heron_api.windows.retaining_bolt import TupleWindowBolt
from heron_api.windows.saved_windows import KeyOf
from heron_api.windows.storm_runner import StormRunner
from heron_core import config as keys
from heron_core.algorithms.event_windows.storm import Activation, Extent, StormWindows
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import DEFAULT_STREAM


class TupleWindow(Generic[ReadRow]):
    """One window, like Storm's TupleWindow.

    Example:

        def execute(self, window):
            self.emit([len(window.get()), len(window.get_new()), window.get_end_timestamp()])
    """

    def __init__(self, step: Activation) -> None:
        self._step = step

    def get(self) -> list[ReadRow]:
        """Its tuples, in order of their arrival; in that of their timestamps where a number of
        tuples by event time ends the window."""
        return self._step.items

    def get_new(self) -> list[ReadRow]:
        """Tuples added since the previous window."""
        return self._step.new

    def get_expired(self) -> list[ReadRow]:
        """Tuples expired since the previous window."""
        return self._step.expired

    def get_start_timestamp(self) -> int | None:
        """The millisecond before the window's start; None for a window by count."""
        return self._step.start_ms

    def get_end_timestamp(self) -> int:
        """Its last millisecond."""
        return self._step.end_ms


class WindowedBolt(TupleWindowBolt[ReadRow]):
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

    time_runner: StormRunner

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start. A class with its own `initialize` may set the window there."""
        if cls.initialize is not WindowedBolt.initialize:
            return None
        try:
            cls._checked(config)
        except TopologyError as error:
            return str(error)
        return None

    @classmethod
    def _checked(cls, config: Mapping[str, Any]) -> EventTimeSettings:
        """The settings; TopologyError also for settings rejected by Storm (validateWindow)."""
        settings = EventTimeSettings.of(config, keys.OF_STREAMS, cls._has_own_time())
        length, slide = _extents(config)
        merged = keys.with_defaults(config)
        if merged[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE:
            return settings
        sums = {True: 0, False: 0}
        for extent in (length, slide):
            sums[extent.is_count] += extent.amount
        timeout_ms = keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS) * 1000
        pending = keys.value_of(merged, keys.MAX_SPOUT_PENDING)
        if sums[False] > timeout_ms:
            raise TopologyError(
                f"length and slide of its window are {sums[False]} ms, but "
                f"{keys.MESSAGE_TIMEOUT_SECS} fails its tuples after {timeout_ms:g}: raise the "
                "timeout"
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
        """Read the window's extent and request ticks; call super when overriding. ComponentError
        for an invalid extent."""
        name = name_of(self, context)
        try:
            settings = self._checked(config)
        except TopologyError as error:
            raise ComponentError(f"bolt {name!r}: {error}") from None
        length, slide = _extents(config)
        by_event_time = settings.field is not None or self._has_own_time()
        timestamp_of: Callable[[Any], Any] = self.timestamp
        if settings.field is not None and not self._has_own_time():
            timestamp_of = field_of(name, settings.field)
        clock = EventClock(name, settings, context, self.window_clock, timestamp_of)
        windows = StormWindows(length, slide, by_event_time)
        self.time_runner = StormRunner(self, windows, clock, settings, by_event_time, self._show)
        self.restore_windows()
        if by_event_time:
            request_ticks(context, settings)
        elif not slide.is_count:
            request_slide_ticks(context, slide.amount)

    def timestamp(self, tup: ReadRow) -> int:
        """Milliseconds since 1970 of a tuple, instead of a field (Storm: TimestampExtractor)."""
        raise NotImplementedError

    def execute(self, window: TupleWindow[ReadRow]) -> Any:
        """Process one window; never ack its tuples. An exception fails all retained tuples."""
        raise NotImplementedError(f"{type(self).__name__} must define execute(self, window)")

    def process(self, tup: Any) -> None:
        """Retain the tuple until expiry; a tuple behind the watermark is late."""
        self.time_runner.retain(tup)

    def grouping_key(self) -> KeyOf:
        """None, also if a tuple's windows depend on other tuples."""
        return super().grouping_key() if self.time_runner.windows.is_divisible else None

    def _show(self, step: Activation) -> None:
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
    """Length and slide; TopologyError for a missing length or both kinds of length."""
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
