"""Stream, PairStream and StreamState (org.apache.storm.streams): Storm's Streams API.

A stream is a description until `StreamBuilder.build` creates streamlets, because the queries of a
state are known only then. Operations after a window run on the elements of each window, in the
window's bolt, up to the first operation on single elements.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.streamlet import Streamlet
from heronpy_compat.streams.aggregators import (
    CollectedValues,
    ElementCount,
    KeyStateUpdater,
    Reduction,
    StreamAggregator,
    checked_aggregator,
    checked_updater,
)
from heronpy_compat.streams.stages import (
    UPDATE,
    RunningAggregate,
    SinkStreamlet,
    StateByKey,
    StreamWindowStreamlet,
)
from heronpy_compat.streams.window_operations import (
    AggregateAll,
    AggregateKeys,
    FilterEach,
    FlatMapEach,
    GroupSides,
    JoinSides,
    MapEach,
    Then,
    WindowRun,
    only_source,
)
from heronpy_compat.streams.windows import StreamWindows

Function = Callable[[Any], Any]
Kind = TypeVar("Kind", bound="Stream")


@dataclass(frozen=True, slots=True)
class WindowPart:
    """The window of a stream and the operations on its elements."""

    windows: StreamWindows
    sources: "tuple[Stream, ...]"
    run: WindowRun = only_source


class StreamGraph:
    """All streams of a builder, in order of creation."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []

    def build(self) -> None:
        """Create streamlets for all leaf streams and their ancestors."""
        for stream in list(self.streams):
            if not stream.is_used:
                stream.streamlet()


