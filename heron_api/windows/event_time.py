"""Event time of a window bolt: timestamps of tuples, and their watermark.

The keys are Storm's (WindowedBoltExecutor, WaterMarkEventGenerator); `…max.ahead.ms`,
`…idle.ms`, `…watermark.sources` and `…allowed.lateness.ms` are extensions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from heron_api.method_shapes import refuse_methods
from heron_api.metrics import CountMetric, TupleCount
from heron_api.topology_context import TopologyContext
from heron_api.windows.saved_windows import FirstEnd
from heron_core import config as keys
from heron_core.algorithms.clock_state import ClockState
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.event_windows.values import END_OF_TIME
from heron_core.algorithms.event_windows.watermarks import WatermarkGenerator
from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.algorithms.user_metrics import LATE_DROPPED
from heron_core.errors import ComponentError, TopologyError
from heron_core.validation import choices

Source = tuple[Any, ...]
"""(component, stream), (component, task), or either with a partition behind it"""
MILLISECONDS = 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SLIDE_TICKS = 8
"""Ticks per slide in processing time: windows are late by an eighth of the slide at most."""
SLIDE_TICK_SECS_MAX = 1.0
"""Longest tick interval, and so the longest delay; an idle bolt can afford the wake-ups."""
TICK_SECS_MIN = 0.01
"""Shortest tick interval, for triggers of few milliseconds: more ticks would not pay."""


@dataclass(frozen=True, slots=True)
class EventTimeSettings:
    """Event-time settings of the config."""

    field: str | None
    """The field with an event's milliseconds since 1970; None: by processing time."""
    lag_ms: int
    lateness_ms: int
    interval_ms: int
    """Processing time between two watermarks; 0: after each tuple."""
    idle_ms: int | None
    """Silence after which a source is left out; None: never."""
    end_after_ms: int | None
    """Silence of all sources after which open windows are complete; None: never, the default."""
    show_after_ms: int | None
    """Silence of all sources after which open windows emit early results and ack their tuples;
    None: never."""
    ahead_ms: int
    """Limit of a timestamp ahead of the clock."""
    late_stream: str | None
    sources: str

    @staticmethod
    def of(
        config: Mapping[str, Any], sources: str = keys.OF_STREAMS, has_time: bool = False
    ) -> "EventTimeSettings":
        """Of a merged config; TopologyError naming the key that is wrong.

        `sources` is the default of the key of that name; `has_time`: timestamps do not come from a
        field, but from the bolt.
        """
        merged = {keys.WATERMARK_SOURCES: sources, **keys.with_fallbacks(config)}
        field, late = (keys.given(merged, key) for key in (keys.TIMESTAMP_FIELD, keys.LATE_STREAM))
        if late is not None and field is None and not has_time:
            raise TopologyError(
                f"{keys.LATE_STREAM} is {late!r}, but no tuple is late by processing time: set"
                f" {keys.TIMESTAMP_FIELD}, too"
            )
        end_after = keys.given(merged, keys.WATERMARK_END_AFTER_MS)
        return EventTimeSettings(
            field,
            keys.value_of(merged, keys.TIMESTAMP_LAG_MS),
            keys.value_of(merged, keys.WINDOW_LATENESS_MS),
            keys.value_of(merged, keys.WATERMARK_INTERVAL_MS),
            keys.given(merged, keys.WATERMARK_IDLE_MS),
            end_after,
            _show_after_ms(merged) if end_after is None else None,
            keys.value_of(merged, keys.TIMESTAMP_AHEAD_MS),
            late,
            keys.watermark_sources(merged),
        )

    @property
    def tick_secs(self) -> float:
        """Seconds between two looks at the clock."""
        return (self.interval_ms or MILLISECONDS) / MILLISECONDS


def request_slide_ticks(context: Any, slide_ms: int) -> None:
    """Ticks by which windows by processing time are shown soon after each slide has ended."""
    if isinstance(context, TopologyContext):  # a test may have no context, or its own
        secs = min(slide_ms / SLIDE_TICKS / MILLISECONDS, SLIDE_TICK_SECS_MAX)
        context.request_ticks(max(TICK_SECS_MIN, secs))


