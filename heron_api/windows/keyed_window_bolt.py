"""KeyedWindowBolt: windows by event time and key. An extension of heronpy's API."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from heron_api.topology_context import TopologyContext
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import TimedBolt
from heron_api.windows.event_time import EventClock, EventTimeSettings, request_ticks
from heron_api.windows.retaining_bolt import RetainingBolt
from heron_api.windows.saved_windows import KeyOf, key_of_fields
from heron_api.windows.window_runner import AnchoredAggregate, WindowRunner, checked_aggregate
from heron_core import config as keys
from heron_core.algorithms.event_windows.aggregates import Aggregate, Count
from heron_core.algorithms.event_windows.assigners import Assigner
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.event_windows.values import Result
from heron_core.errors import ComponentError
from heron_core.validation import choices


class EventWindowBolt(RetainingBolt[ReadRow]):
    """Common base of bolts with a WindowRunner."""

    time_runner: WindowRunner
    settings: EventTimeSettings


class KeyedWindowBolt(TimedBolt[ReadRow], EventWindowBolt[ReadRow]):
    """Aggregates tuples by key and window, and emits a result when the window is complete.

        class ClicksByAd(KeyedWindowBolt):
            outputs = ["ad", "start_ms", "end_ms", "clicks"]
            key_fields = ["ad"]
            timestamp_field = "time_ms"
            window = Tumbling(60_000)
            aggregate = Count()
            lag_ms = 5_000

    Read it with `Grouping.fields("ad")`, so that equal keys meet. `aggregate` has create(),
    add(accumulator, tup), merge(left, right) and result(accumulator). Lengths are milliseconds,
    timestamps milliseconds since 1970. What the config says of `topology.bolts…` wins over the
    class. Without a timestamp field windows go by processing time.
    """

    key_fields: Sequence[str] = ()
    """Key fields; empty: all events share one key."""
    window: Assigner
    aggregate: Aggregate = Count()
    trigger: Trigger = AT_WATERMARK
    allowed_lateness_ms: int | None = None
    """Time after a window's end during which late events update the result."""
    late_stream: str | None = None
    """Stream of late events, with the one field `late_tuple`."""

    @classmethod
    def own_settings(cls) -> dict[str, Any]:
        """Config defaults from the class; None values are skipped."""
        return super().own_settings() | {
            keys.WINDOW_LATENESS_MS: cls.allowed_lateness_ms,
            keys.LATE_STREAM: cls.late_stream,
        }

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing window, an invalid value."""
        if getattr(cls, "window", None) is None:
            return f"class {cls.__name__} has no window, as in window = Tumbling(60_000)"
        if problem := super().load_problem(config, runs_here):
            return problem
        try:
            checked_aggregate(cls.aggregate, f"class {cls.__name__}")
        except ComponentError as error:
            return str(error)
        return None

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Make the windows, and ask for ticks."""
        clock, by_event_time = self.begin_clock(config, context)
        self.time_runner = self.made_runner(clock, self.settings, by_event_time)
        self._indexes: dict[tuple[str, str], list[int]] = {}
        request_ticks(context, self.settings, self.trigger)
        self.restore_windows()

    def made_runner(
        self, clock: EventClock, settings: EventTimeSettings, by_event_time: bool
    ) -> WindowRunner:
        """Create the window runner."""
        operator = WindowOperator(
            self.window, AnchoredAggregate(self.aggregate), self.trigger,
            lateness_ms=settings.lateness_ms,
        )  # fmt: skip
        return WindowRunner(self, operator, clock, settings, self._show, by_event_time)

    def grouping_key(self) -> KeyOf:
        """See RetainingBolt: derived from `key_fields`; None for an overridden `key`, which may
        return any value."""
        if type(self).key is not KeyedWindowBolt.key:
            return None
        return key_of_fields(self.saved_state, self.key_fields)

    def key(self, tup: ReadRow) -> Hashable:
        """The key of an event: the values of `key_fields`, as a tuple."""
        origin = (tup.component, tup.stream)
        indexes = self._indexes.get(origin)
        if indexes is None:
            indexes = self._indexes[origin] = self._found_fields(tup)
        values = tup.values
        return tuple([values[index] for index in indexes])

    def _found_fields(self, tup: Any) -> list[int]:
        fields = tup.fields
        for name in self.key_fields:
            if name not in fields:
                raise ComponentError(
                    f"class {type(self).__name__}: key field {name!r} is not a field of"
                    f" {tup.component}, stream {tup.stream!r}; {choices('fields', name, fields)}"
                )
        return [fields.index(name) for name in self.key_fields]

    def value(self, tup: ReadRow, timestamp_ms: int) -> Any:
        """Input of `aggregate` for an event: the tuple, unless overridden."""
        return tup

    def values(self, result: Result) -> Sequence[Any]:
        """Output of a result: the key's values, start and end of the window in ms, the
        aggregate's result. `result.firing` is "early", "on time" or "late"; None emits no tuple."""
        key: Any = result.key
        return [*key, *result.window, result.value]

    def process(self, tup: Any) -> None:
        """Add an event."""
        self.time_runner.process(tup, self.key(tup), lambda time_ms: self.value(tup, time_ms))

    def _show(self, result: Result, anchors: list[Any]) -> None:
        value, _ = result.value
        values = self.values(Result(result.key, result.window, value, result.firing, result.number))
        if values is not None:
            self.emit(values, anchors=anchors)