class Stream:
    """Elements; made by `StreamBuilder.newStream` and by the operations.

    Example:

        builder = StreamBuilder()
        lines = builder.newStream(Lines, ValueMapper(0))
        words = lines.flatMap(str.split).filter(str.isalpha)
        words.print()
    """

    def __init__(
        self, graph: StreamGraph, make: Callable[[], Streamlet], window: WindowPart | None = None
    ) -> None:
        self._graph, self._make, self._window = graph, make, window
        self._made: Streamlet | None = None
        self._is_being_made = False
        self.is_used = False
        graph.streams.append(self)

    def filter(self, predicate: Function) -> Self:
        """The elements for which the predicate returns a true value."""
        checked_function("filter", predicate)
        return self._each(type(self), FilterEach(predicate), lambda made: made.filter(predicate))

    def map(self, function: Function) -> "Stream":
        """The result of the function for each element."""
        checked_function("map", function)
        return self._each(Stream, MapEach(function), lambda made: made.map(function))

    def mapToPair(self, function: Function) -> "PairStream":
        """Like `map`, for results (key, value)."""
        checked_function("map", function)
        return self._each(PairStream, MapEach(function), lambda made: made.map(function))

    def flatMap(self, function: Function) -> "Stream":
        """The items of the function's result for each element."""
        checked_function("flat_map", function)
        return self._each(Stream, FlatMapEach(function), lambda made: made.flat_map(function))

    def flatMapToPair(self, function: Function) -> "PairStream":
        """Like `flatMap`, for items (key, value)."""
        checked_function("flat_map", function)
        return self._each(PairStream, FlatMapEach(function), lambda made: made.flat_map(function))

    def window(self, windows: StreamWindows) -> Self:
        """The elements in windows: aggregates and joins behind it are of each window.
        StreamletError for another type."""
        if not isinstance(windows, StreamWindows):
            raise StreamletError(
                f"window takes TumblingWindows.of(…) or SlidingWindows.of(…), not {windows!r}"
            )
        self.is_used = True
        return self._windowed(type(self), WindowPart(windows, (self,)))

    def peek(self, action: Function) -> Self:
        """The elements, unchanged; the action is called for each element."""
        checked_function("peek", action)
        seen = _Seen(action)
        return self._derived(type(self), lambda: self.streamlet().map(seen))

    def forEach(self, action: Function) -> None:
        """Call the action for each element."""
        checked_function("forEach", action)
        self._end(lambda made: made.consume(action))

    def print(self) -> None:
        """Write the elements to the log."""
        self._end(Streamlet.log)

    def to(self, bolt: Any, parallelism: int = 1, config: Mapping[str, Any] | None = None) -> None:
        """A bolt's class gets the elements: as tuples (value), or (key, value). StreamletError for
        another type."""
        if not isinstance(bolt, type):
            raise StreamletError(f"to takes the class of a bolt, not {bolt!r}")
        is_pair = isinstance(self, PairStream)

        def end(source: Streamlet) -> None:
            sink = SinkStreamlet(bolt, parallelism, is_pair, config or {}, source)
            source._add_child(sink)

        self._end(end)

    def aggregate(self, aggregator: Any, *functions: Any) -> "Stream":
        """One aggregate of all elements, emitted with each; of a window's, behind each window."""
        chosen = checked_aggregator("aggregate", aggregator, functions)
        return self._aggregated(chosen)

    def reduce(self, reducer: Callable[[Any, Any], Any]) -> "Stream":
        """Like `aggregate`, by reducer(so far, element), from the first element on."""
        return self._aggregated(Reduction(reducer))

    def count(self) -> "Stream":
        """Like `aggregate`: the number of elements."""
        return self._aggregated(ElementCount())

    def repartition(self, parallelism: int) -> Self:
        """The elements, redistributed over the given number of instances. StreamletError unless 1
        or more."""
        if type(parallelism) is not int or parallelism < 1:
            raise StreamletError(f"repartition takes a number from 1 on, not {parallelism!r}")
        return self._derived(type(self), lambda: self.streamlet().repartition(parallelism))

    def branch(self, *predicates: Function) -> list[Self]:
        """One stream per predicate: an element goes to the first predicate with a true result, and
        is dropped if all results are false. StreamletError without predicates."""
        if not predicates:
            raise StreamletError("branch takes a predicate for each stream")
        for predicate in predicates:
            checked_function("branch", predicate)
        return [
            self._derived(type(self), self._filtered(_FirstTrue(predicates[: number + 1])))
            for number in range(len(predicates))
        ]

    def stateQuery(self, state: "StreamState") -> "PairStream":
        """(element, state of the element as a key), with None for a missing state. StreamletError
        for another type."""
        if not isinstance(state, StreamState):
            raise StreamletError(f"stateQuery takes the result of updateStateByKey, not {state!r}")
        self.is_used = True
        return state._queried(self)

    def streamlet(self) -> Streamlet:
        """The streamlet of the stream, created at the first call. StreamletError for a circular
        query."""
        if self._made is None:
            if self._is_being_made:
                raise StreamletError("a query of a state depends on its own answers")
            self._is_being_made = True
            self._made = self._make()
        return self._made

    def _each(
        self, kind: type[Kind], of_window: Callable[[list[Any]], list[Any]],
        of_stream: Callable[[Streamlet], Streamlet],
    ) -> Kind:  # fmt: skip
        if self._window is None:
            return self._derived(kind, lambda: of_stream(self.streamlet()))
        return self._in_window(kind, of_window)

    def _in_window(self, kind: type[Kind], operation: Callable[[list[Any]], list[Any]]) -> Kind:
        assert self._window is not None
        self.is_used = True
        part = WindowPart(
            self._window.windows, self._window.sources, Then(self._window.run, operation)
        )
        return self._windowed(kind, part)

    def _windowed(self, kind: type[Kind], part: WindowPart) -> Kind:
        return kind(self._graph, lambda: _window_streamlet(part), part)

    def _derived(self, kind: type[Kind], make: Callable[[], Streamlet]) -> Kind:
        self.is_used = True
        return kind(self._graph, make)

    def _filtered(self, predicate: Function) -> Callable[[], Streamlet]:
        return lambda: self.streamlet().filter(predicate)

    def _end(self, end: Callable[[Streamlet], object]) -> None:
        def make() -> Streamlet:
            end(self.streamlet())
            return self.streamlet()

        self._derived(Stream, make)

    def _aggregated(self, aggregator: StreamAggregator) -> "Stream":
        if self._window is not None:
            return self._in_window(Stream, AggregateAll(aggregator))
        running = RunningAggregate(aggregator, is_keyed=False)

        def make() -> Streamlet:
            made: Streamlet = self.streamlet().key_by(_no_key).process(running)
            return made.set_num_partitions(1)

        return self._derived(Stream, make)


