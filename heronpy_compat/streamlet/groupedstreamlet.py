"""Streamlets by key without windows: running values (Gearpump's group_by, Heron's countByKey).

heronpy has none.

builder.from_collection(lines).flat_map(str.split).map(lambda word: (word, 1)).group_by_key().sum()
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from heron_api.method_shapes import CheckedCall
from heron_core.algorithms.event_windows.assigners import Sliding, Tumbling, checked_ms
from heronpy_compat.streamlet.elements import Element, Function, Made
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.impl.eventstage import EventStageStreamlet
from heronpy_compat.streamlet.impl.keygrouping import key_and_value
from heronpy_compat.streamlet.impl.stage import checked_function
from heronpy_compat.streamlet.initialstates import initial_states
from heronpy_compat.streamlet.invertiblewindow import InvertibleWindow
from heronpy_compat.streamlet.running import (
    RunningFold,
    running_count,
    running_reduce,
    running_sum,
)
from heronpy_compat.streamlet.statebykey import (
    MappedState,
    MapWithState,
    StateMapping,
    StateUpdate,
    UpdateStateByKey,
)
from heronpy_compat.streamlet.timedstreamlet import KeyedStreamlet


@dataclass(frozen=True, slots=True)
class GroupedStreamlet(Generic[Element]):
    """A streamlet and the keys of its elements; equal keys meet in one partition.

    Each operation adds a stage. The elements of `reduce`, `sum` and `count` are (key, value so
    far), one for each element.
    """

    keyed: KeyedStreamlet[Any]
    value_function: Function | None = None
    """What is reduced and summed of an element; None: the element."""

    def reduce(
        self, reduce_function: Callable[[Element, Element], Element]
    ) -> EventStageStreamlet[tuple[Any, Element]]:
        """reduce_function(so far, value), from a key's first value on."""
        return self._running("reduce", running_reduce(reduce_function, self.value_function))

    def sum(
        self, value_function: Callable[[Element], Any] | None = None
    ) -> EventStageStreamlet[tuple[Any, Any]]:
        """The sum of the values, or of the function's result for each value."""
        return self._running("sum", running_sum(self._value_of("sum", value_function)))

    def count(self) -> EventStageStreamlet[tuple[Any, int]]:
        """How many elements."""
        return self._running("count", running_count())

    def update_state(
        self,
        update_function: Callable[[list[Element], Any], Made],
        batch_ms: int | None = None,
        initial: Any = None,
        every_batch: bool = False,
    ) -> EventStageStreamlet[tuple[Any, Made]]:
        """(key, state) whenever the function changes a state: Spark's updateStateByKey.

        update_function(new values, state or None) returns the next state; None removes the state.
        It is called for the values that come in `batch_ms`, without it for each value; with
        `every_batch` for keys without new values, too, which takes processing time. `initial` are
        the states at the beginning: a dict, pairs, a table, a path, or SavedStates.
        """
        _checked_batch(batch_ms, every_batch, self._by_event_time)
        plan = StateUpdate(
            update=_checked_call("update_state", update_function),
            value_function=self.value_function or _itself,
            batch_ms=batch_ms, every_batch=every_batch,
            initial=None if initial is None else initial_states(initial, "update_state"),
        )  # fmt: skip
        return self.keyed.processed(UpdateStateByKey(plan, self._by_event_time), "updatestate")

    def map_with_state(
        self,
        function: Callable[[Any, Element, MappedState], Any],
        timeout_ms: int | None = None,
        initial: Any = None,
    ) -> EventStageStreamlet[Any]:
        """What the function returns for each element, None for nothing: Spark's mapWithState.

        function(key, value, state) reads and changes `state`: exists(), get(), getOption(),
        update(state), remove(), isTimingOut(). If a key has no element for `timeout_ms`, the
        function is called with the value None, and the state is removed. `initial` as above.
        """
        return self.mapped_with_state(function, timeout_ms, initial, takes_time=False)

    def mapped_with_state(
        self, function: Any, timeout_ms: int | None, initial: Any, takes_time: bool
    ) -> EventStageStreamlet[Any]:
        """The same; with `takes_time` of a function(time in ms, key, value, state)."""
        if timeout_ms is not None:
            checked_ms("timeout_ms", timeout_ms)
        plan = StateMapping(
            function=_checked_call("map_with_state", function),
            value_function=self.value_function or _itself, timeout_ms=timeout_ms,
            initial=None if initial is None else initial_states(initial, "map_with_state"),
            takes_time=takes_time,
        )  # fmt: skip
        return self.keyed.processed(MapWithState(plan, self._by_event_time), "mapwithstate")

    def reduce_by_window(
        self,
        window: Sliding | Tumbling,
        reduce_function: Callable[[Any, Any], Any],
        inverse_function: Callable[[Any, Any], Any],
    ) -> EventStageStreamlet[tuple[Any, Any]]:
        """(KeyedWindow, value) of each window of each key: Spark's reduceByKeyAndWindow with an
        inverse function.

        reduce_function(so far, value) adds values, inverse_function(so far, value) takes values
        that left the window out again, so a slide costs two calls, however long the window is.
        """
        fold = InvertibleWindow(
            _checked_slides(window),
            _checked_call("reduce_by_window", reduce_function),
            _checked_call("reduce_by_window", inverse_function),
            self.value_function or _itself,
            self._by_event_time,
        )
        return self.keyed.processed(fold, "reducebywindow")

    @property
    def _by_event_time(self) -> bool:
        return self.keyed.timed.timestamp_function is not None

    def _value_of(self, what: str, value_function: Function | None) -> Function | None:
        if value_function is None:
            return self.value_function
        function = checked_function(what, value_function)
        return function if self.value_function is None else _Composed(self.value_function, function)

    def _running(self, prefix: str, fold: RunningFold) -> EventStageStreamlet[Any]:
        return self.keyed.processed(fold, prefix)


def _itself(element: Any) -> Any:
    return element


def _checked_call(what: str, function: Any) -> CheckedCall:
    return CheckedCall(what, checked_function(what, function))


def _checked_batch(batch_ms: int | None, every_batch: bool, by_event_time: bool) -> None:
    if batch_ms is not None:
        checked_ms("batch_ms", batch_ms)
    elif every_batch:
        raise StreamletError("update_state: every_batch needs batch_ms, the length of a batch")
    if every_batch and by_event_time:
        raise StreamletError(
            "update_state: every_batch takes processing time; leave with_event_time out, as event "
            "time may pass years of batches at once"
        )


def _checked_slides(window: Any) -> Sliding:
    if isinstance(window, Tumbling):
        return Sliding(window.length_ms, window.length_ms, window.offset_ms)
    if not isinstance(window, Sliding):
        raise StreamletError(f"reduce_by_window takes Sliding or Tumbling, not {window!r}")
    if window.length_ms % window.slide_ms:
        raise StreamletError(
            f"reduce_by_window: the length of a window, {window.length_ms} ms, must be a multiple "
            f"of its slide, {window.slide_ms} ms"
        )
    return window


@dataclass(frozen=True, slots=True)
class _Composed:
    first: Function
    second: Function

    def __call__(self, element: Any) -> Any:
        return self.second(self.first(element))


def first_of_pair(element: Any) -> Any:
    """The key of (key, value); ComponentError for anything else."""
    return key_and_value(element, "group_by_key")[0]


def second_of_pair(element: Any) -> Any:
    """The value of (key, value)."""
    return key_and_value(element, "group_by_key")[1]
