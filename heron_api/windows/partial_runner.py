"""Runner of a bolt that aggregates a share of a stream, and emits the values added so far.

    tuples ── any grouping ──► N tasks: a value of each key and slice ── by key ──► merge

The elements of a key may come to any task, so all tasks share a key with most of the tuples. A
*slice* is an interval whose events belong to equal windows. A slice's value is emitted after the
linger time and begins anew, so each element is in exactly one emitted value. Values before their
emit are a partial state: saved, and merged into the parts of remaining tasks after a scale-down.

Emitted values carry the watermark of the task's emit before: all elements since then came after
the watermark, so they are not older. Late tuples leave here.

A tracked tuple is retained until the emit of its value, which is anchored to the tuple, and then
acked. Until then the value is not part of the state: a failed tuple comes again.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from heron_api.state.component_state import ComponentState
from heron_api.windows.clocked_bolt import BoltCalls, ClockRunner
from heron_api.windows.event_time import EventClock, EventTimeSettings
from heron_api.windows.window_runner import drop_late, is_tracked
from heron_core.algorithms.event_windows.assigners import Assigner
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.algorithms.event_windows.values import NO_WATERMARK, TimeWindow
from heron_core.errors import ComponentError
from heron_core.state.monoid import Monoid, Stored, added, merged, stored

LINGER_MS = 100
"""Between two emits: short beside windows, and long beside the cost of packing a value."""
EVENTS_MAX = 10_000
"""Between two emits: retained tuples and keys take memory."""
PARTS = "parts"
"""The state's name."""


class Part(NamedTuple):
    """The value of some elements of a key in a slice."""

    value: Any
    events: int
    latest_ms: int | None
    """Time of the latest event; None without event time."""


class PartOf(Monoid[Part]):
    """A monoid's values with the number of elements and the time of the latest."""

    def __init__(self, inner: Monoid[Any]) -> None:
        self.inner = inner

    @property
    def label(self) -> str:
        """See Monoid."""
        return f"a part of {self.inner.label}"

    def zero(self) -> Part:
        """See Monoid."""
        return Part(self.inner.zero(), 0, None)

    def add(self, value: Part, element: tuple[Any, int | None]) -> Part:
        """(element, its time)"""
        inner, time_ms = element
        latest_ms = _later(value.latest_ms, time_ms)
        return Part(added(self.inner, value.value, inner), value.events + 1, latest_ms)

    def merge(self, left: Part, right: Part) -> Part:
        """See Monoid."""
        return Part(
            merged(self.inner, left.value, right.value),
            left.events + right.events,
            _later(left.latest_ms, right.latest_ms),
        )

    def to_bytes(self, value: Part) -> bytes:
        """See Monoid."""
        plain = [self.inner.to_bytes(value.value), value.events, value.latest_ms]
        return Monoid[Any]().to_bytes(plain)

    def from_bytes(self, data: bytes) -> Part:
        """See Monoid."""
        inner, events, latest_ms = Monoid[Any]().from_bytes(data)
        return Part(self.inner.from_bytes(inner), events, latest_ms)

    def estimate(self, value: Part) -> Any:
        """See Monoid."""
        return self.inner.estimate(value.value)


def _later(one_ms: int | None, other_ms: int | None) -> int | None:
    times_ms = [each for each in (one_ms, other_ms) if each is not None]
    return max(times_ms, default=None)


class EmittedPart(NamedTuple):
    """An emitted value of a key and a slice."""

    key: Hashable
    time_ms: int | None
    """Of the latest event, which is in the slice; None without event time."""
    partial: Stored
    events: int
    watermark_ms: int | None
    """Lower bound of the times in later values of the task; None if unknown."""


class WatermarkOfPart(WatermarkStrategy):
    """The watermark of emitted values."""

    def __init__(self, of_event: Callable[[Any], int | None]) -> None:
        """`of_event`: event of the bolt or streamlet -> `watermark_ms`."""
        self._of_event = of_event

    def watermark_ms(self, event: Any, timestamp_ms: int) -> int | None:
        """See WatermarkStrategy."""
        return self._of_event(event)


@dataclass(slots=True)
class _Retained:
    """Tracked tuples of a key and a slice, and their value."""

    part: Part
    tuples: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PartialPlan:
    """Settings of the aggregation."""

    monoid: Monoid[Any]
    window: Assigner | None
    """None: without event time."""
    events_max: int = EVENTS_MAX


def partial_problem(window: Any) -> str | None:
    """Why windows cannot be merged from slices; None if they can."""
    if window is None or not window.merges:
        if window is None or window.is_sliced or len(window.windows(0)) == 1:
            return None
        return "sliding windows with shares_slices=False have no slices: share them"
    return "a session is known only where all events of its key are: group by the key instead"


