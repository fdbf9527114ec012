"""States by key of Spark's DStreams: updateStateByKey and mapWithState; heronpy has neither.

Spark calls the functions for a batch; here mapWithState is called for each element, and
updateStateByKey for the elements of `batch_ms`, or for each element. States are keyed
states: checkpoints include them, and EFFECTIVELY_ONCE makes them exact.

Time is event time behind `with_event_time`, and processing time otherwise. At the end of the input
an open batch counts as complete.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from heron_core.errors import ComponentError
from heronpy_compat.streamlet.initialstates import InitialKeys, InitialStates
from heronpy_compat.streamlet.keyedprocess import KeyedProcess, ProcessContext
from heronpy_compat.streamlet.stagetimers import END_OF_INPUT_MS, StageTimers

Function = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdate:
    """How updateStateByKey changes states."""

    update: Callable[[list[Any], Any], Any]
    """update(new values, state or None) -> the next state; None removes the state."""
    value_function: Function
    batch_ms: int | None = None
    """None: each element is a batch."""
    every_batch: bool = False
    """Whether keys without new values are updated, too, in each batch (Spark)."""
    initial: InitialStates | None = None


class UpdateStateByKey(KeyedProcess):
    """(key, state) of each key updated by a batch."""

    def __init__(self, plan: StateUpdate, by_event_time: bool) -> None:
        self._plan, self._by_event_time = plan, by_event_time

    def open(self, context: ProcessContext) -> None:
        """Take over the initial states."""
        self._state = context.value_state("state")
        self._batches = context.map_state("batches")
        self._timers = StageTimers(context.timers, self._by_event_time)
        self._initial = InitialKeys(self._plan.initial, context)
        for _ in self._initial.take_over(self._state, context):
            if self._plan.every_batch:
                self._timers.register(self._end_ms(self._timers.now_ms()))

    def process_element(self, element: Any, context: ProcessContext) -> Iterator[Any]:
        """Update at once, or keep the value for its batch."""
        value = self._plan.value_function(element)
        if self._plan.batch_ms is None:
            yield from self._update([value], context)
            return
        end_ms = self._end_ms(self._timers.time_ms(context))
        values = self._batches.get(end_ms)
        if values is None:
            self._timers.register(end_ms)
            self._timers.register_end_of_input()
            values = []
        values.append(value)
        self._batches.put(end_ms, values)

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Iterator[Any]:
        """The end of a batch, or of the input, where all batches are complete."""
        until_ms = self._timers.end_of(timestamp_ms)
        complete_ms = [end_ms for end_ms in sorted(self._batches.keys()) if end_ms <= until_ms]
        for end_ms in complete_ms:
            values = self._batches.get(end_ms)
            self._batches.remove(end_ms)
            yield from self._update(values, context)
        if timestamp_ms == END_OF_INPUT_MS:
            return
        if self._batches.is_empty():
            self._timers.delete_end_of_input()
        if self._plan.every_batch:
            yield from self._without_values(bool(complete_ms), context)

    def _without_values(self, is_updated: bool, context: ProcessContext) -> Iterator[Any]:
        """Update a state without new values, and register for the end of the next batch."""
        if not is_updated and self._state.exists():
            yield from self._update([], context)
        if self._state.exists():
            self._timers.register(self._end_ms(self._timers.now_ms()))

    def _update(self, values: list[Any], context: ProcessContext) -> Iterator[Any]:
        stored = self._state.get()
        state = self._plan.update(values, None if stored is None else stored[0])
        if state is not None:
            self._state.put([state])
            yield context.key, state
        elif stored is not None:
            self._state.clear()
            self._initial.is_removed(context.key)

    def _end_ms(self, time_ms: int) -> int:
        assert self._plan.batch_ms is not None
        return (time_ms // self._plan.batch_ms + 1) * self._plan.batch_ms


class MappedState:
    """A key's state as an argument of mapWithState's function, with Spark's names."""

    def __init__(self, stored: list[Any] | None, is_timing_out: bool) -> None:
        """`stored`: a list of the state, or None."""
        self.stored = stored
        self._is_timing_out = is_timing_out

    def exists(self) -> bool:
        """Whether the key has a state."""
        return self.stored is not None

    def get(self) -> Any:
        """The state; ComponentError if there is none."""
        if self.stored is None:
            raise ComponentError("this key has no state: ask exists(), or use getOption()")
        return self.stored[0]

    def getOption(self) -> Any:  # noqa: N802
        """The state, or None."""
        return None if self.stored is None else self.stored[0]

    def update(self, state: Any) -> None:
        """Set the state; ComponentError during its time-out."""
        self._check("updated")
        self.stored = [state]

    def remove(self) -> None:
        """Remove the state; ComponentError during its time-out."""
        self._check("removed")
        self.stored = None

    def isTimingOut(self) -> bool:  # noqa: N802
        """Whether the key had no element for the time-out; the call is the last with this state."""
        return self._is_timing_out

    def _check(self, what: str) -> None:
        if self._is_timing_out:
            raise ComponentError(f"a state that is timing out cannot be {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMapping:
    """How mapWithState maps elements."""

    function: Callable[..., Any]
    """function(key, value, state) -> an element, None for none; `value` is None at a time-out."""
    takes_time: bool = False
    """Whether the time in ms comes before the three arguments."""
    value_function: Function
    timeout_ms: int | None = None
    initial: InitialStates | None = None


class MapWithState(KeyedProcess):
    """Results of the function for each element, and for each key at its time-out."""

    def __init__(self, plan: StateMapping, by_event_time: bool) -> None:
        self._plan, self._by_event_time = plan, by_event_time

    def open(self, context: ProcessContext) -> None:
        """Take over the initial states; in event time a time-out begins with an element."""
        self._state = context.value_state("state")
        self._due_ms = context.value_state("due_ms")
        self._timers = StageTimers(context.timers, self._by_event_time)
        self._initial = InitialKeys(self._plan.initial, context)
        for _ in self._initial.take_over(self._state, context):
            if not self._by_event_time:
                self._postpone(self._timers.now_ms())

    def process_element(self, element: Any, context: ProcessContext) -> Iterator[Any]:
        """Call the function."""
        value = self._plan.value_function(element)
        yield from self._call(value, context, is_timing_out=False)
        if self._state.exists():
            self._postpone(self._timers.time_ms(context))

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Iterator[Any]:
        """A key times out: the function is called once more, then its state is removed."""
        if not self._state.exists():
            return
        yield from self._call(None, context, is_timing_out=True)
        self._state.clear()
        self._forget_timer()
        self._initial.is_removed(context.key)

    def _call(self, value: Any, context: ProcessContext, is_timing_out: bool) -> Iterator[Any]:
        before = self._state.get()
        state = MappedState(before, is_timing_out)
        time_ms = (self._timers.time_ms(context),) if self._plan.takes_time else ()
        element = self._plan.function(*time_ms, context.key, value, state)
        if state.stored is not None:
            self._state.put(state.stored)
        elif before is not None:
            self._state.clear()
            self._forget_timer()
            self._initial.is_removed(context.key)
        if element is not None:
            yield element

    def _postpone(self, time_ms: int) -> None:
        """Restart the time-out; an out-of-order element never shortens the time-out."""
        if self._plan.timeout_ms is None:
            return
        due_ms, before_ms = time_ms + self._plan.timeout_ms, self._due_ms.get()
        if before_ms is not None and before_ms >= due_ms:
            return
        self._forget_timer()
        self._timers.register(due_ms)
        self._due_ms.put(due_ms)

    def _forget_timer(self) -> None:
        due_ms = self._due_ms.get()
        if due_ms is not None:
            self._timers.delete(due_ms)
            self._due_ms.clear()