class EventClock:
    """The watermark of a bolt's instance, from the timestamps of the input."""

    def __init__(
        self,
        name: str,
        settings: EventTimeSettings,
        context: Any,
        clock: Callable[[], float],
        timestamp_of: Callable[[Any], Any],
        strategy: WatermarkStrategy | None = None,
        event_of: Callable[[Any], Any] = lambda tup: tup,
    ) -> None:
        """`clock` gives seconds since 1970, `timestamp_of` the milliseconds of a tuple, `event_of`
        what the strategy sees of it. Without a strategy events may be behind by the settings' lag.
        """
        refuse_methods(f"{name}: watermarks", strategy, ("partition", "watermark_ms"))
        self._name = name
        self._settings = settings
        self._clock = clock
        self._timestamp_of = timestamp_of
        self._strategy = strategy
        self._event_of = event_of
        self._partitions: dict[Source, set[Source]] = {}
        """(component, task) -> partitions (component, task, partition)"""
        self._by_task = settings.sources == keys.OF_TASKS
        self._wire = _tasks_by_component(context)
        """component -> newest watermarks of the component's tasks, received with the data"""
        self._late_dropped = _late_metric(context)
        self.first_end = FirstEnd(None)
        """Replaced if the bolt keeps state."""
        sources = _sources(context, self._by_task)
        self._streams = [] if self._by_task else sources
        self.generator = WatermarkGenerator(
            sources, settings.lag_ms, settings.idle_ms, self.now_ms()
        )

    def now_ms(self) -> int:
        """Processing time."""
        return int(self._clock() * MILLISECONDS)

    def timestamp_of(self, tup: Any, now_ms: int) -> int:
        """A tuple's timestamp; ComponentError naming the source for an invalid timestamp."""
        value = self._timestamp_of(tup)
        if isinstance(value, datetime):
            value = milliseconds_of(value)
        if type(value) is not int:
            raise ComponentError(
                f"{self._origin(tup)}: a timestamp is a datetime or a whole number of milliseconds"
                f" since 1970, not {value!r}"
            )
        if value > now_ms + self._settings.ahead_ms:
            raise ComponentError(
                f"{self._origin(tup)}: timestamp {value} is {value - now_ms} ms ahead of the clock,"
                f" more than the {self._settings.ahead_ms} of {keys.TIMESTAMP_AHEAD_MS}"
            )
        return value

    def late_dropped(self, number: int) -> None:
        """Count late tuples without a late stream."""
        self._late_dropped.incr(number)

    def is_complete(self, retains_tracked: bool) -> bool:
        """Whether retained tuples are complete because all sources have finished.

        A task with output after its end (from a bolt's tick or `on_finish`) reports its end
        again. Tuples of other tasks may follow, so from the second report on, retained tuples
        wait for `on_finish`, unless a spout waits for their acks (`retains_tracked`).
        """
        if not self.generator.has_ended:
            return False
        is_first = self.first_end.is_now()
        return is_first or retains_tracked

    def has_ended(self, now_ms: int, retained: int, logger: Any) -> bool:
        """Whether the input has been idle long enough to complete the `retained` windows or
        tuples."""
        limit_ms = self._settings.end_after_ms
        if limit_ms is None or not retained or self.generator.silent_ms(now_ms) < limit_ms:
            return False
        logger.warning(
            "no tuple has come for %d ms (%s), so the %d open windows are complete",
            limit_ms, keys.WATERMARK_END_AFTER_MS, retained,
        )  # fmt: skip
        return True

    def is_quiet(self, now_ms: int) -> bool:
        """Whether the input has been idle long enough for early results and acks."""
        limit_ms = self._settings.show_after_ms
        return limit_ms is not None and self.generator.silent_ms(now_ms) >= limit_ms

    def seen(self, tup: Any, timestamp_ms: int, now_ms: int) -> None:
        """A tuple with a validated timestamp."""
        source = (tup.component, tup.task if self._by_task else tup.stream)
        if self._strategy is None:
            self.generator.seen(source, timestamp_ms, now_ms)
        else:
            self._seen_by(self._strategy, source, tup, timestamp_ms, now_ms)
        if self._wire and tup.component in self._wire:
            self._wire[tup.component].reopened(tup.task)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """Watermark of an input task; END_OF_TIME: the task has finished."""
        now_ms = self.now_ms()
        if self._by_task:
            for source in self._partitions.get((component, task), ((component, task),)):
                self.generator.received(source, watermark_ms, now_ms)
            return
        tasks = self._wire.setdefault(component, SourceWatermarks([task]))
        tasks.take(task, watermark_ms)
        for source in self._streams:
            if source[0] == component:
                self.generator.received(source, tasks.lowest_ms, now_ms)

    def _seen_by(
        self, strategy: WatermarkStrategy, source: Source, tup: Any, timestamp_ms: int, now_ms: int
    ) -> None:
        event = self._event_of(tup)
        partition = strategy.partition(event)
        if partition is not None:
            source = self._part(source, partition, now_ms)
        self.generator.heard(source, now_ms)
        watermark_ms = strategy.watermark_ms(event, timestamp_ms)
        if watermark_ms is not None:
            if type(watermark_ms) is not int:
                raise ComponentError(
                    f"{self._origin(tup)}: {type(strategy).__name__} gives the watermark"
                    f" {watermark_ms!r}; it is a whole number of milliseconds since 1970, or None"
                )
            self.generator.received(source, min(watermark_ms, END_OF_TIME - 1), now_ms)

    def _part(self, source: Source, partition: Any, now_ms: int) -> Source:
        """Treat the partition as a source, in place of its task."""
        parts = self._partitions.setdefault(source, set())
        part = (*source, partition)
        if part not in parts:
            parts.add(part)
            self.generator.divide(source, [part], now_ms)
        return part

    def state(self) -> ClockState:
        """Current watermark and the source that delays the watermark; from any thread."""
        return self.generator.statistics(self.now_ms())

    def watermark_ms(self, now_ms: int) -> int:
        """The watermark now."""
        return self.generator.advance(now_ms)

    def _origin(self, tup: Any) -> str:
        field = "" if self._settings.field is None else f", field {self._settings.field!r}"
        return f"bolt {self._name!r}: a tuple of {tup.component}, stream {tup.stream!r}{field}"


