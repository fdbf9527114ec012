"""Aggregates and state updates (org.apache.storm.streams.operations)."""

from collections.abc import Callable
from typing import Any

from heron_api.java_names import CalledByEngine
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.stage import checked_function, checked_object
from heronpy_compat.streams.windows import WindowLength

Fold = Callable[[Any, Any], Any]


class StreamAggregator(CalledByEngine):
    """An initial value and an accumulator. Derive a class, or use `of`.

    Storm merges the aggregates of partitions by `merge`; here equal keys share a partition, so no
    merge takes place. `init`, `apply`, `merge` and `result` keep Storm's names.
    """

    @staticmethod
    def of(initial: Any, accumulator: Fold, combiner: Fold | None = None) -> "StreamAggregator":
        """Of an initial value and functions."""
        return FunctionAggregator(initial, accumulator, combiner)

    def init(self) -> Any:
        """The initial aggregate."""
        raise NotImplementedError(f"{type(self).__name__} must define init(self)")

    def apply(self, aggregate: Any, value: Any) -> Any:
        """The aggregate with one more value."""
        raise NotImplementedError(
            f"{type(self).__name__} must define apply(self, aggregate, value)"
        )

    def result(self, aggregate: Any) -> Any:
        """The emitted result of an aggregate."""
        return aggregate


class FunctionAggregator(StreamAggregator):
    """Of plain functions."""

    def __init__(self, initial: Any, accumulator: Fold, combiner: Fold | None = None) -> None:
        self._initial = initial
        self._accumulator = checked_function("aggregate", accumulator)
        if combiner is not None:
            checked_function("aggregate", combiner)

    def init(self) -> Any:
        """A copy of a mutable initial value, one for each key."""
        initial = self._initial
        return initial.copy() if isinstance(initial, list | dict | set) else initial

    def apply(self, aggregate: Any, value: Any) -> Any:
        """The accumulator's."""
        return self._accumulator(aggregate, value)


class ElementCount(StreamAggregator):
    """Number of values; `Count.of(10)` is a window length."""

    @staticmethod
    def of(number: int, *_: Any) -> WindowLength:  # type: ignore[override]
        """Window length in elements."""
        return WindowLength(number, True)

    def init(self) -> int:
        """None yet."""
        return 0

    def apply(self, aggregate: int, value: Any) -> int:
        """One more."""
        return aggregate + 1


class ElementSum(StreamAggregator):
    """Of numbers.

    Example:

        total = numbers.window(TumblingWindows.of(Count(10))).aggregate(Sum())
    """

    def init(self) -> int:
        """Of none."""
        return 0

    def apply(self, aggregate: Any, value: Any) -> Any:
        """Added."""
        return aggregate + value


class Reduction(StreamAggregator):
    """A reducer; the initial value is the first value."""

    def __init__(self, reducer: Fold) -> None:
        self._reducer = checked_function("reduce", reducer)

    def init(self) -> tuple[Any, ...]:
        """No value yet."""
        return ()

    def apply(self, aggregate: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        """The value in a tuple, so that None is a valid value."""
        return (self._reducer(aggregate[0], value),) if aggregate else (value,)

    def result(self, aggregate: tuple[Any, ...]) -> Any:
        """The one value."""
        return aggregate[0]


class CollectedValues(StreamAggregator):
    """All values, in a list."""

    def init(self) -> list[Any]:
        """None yet."""
        return []

    def apply(self, aggregate: list[Any], value: Any) -> list[Any]:
        """A new list: emitted lists must not change."""
        return [*aggregate, value]


class KeyStateUpdater:
    """An initial state and an updater. Derive a class, or use `of`.

    Example:

        largest = StateUpdater.of(0, max)
        assert largest.apply(largest.init(), 7) == 7
    """

    @staticmethod
    def of(initial: Any, accumulator: Fold) -> "KeyStateUpdater":
        """Of an initial state and a function(state, value)."""
        return FunctionUpdater(initial, accumulator)

    def init(self) -> Any:
        """The state of a new key."""
        raise NotImplementedError(f"{type(self).__name__} must define init(self)")

    def apply(self, state: Any, value: Any) -> Any:
        """The state behind a value."""
        raise NotImplementedError(f"{type(self).__name__} must define apply(self, state, value)")


class FunctionUpdater(KeyStateUpdater):
    """Of a plain function."""

    def __init__(self, initial: Any, accumulator: Fold) -> None:
        self._aggregator = FunctionAggregator(initial, accumulator)

    def init(self) -> Any:
        """The initial state."""
        return self._aggregator.init()

    def apply(self, state: Any, value: Any) -> Any:
        """The function's."""
        return self._aggregator.apply(state, value)


def checked_aggregator(what: str, given: Any, functions: tuple[Any, ...]) -> StreamAggregator:
    """An aggregator, or (initial, accumulator, combiner); RuntimeError for any other type."""
    if functions:
        return StreamAggregator.of(given, *functions)
    if not isinstance(given, StreamAggregator):
        raise StreamletError(
            f"{what} takes a CombinerAggregator, for example Count(), or an initial value and "
            f"functions, not {given!r}"
        )
    aggregator: StreamAggregator = checked_object(what, given, ("init", "apply", "result"))
    return aggregator


def checked_updater(given: Any, functions: tuple[Any, ...]) -> KeyStateUpdater:
    """A StateUpdater, or (initial, accumulator); RuntimeError for any other type."""
    if functions:
        return KeyStateUpdater.of(given, *functions)
    if not isinstance(given, KeyStateUpdater):
        raise StreamletError(
            "updateStateByKey takes a StateUpdater, or an initial state and a function, not"
            f" {given!r}"
        )
    updater: KeyStateUpdater = checked_object("updateStateByKey", given, ("init", "apply"))
    return updater
