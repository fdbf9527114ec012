"""Streamlets with a time and a key: what windows and joins are made of. heronpy has none.

clicks.with_event_time(lambda click: click["time_ms"], lag_ms=5_000).key_by(
    lambda click: click["ad"]
).window(Tumbling(60_000), allowed_lateness_ms=10_000).aggregate(Count())

Neither of these adds a stage; `aggregate`, `reduce` and the joins do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from heron_api.method_shapes import CheckedCall
from heron_api.windows.partial_runner import partial_problem
from heron_api.windows.window_runner import checked_aggregate
from heron_core.algorithms.event_windows.aggregates import Aggregate, Reduce
from heron_core.algorithms.event_windows.assigners import Assigner, checked_ms
from heron_core.algorithms.event_windows.interval_join import IntervalJoin
from heron_core.algorithms.event_windows.strategies import WatermarkStrategy
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.patterns import Pattern
from heron_core.errors import ComponentError
from heron_core.records import replace
from heron_core.state.monoid import Monoid
from heronpy_compat.streamlet.elements import Element, Function, Made, Right
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.eventstage import EventStage, EventStageStreamlet, Side
from heronpy_compat.streamlet.impl.eventwindowbolt import EventWindowStreamlet
from heronpy_compat.streamlet.impl.intervaljoinbolt import IntervalJoinStreamlet
from heronpy_compat.streamlet.impl.partialbolt import merged_partials
from heronpy_compat.streamlet.impl.processbolt import ProcessStreamlet
from heronpy_compat.streamlet.impl.stage import checked_function, checked_object
from heronpy_compat.streamlet.impl.windowjoinbolt import JOINS, WindowJoinStreamlet
from heronpy_compat.streamlet.keyedprocess import FunctionProcess, KeyedProcess
from heronpy_compat.streamlet.patternprocess import PatternProcess
from heronpy_compat.streamlet.streamlet import Streamlet

if TYPE_CHECKING:
    from heronpy_compat.streamlet.groupedstreamlet import GroupedStreamlet


@dataclass(frozen=True, slots=True)
class TimedStreamlet(Generic[Element]):
    """A streamlet with the times of elements: a timestamp function, or by default the arrival.

    Example:

        timed = clicks.with_event_time(lambda click: click["time_ms"], lag_ms=20_000)
    """

    streamlet: Streamlet[Element]
    timestamp_function: Function | None = None
    lag_ms: int = 0
    idle_ms: int | None = None
    watermarks: WatermarkStrategy | None = None

    def __post_init__(self) -> None:
        if self.watermarks is not None and not isinstance(self.watermarks, WatermarkStrategy):
            raise StreamletError(f"watermarks takes a WatermarkStrategy, not {self.watermarks!r}")
        checked_object("watermarks", self.watermarks, ("partition", "watermark_ms"))
        if self.timestamp_function is not None:
            checked_function("with_event_time", self.timestamp_function)
        checked_ms("lag_ms", self.lag_ms, 0)
        if self.idle_ms is not None:
            checked_ms("idle_ms", self.idle_ms)

    def key_by(self, key_function: Callable[[Element], object]) -> "KeyedStreamlet[Element]":
        """By the function's result for each element; equal keys meet in one partition."""
        return KeyedStreamlet(self, _checked_call("key_by", key_function))

    def group_by(self, key_function: Callable[[Element], object]) -> "GroupedStreamlet[Element]":
        """As of a streamlet; states time out, and batches end, by event time."""
        return self.streamlet._grouped(self.key_by(key_function))

    def group_by_key(self) -> "GroupedStreamlet[Any]":
        """The same of elements (key, value)."""
        return self.streamlet._grouped_by_key(self)

    def window(
        self, window: Assigner, trigger: Trigger = AT_WATERMARK, allowed_lateness_ms: int = 0
    ) -> "WindowedStreamlet[Element]":
        """Windows of all elements together; results are (Window, result), of one partition."""
        return WindowedStreamlet(self, None, window, trigger, allowed_lateness_ms)


