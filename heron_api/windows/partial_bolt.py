"""PartialBolt and MergeWindowBolt: one aggregate by many tasks. An extension of heronpy's API."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.topology_context import TopologyContext
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import TimedBolt
from heron_api.windows.event_time import MILLISECONDS
from heron_api.windows.keyed_window_bolt import KeyedWindowBolt
from heron_api.windows.partial_runner import (
    EVENTS_MAX,
    LINGER_MS,
    EmittedPart,
    PartialPlan,
    PartialRunner,
    WatermarkOfPart,
    key_of_values,
    partial_problem,
)
from heron_core.algorithms.event_windows.assigners import Assigner
from heron_core.errors import ComponentError
from heron_core.state.monoid import Merged, Monoid
from heron_core.validation import choices

PARTIAL_FIELDS = list(EmittedPart._fields)
"""key, time_ms, partial, events, watermark_ms"""


def _monoid_problem(cls: Any) -> str | None:
    if isinstance(getattr(cls, "monoid", None), Monoid):
        return None
    return f"class {cls.__name__} has no monoid, as in monoid = HyperLogLog()"


class PartialBolt(TimedBolt[ReadRow], StatefulComponent):
    """Aggregates its share of a stream by key and slice of a window, and emits partial values.

        class VisitorsOfShare(PartialBolt):
            monoid = HyperLogLog()
            key_fields = ["page"]
            timestamp_field = "time_ms"
            lag_ms = 5_000
            window = Tumbling(3_600_000)

            def value(self, tup):
                return tup.user

        class Visitors(MergeWindowBolt):
            outputs = ["page", "start_ms", "end_ms", "visitors"]
            monoid, window = VisitorsOfShare.monoid, VisitorsOfShare.window

        share = VisitorsOfShare.spec(par=4, inputs=[visits])                 # shuffled
        visitors = Visitors.spec(inputs={share: Grouping.fields("key")})

    Without a window all elements of a key have one value, and a bolt with
    `mergeable_state(monoid)` grouped by "key" merges `tup.partial` into it.
    """

    outputs = PARTIAL_FIELDS
    monoid: Monoid[Any]
    window: Assigner | None = None
    """As in the MergeWindowBolt; sessions are not divided."""
    key_fields: Sequence[str] = ()
    """The emitted `key` is the value of the one field, a tuple of several, None of none."""
    linger_ms: int = LINGER_MS
    """Between two emits."""
    events_max: int = EVENTS_MAX
    """Between two emits."""
    saved_at_least_once = False
    """Tuples whose value is not emitted are not acked: they come again."""
    time_runner: PartialRunner

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing monoid, windows that have no slices."""
        if problem := _monoid_problem(cls) or partial_problem(cls.window):
            return problem if problem.startswith("class ") else f"class {cls.__name__}: {problem}"
        if problem := super().load_problem(config, runs_here):
            return problem
        has_time = cls.settings_of(config).field is not None or cls._has_own_time()
        if has_time != (cls.window is not None):
            missing = "window" if has_time else "timestamp_field"
            return f"class {cls.__name__}: a window needs a timestamp: its {missing} is missing"
        return None

    def init_state(self, stateful_state: State) -> None:
        """Values that are not emitted yet are in the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: TopologyContext) -> None:
        """Make the values, and ask for ticks; call super when overriding."""
        clock, _ = self.begin_clock(config, context)
        plan = PartialPlan(self.monoid, self.window, self.events_max)
        self.time_runner = PartialRunner(
            self, clock, self.settings, plan, self._state, self._emit_part
        )
        self._positions: dict[tuple[str, str], list[int]] = {}
        if isinstance(context, TopologyContext):  # a test may have no context, or its own
            context.request_ticks(self.linger_ms / MILLISECONDS)

    def key(self, tup: Any) -> Hashable:
        """The key of a tuple: of its `key_fields`, unless overridden."""
        origin = (tup.component, tup.stream)
        positions = self._positions.get(origin)
        if positions is None:
            positions = self._positions[origin] = [self._position(tup, n) for n in self.key_fields]
        return key_of_values([tup.values[each] for each in positions])

    def _position(self, tup: Any, name: str) -> int:
        if name not in tup.fields:
            raise ComponentError(
                f"class {type(self).__name__}: key field {name!r} is not a field of"
                f" {tup.component}, stream {tup.stream!r}; {choices('fields', name, tup.fields)}"
            )
        return int(tup.fields.index(name))

    def value(self, tup: Any) -> Any:
        """The element that is added of a tuple: the tuple, unless overridden."""
        return tup

    def process(self, tup: Any) -> None:
        """Add a tuple."""
        self.time_runner.process(tup, self.key(tup), lambda: self.value(tup))

    def fail_retained(self) -> bool:
        """Fail the tuples before the emit of their values; the remaining values can be divided."""
        self.time_runner.fail_retained()
        return True

    def _emit_part(self, part: EmittedPart, anchors: list[Any]) -> None:
        self.emit(list(part), anchors=anchors)


class MergeWindowBolt(KeyedWindowBolt[ReadRow]):
    """Windows of the values of a PartialBolt of the same monoid and window, grouped by "key".

    Emits [key, start_ms, end_ms, estimate], or what `values` returns.
    """

    monoid: Monoid[Any]
    key_fields = ["key"]
    timestamp_field = "time_ms"
    watermarks = WatermarkOfPart(lambda tup: tup.values[EmittedPart._fields.index("watermark_ms")])

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if _monoid_problem(cls) is None:
            cls.aggregate = Merged(cls.monoid)

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: a missing monoid or window."""
        return _monoid_problem(cls) or super().load_problem(config, runs_here)

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        """The partial value."""
        return tup.values[EmittedPart._fields.index("partial")]