class PairStream(Stream):
    """Elements (key, value).

    Example:

        pairs = words.mapToPair(lambda word: (word, 1))
        counts = pairs.reduceByKey(lambda first, second: first + second)
        counts.forEach(print)
    """

    def mapValues(self, function: Function) -> "PairStream":
        """(key, result of the function for the value)."""
        return self.mapToPair(_OfValue(checked_function("mapValues", function)))

    def flatMapValues(self, function: Function) -> "PairStream":
        """(key, item) for each item of its result for the value."""
        return self.flatMapToPair(_ItemsOfValue(checked_function("flatMapValues", function)))

    def aggregateByKey(self, aggregator: Any, *functions: Any) -> "PairStream":
        """(key, aggregate), emitted with each value; of a window's, behind each window."""
        return self._by_key(checked_aggregator("aggregateByKey", aggregator, functions))

    def reduceByKey(self, reducer: Callable[[Any, Any], Any]) -> "PairStream":
        """Like `aggregateByKey`, by reducer(so far, value), from a key's first value on."""
        return self._by_key(Reduction(reducer))

    def countByKey(self) -> "PairStream":
        """Like `aggregateByKey`: the number of values of a key."""
        return self._by_key(ElementCount())

    def groupByKey(self) -> "PairStream":
        """Like `aggregateByKey`: (key, list of the key's values)."""
        return self._by_key(CollectedValues())

    def groupByKeyAndWindow(self, windows: StreamWindows) -> "PairStream":
        """(key, list of the key's values) of each window."""
        return self.window(windows).groupByKey()

    def reduceByKeyAndWindow(
        self, reducer: Callable[[Any, Any], Any], windows: StreamWindows
    ) -> "PairStream":
        """(key, result) of each window."""
        return self.window(windows).reduceByKey(reducer)

    def updateStateByKey(self, updater: Any, *functions: Any) -> "StreamState":
        """One state per key, updated by values: a StateUpdater, or an initial state and a
        function(state, value)."""
        self.is_used = True
        return StreamState(self._graph, self, checked_updater(updater, functions))

    def join(self, other: "PairStream", joiner: Any = None) -> "PairStream":
        """(key, (value, other value)) for each pair of values with equal keys in a window, or (key,
        joiner(value, other value))."""
        return self._joined("join", other, joiner, (False, False))

    def leftOuterJoin(self, other: "PairStream", joiner: Any = None) -> "PairStream":
        """Like `join`, with None for a value missing in `other`."""
        return self._joined("leftOuterJoin", other, joiner, (True, False))

    def rightOuterJoin(self, other: "PairStream", joiner: Any = None) -> "PairStream":
        """Like `join`, with None for a value missing in `self`."""
        return self._joined("rightOuterJoin", other, joiner, (False, True))

    def fullOuterJoin(self, other: "PairStream", joiner: Any = None) -> "PairStream":
        """Like `join`, with None for a value missing on either side."""
        return self._joined("fullOuterJoin", other, joiner, (True, True))

    def coGroupByKey(self, other: "PairStream") -> "PairStream":
        """(key, (list of values, list of other values)) of each window."""
        left, right = self._with("coGroupByKey", other)
        run = GroupSides(left.run, right.run, len(left.sources))
        return self._of_both(left, right, run)

    def _by_key(self, aggregator: StreamAggregator) -> "PairStream":
        if self._window is not None:
            return self._in_window(PairStream, AggregateKeys(aggregator))
        running = RunningAggregate(aggregator, is_keyed=True)

        def make() -> Streamlet:
            made: Streamlet = self.streamlet().key_by(_first).process(running)
            return made

        return self._derived(PairStream, make)

    def _joined(self, what: str, other: Any, joiner: Any, keeps: tuple[bool, bool]) -> "PairStream":
        function = _pair if joiner is None else checked_function(what, joiner)
        left, right = self._with(what, other)
        run = JoinSides(left.run, right.run, len(left.sources), function, *keeps)
        return self._of_both(left, right, run)

    def _with(self, what: str, other: Any) -> tuple[WindowPart, WindowPart]:
        """Both sides of a join; RuntimeError for sides in different windows."""
        if not isinstance(other, PairStream):
            raise StreamletError(f"{what} takes another PairStream, not {other!r}")
        if self._window is None:
            raise _without_window(what)
        right = other._window or WindowPart(self._window.windows, (other,))
        if right.windows != self._window.windows:
            raise StreamletError(f"{what}: the two streams have different windows")
        self.is_used = other.is_used = True
        return self._window, right

    def _of_both(self, left: WindowPart, right: WindowPart, run: WindowRun) -> "PairStream":
        part = WindowPart(left.windows, (*left.sources, *right.sources), run)
        return self._windowed(PairStream, part)