@dataclass(frozen=True, slots=True)
class KeyedStreamlet(Generic[Element]):
    """A timed streamlet with the keys of elements.

    Example:

        clicks.with_event_time(time_of, lag_ms=20_000).key_by(ad_of).process(InactiveAds())
    """

    timed: TimedStreamlet[Element]
    key_function: Function

    def window(
        self, window: Assigner, trigger: Trigger = AT_WATERMARK, allowed_lateness_ms: int = 0
    ) -> "WindowedStreamlet[Element]":
        """Windows of each key: Tumbling, Sliding, Session or Global of heronpy_compat.windows."""
        return WindowedStreamlet(
            self.timed, self.key_function, window, trigger, allowed_lateness_ms
        )

    def process(self, function: Any, on_timer: Any = None) -> EventStageStreamlet[Any]:
        """The elements produced by a function per key, with state and timers.

        `function` is a KeyedProcess (or a subclass), or function(element, context), which returns
        or yields elements; on_timer(timestamp_ms, context) then handles timers.
        """
        return self.processed(_checked_process(function, on_timer))

    def match(self, pattern: Pattern) -> EventStageStreamlet[tuple[Any, list[Element]]]:
        """(key, [events]) of each match of a pattern: `sequence(a, b).within(60).not_(c)`.
        StreamletError for another type, or a pattern without events."""
        if not isinstance(pattern, Pattern):
            raise StreamletError(
                f"match takes a pattern, sequence(a, b).within(60), not {pattern!r}"
            )
        if problem := pattern.problem():
            raise StreamletError(f"match: {problem}")
        for function in (*pattern.steps, *pattern.excluded):
            checked_function("match", function)
        return self.processed(PatternProcess(pattern), "match")

    def processed(
        self, process: KeyedProcess, prefix: str = ProcessStreamlet.prefix
    ) -> EventStageStreamlet[Any]:
        """Like `process` for a validated object; the stage is named after `prefix`."""
        stage = EventStage(
            left=self._side(), lag_ms=self.timed.lag_ms, idle_ms=self.timed.idle_ms,
            watermarks=self.timed.watermarks, process=process,
        )  # fmt: skip
        parent = self.timed.streamlet
        return _added(ProcessStreamlet(stage, parent, prefix), parent)

    def window_join(
        self,
        other: "KeyedStreamlet[Right]",
        window: Assigner,
        join_function: Callable[[Any, Any], Made],
        kind: str = "inner",
        allowed_lateness_ms: int = 0,
    ) -> EventStageStreamlet[tuple[Any, Made]]:
        """(KeyedWindow, join_function(left, right)) of each pair with equal keys in a window.

        `kind` is inner, left, right or outer; a missing side is None. Late elements go to
        `late_elements()`. StreamletError for another kind.
        """
        if kind not in JOINS:
            raise StreamletError(f"a join is {', '.join(JOINS)}, not {kind!r}")
        stage = replace(
            self._join_stage(other, "window_join", join_function),
            window=_checked_window(window), kind=kind, lateness_ms=allowed_lateness_ms,
        )  # fmt: skip
        return self._joined(WindowJoinStreamlet, other, stage)

    def interval_join(
        self,
        other: "KeyedStreamlet[Right]",
        lower_ms: int,
        upper_ms: int,
        join_function: Callable[[Element, Right], Made],
    ) -> EventStageStreamlet[tuple[Any, Made]]:
        """(key, join_function(left, right)) of each pair with equal keys whose right element is
        `lower_ms` to `upper_ms` later than the left element. StreamletError without event time on
        both sides."""
        IntervalJoin(lower_ms, upper_ms)
        stage = self._join_stage(other, "interval_join", join_function)
        if stage.left.timestamp is None or (stage.right and stage.right.timestamp is None):
            raise StreamletError("interval_join needs with_event_time on both sides")
        stage = replace(stage, bounds_ms=(lower_ms, upper_ms))
        return self._joined(IntervalJoinStreamlet, other, stage)

    def _join_stage(self, other: Any, what: str, join_function: Any) -> EventStage:
        if not isinstance(other, KeyedStreamlet):
            raise StreamletError(
                f"{what}: its partner must be a streamlet after key_by, not {other!r}"
            )
        if other.timed.streamlet is self.timed.streamlet:
            raise StreamletError(
                f"{what}: a streamlet cannot be its own partner; clone() one first"
            )
        if (self.timed.timestamp_function is None) != (other.timed.timestamp_function is None):
            raise StreamletError(
                f"{what}: with_event_time is missing on one side; set event time on both sides "
                "or on neither"
            )
        if self.timed.watermarks != other.timed.watermarks:
            raise StreamletError(
                f"{what}: the two sides have different watermarks; use the same on both or on "
                "neither"
            )
        idle = [each for each in (self.timed.idle_ms, other.timed.idle_ms) if each is not None]
        return EventStage(
            left=self._side(), right=other._side(),
            lag_ms=max(self.timed.lag_ms, other.timed.lag_ms), idle_ms=max(idle, default=None),
            watermarks=self.timed.watermarks,
            function=_checked_call(what, join_function),
        )  # fmt: skip

    def _side(self) -> Side:
        return Side(self.timed.timestamp_function, self.key_function)

    def _joined(
        self, kind: Any, other: "KeyedStreamlet[Right]", stage: EventStage
    ) -> EventStageStreamlet[Any]:
        parents = (self.timed.streamlet, other.timed.streamlet)
        return _added(kind(stage, *parents), *parents)