class PartialRunner(ClockRunner):
    """The values of one task, and its clock."""

    def __init__(
        self,
        bolt: BoltCalls,
        clock: EventClock,
        settings: EventTimeSettings,
        plan: PartialPlan,
        state: Any,
        emit: Callable[[EmittedPart, list[Any]], object],
    ) -> None:
        """`emit(part, anchors)`"""
        super().__init__(clock, settings, by_event_time=plan.window is not None)
        self._bolt, self._plan, self._emit = bolt, plan, emit
        self._part_of = PartOf(plan.monoid)
        self._parts = _state_of(state).partial_state(PARTS, self._part_of)
        self._retained: dict[Hashable, _Retained] = {}
        self._events = 0
        """Since the last emit."""
        self._emitted_watermark_ms: int | None = None
        """The watermark when values were last emitted."""

    def process(self, tup: Any, key: Hashable, value: Callable[[], Any], late: Any = None) -> None:
        """Add a tuple's value to its key and slice. `late`: the value for the late stream, by
        default the tuple's values."""
        time_ms, slice_ms = None, None
        if self._plan.window is not None:
            now_ms = self._clock.now_ms()
            time_ms = self._clock.timestamp_of(tup, now_ms)
            cell = _cell(self._plan.window, time_ms)
            slice_ms = cell.start_ms
            is_late = self._is_late(cell, now_ms)
            self._clock.seen(tup, time_ms, now_ms)
            if is_late:
                shown = list(tup.values) if late is None else late
                drop_late(self._bolt, self._settings, self._clock, tup, shown)
                return
        self._add(tup, (key, slice_ms), (value(), time_ms))
        self._events += 1
        if self._events >= self._plan.events_max:
            self.tick()

    def _is_late(self, cell: TimeWindow, now_ms: int) -> bool:
        window, watermark_ms = self._plan.window, self._clock.watermark_ms(now_ms)
        assert window is not None
        return window.last_end_ms(cell) + self._settings.lateness_ms <= watermark_ms

    def _add(self, tup: Any, slot: Hashable, element: tuple[Any, int | None]) -> None:
        if not is_tracked(tup):
            self._parts.for_key(slot).add(element)
            self._bolt.ack(tup)
            return
        retained = self._retained.get(slot) or _Retained(self._part_of.zero())
        retained.part = self._part_of.add(retained.part, element)
        retained.tuples.append(tup)
        self._retained[slot] = retained

    def tick(self) -> None:
        """The linger time is over, or many values have been added: emit all values."""
        self._events = 0
        slots = {*self._retained, *self._parts.all_keys()}
        for slot in sorted(slots, key=_order):
            self._emit_slot(slot)
        if slots and self._plan.window is not None:
            watermark_ms = self._clock.watermark_ms(self._clock.now_ms())
            known = watermark_ms > NO_WATERMARK
            self._emitted_watermark_ms = watermark_ms if known else None

    def _emit_slot(self, slot: Any) -> None:
        state, retained = self._parts.for_key(slot), self._retained.pop(slot, None)
        part = state.get()
        if retained is not None:  # beside the state, which does not have what fails
            part = self._part_of.merge(
                self._part_of.merge(self._part_of.zero(), part), retained.part
            )
        tuples = [] if retained is None else retained.tuples
        try:
            packed = stored(self._plan.monoid, part.value)
            key, _ = slot
            emitted = EmittedPart(
                key, part.latest_ms, packed, part.events, self._emitted_watermark_ms
            )
            self._emit(emitted, tuples)
        except Exception:
            for tup in tuples:
                self._bolt.fail(tup)
            raise
        state.clear()
        for tup in tuples:
            self._bolt.ack(tup)

    def source_watermark(self, component: str, task: int, watermark_ms: int) -> None:
        """See Runner: when all sources have finished, all values are emitted before the task
        reports its end."""
        self._clock.source_watermark(component, task, watermark_ms)
        if self._clock.generator.has_ended:
            self.tick()

    def finish(self) -> None:
        """The end of the input."""
        self.tick()

    def fail_retained(self) -> None:
        """See Runner: untracked values stay in the state."""
        retained, self._retained = self._retained, {}
        for each in retained.values():
            for tup in each.tuples:
                self._bolt.fail(tup)


def _order(slot: Any) -> tuple[int, str]:
    """Slices by time, so that two runs emit in equal order."""
    key, slice_ms = slot
    return 0 if slice_ms is None else slice_ms, repr(key)


def _cell(window: Assigner, time_ms: int) -> TimeWindow:
    return window.cell(time_ms) if window.is_sliced else window.windows(time_ms)[0]


def _state_of(state: Any) -> ComponentState:
    if not isinstance(state, ComponentState):
        raise ComponentError("partial values need a state: use the native engine")
    return state


def key_of_values(values: Sequence[Any]) -> Hashable:
    """The key of the values of key fields: None, the value, or a tuple of them."""
    return None if not values else values[0] if len(values) == 1 else tuple(values)