def milliseconds_of(time: datetime) -> int:
    """Since 1970; a datetime without a time zone is UTC, as everywhere here."""
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _late_metric(context: Any) -> CountMetric:
    """One reporter per instance, for any number of clocks; totals are exact at the instance's
    end."""
    if not isinstance(context, TopologyContext):  # a test may have no context, or its own
        return TupleCount()
    known = getattr(context, "metrics", {}).get(LATE_DROPPED)
    if known is not None:
        registered: CountMetric = known[0]
        return registered
    metric = TupleCount()
    context.register_metric(LATE_DROPPED, metric, 0)
    return metric


def _show_after_ms(config: Mapping[str, Any]) -> int | None:
    """A tracked tuple that waits for more input than comes would fail and come again: at the end
    of a finite run, say, whose spouts wait for it. So half of the message timeout is the limit."""
    merged = keys.with_defaults(config)
    if merged[keys.RELIABILITY_MODE] != keys.ATLEAST_ONCE:
        return None
    if not keys.flag(merged, keys.ENABLE_MESSAGE_TIMEOUTS):
        return None
    return int(keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS) * MILLISECONDS / 2)


def field_of(name: str, field: str) -> Callable[[Any], Any]:
    """Reads a field; ComponentError with the list of fields for an unknown field."""

    def timestamp_of(tup: Any) -> Any:
        fields = tup.fields
        if field not in fields:
            hint = choices("fields", field, fields)
            raise ComponentError(
                f"bolt {name!r}: {keys.TIMESTAMP_FIELD} is {field!r}, which is not a field of"
                f" {tup.component}, stream {tup.stream!r}; {hint}"
            )
        return tup.values[fields.index(field)]

    return timestamp_of


def request_ticks(
    context: Any, settings: EventTimeSettings, trigger: Trigger = AT_WATERMARK
) -> None:
    """Ticks as often as a watermark is due, or the shortest time of the trigger."""
    waits = [
        each / MILLISECONDS for each in (trigger.early_ms, trigger.late_ms) if each is not None
    ]
    if isinstance(context, TopologyContext):  # a test may have no context, or its own
        context.request_ticks(max(TICK_SECS_MIN, min([settings.tick_secs, *waits])))


def _sources(context: Any, by_task: bool) -> list[Source]:
    """All input streams of the bolt."""
    inputs: Any = getattr(context, "get_this_sources", dict)() or {}
    sources: list[Source] = []
    for stream in inputs:
        if not by_task:
            sources.append((stream.component_name, stream.id))
        else:
            tasks = context.get_component_tasks(stream.component_name)
            sources.extend((stream.component_name, task) for task in tasks)
    return sources


def _tasks_by_component(context: Any) -> dict[str, SourceWatermarks]:
    found: Any = getattr(context, "get_this_sources", dict)() or {}
    names = {each.component_name for each in found}
    return {name: SourceWatermarks(context.get_component_tasks(name)) for name in names}