@dataclass(frozen=True, slots=True)
class WindowedStreamlet(Generic[Element]):
    """A timed streamlet, cut into windows.

    Example:

        by_ad = clicks.with_event_time(time_of, lag_ms=20_000).key_by(ad_of)
        counts = by_ad.window(Tumbling(60_000)).aggregate(Count())
    """

    timed: TimedStreamlet[Element]
    key_function: Function | None
    assigner: Assigner
    trigger: Trigger
    lateness_ms: int

    def __post_init__(self) -> None:
        _checked_window(self.assigner)
        checked_ms("allowed_lateness_ms", self.lateness_ms, 0)
        if not isinstance(self.trigger, Trigger):
            raise StreamletError(f"window takes a Trigger, not {self.trigger!r}")

    def aggregate(
        self, aggregate: Aggregate, partials: int | None = None
    ) -> EventStageStreamlet[tuple[Any, Any]]:
        """(KeyedWindow, result) of each window of each key, or (Window, result) without keys.

        `aggregate` has create(), add(accumulator, element), merge(left, right) and
        result(accumulator). `late_elements()` of what it returns has what came too late. With
        `partials`, so many partitions aggregate any elements of any key first, and their values are
        merged: of a Monoid (a sketch, say), and where one key has most of the elements.
        StreamletError for an invalid aggregate.
        """
        try:
            checked_aggregate(aggregate, "aggregate")
        except ComponentError as error:
            raise StreamletError(str(error)) from None
        stage = EventStage(
            left=Side(self.timed.timestamp_function, self.key_function),
            lag_ms=self.timed.lag_ms, idle_ms=self.timed.idle_ms,
            watermarks=self.timed.watermarks, lateness_ms=self.lateness_ms,
            window=self.assigner, trigger=self.trigger, aggregate=aggregate,
        )  # fmt: skip
        parent = self.timed.streamlet
        if partials is None:
            return _added(EventWindowStreamlet(stage, parent), parent)
        monoid = self._checked_partials(aggregate, partials)
        partial, merged = merged_partials(stage, monoid, parent, partials)
        _added(partial, parent)
        return _added(merged, partial)

    def _checked_partials(self, aggregate: Any, partials: Any) -> Monoid[Any]:
        if type(partials) is not int or partials < 1:
            raise StreamletError(f"partials is a number of partitions, not {partials!r}")
        if not isinstance(aggregate, Monoid):
            raise StreamletError(
                f"partials need a Monoid, whose values can be sent: {aggregate!r:.80} is none"
            )
        if self.timed.timestamp_function is None:
            raise StreamletError("partials need with_event_time: slices are those of event time")
        if problem := partial_problem(self.assigner):
            raise StreamletError(f"partials: {problem}")
        return aggregate

    def reduce(
        self, reduce_function: Callable[[Element, Element], Element]
    ) -> EventStageStreamlet[tuple[Any, Element]]:
        """Like `aggregate`: reduce_function(so far, element), from the first element on."""
        return self.aggregate(Reduce(_checked_call("reduce", reduce_function)))


def _checked_call(what: str, function: Any) -> CheckedCall:
    return CheckedCall(what, checked_function(what, function))


def _added(made: EventStageStreamlet[Any], *parents: Streamlet[Any]) -> EventStageStreamlet[Any]:
    for parent in parents:
        parent._add_child(made)
    return made


def _checked_process(function: Any, on_timer: Any) -> KeyedProcess:
    if isinstance(function, type) and issubclass(function, KeyedProcess):
        function = function()
    if not isinstance(function, KeyedProcess):
        checked_function("process", function)
        return FunctionProcess(
            function, None if on_timer is None else checked_function("process", on_timer)
        )
    if on_timer is not None:
        raise StreamletError("process: a KeyedProcess has its own on_timer")
    calls = ("process_element", "on_timer")
    checked_object("process", function, ("open", *calls), yielding=calls)
    return function


def _checked_window(window: Any) -> Assigner:
    if not all(hasattr(window, name) for name in ("windows", "cell", "merges")):
        raise StreamletError(f"a window is Tumbling, Sliding, Session or Global, not {window!r}")
    checked_object("window", window, ("windows", "cell", "last_end_ms"))
    found: Assigner = window
    return found