class StreamState:
    """A state for each key: read by `toPairStream`, and by `stateQuery` of another stream.

    Example:

        state = pairs.updateStateByKey(0, lambda total, number: total + number)
        state.toPairStream().print()
        queries.stateQuery(state).print()
    """

    def __init__(self, graph: StreamGraph, updates: PairStream, updater: KeyStateUpdater) -> None:
        self._graph, self._updates, self._updater = graph, updates, updater
        self._queries: list[Stream] = []
        self._made: Streamlet | None = None

    def toPairStream(self) -> PairStream:
        """(key, state) behind each update."""
        return self._answers(UPDATE)

    def _queried(self, stream: Stream) -> PairStream:
        self._queries.append(stream)
        return self._answers(len(self._queries) - 1)

    def _answers(self, number: int) -> PairStream:
        return PairStream(
            self._graph, lambda: self._streamlet().filter(_IsOf(number)).map(_without_number)
        )

    def _streamlet(self) -> Streamlet:
        if self._made is None:
            both = self._updates.streamlet().map(_as_update)
            for number, query in enumerate(self._queries):
                both = both.union(query.streamlet().map(_AsQuery(number)))
            made: Streamlet = both.key_by(_second).process(StateByKey(self._updater))
            self._made = made
        return self._made


def _window_streamlet(part: WindowPart) -> Streamlet:
    parents = [source.streamlet() for source in part.sources]
    made = StreamWindowStreamlet(part.windows, part.run, *parents)
    for parent in dict.fromkeys(parents):  # a stream may be joined with itself
        parent._add_child(made)
    return made


def _without_window(what: str) -> StreamletError:
    does = (
        "emits each key's values so far with every new pair"
        if what == "coGroupByKey"
        else "joins each new pair with all earlier pairs"
    )
    return StreamletError(
        f"{what} joins the pairs of one window: call window(TumblingWindows.of(…)) before "
        f"{what}. Storm keeps every pair of both streams in its worker's memory, and {does}"
    )


def _no_key(element: Any) -> int:
    return 0


def _first(element: Any) -> Any:
    return element[0]


def _second(element: Any) -> Any:
    return element[1]


def _pair(left: Any, right: Any) -> tuple[Any, Any]:
    return left, right


def _as_update(element: Any) -> tuple[int, Any, Any]:
    return UPDATE, element[0], element[1]


def _without_number(element: Any) -> tuple[Any, Any]:
    return element[1], element[2]


@dataclass(frozen=True, slots=True)
class _AsQuery:
    number: int

    def __call__(self, element: Any) -> tuple[int, Any, Any]:
        return self.number, element, None


@dataclass(frozen=True, slots=True)
class _IsOf:
    number: int

    def __call__(self, element: Any) -> bool:
        return bool(element[0] == self.number)


@dataclass(frozen=True, slots=True)
class _Seen:
    action: Function

    def __call__(self, element: Any) -> Any:
        self.action(element)
        return element


@dataclass(frozen=True, slots=True)
class _OfValue:
    function: Function

    def __call__(self, element: Any) -> tuple[Any, Any]:
        return element[0], self.function(element[1])


@dataclass(frozen=True, slots=True)
class _ItemsOfValue:
    function: Function

    def __call__(self, element: Any) -> list[tuple[Any, Any]]:
        return [(element[0], item) for item in self.function(element[1])]


@dataclass(frozen=True, slots=True)
class _FirstTrue:
    """Whether the last predicate is the first predicate with a true result."""

    predicates: tuple[Function, ...]

    def __call__(self, element: Any) -> bool:
        *before, own = self.predicates
        return not any(predicate(element) for predicate in before) and bool(own(element))
