"""KeyedProcess: a function of elements with keyed state and timers.

    class Inactive(KeyedProcess):
        last = value_state()

        def process_element(self, element, context):
            self.last.put(context.timestamp_ms)
            context.timers.register_event_time_timer(context.timestamp_ms + 60_000)

        def on_timer(self, timestamp_ms, context):
            if self.last.get() == timestamp_ms - 60_000:
                yield context.key, timestamp_ms

An extension of heronpy's API; Flink's equivalent is KeyedProcessFunction.
"""

from collections.abc import Callable, Iterable
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_core.state.keys import key_of, owner
from heron_core.state.mergeable import MergeableState
from heron_core.state.monoid import Monoid
from heron_core.state.states import ListState, MapState, ReducingState, ValueState
from heron_core.state.timer_service import TimeDomain, TimerService

Elements = Iterable[Any] | None
"""The emitted elements; None for no element."""


class ProcessContext:
    """The context of a call: the element or the timer of the current key.

    Example:

        def process_element(self, element, context):
            context.timers.register_event_time_timer(context.timestamp_ms + 60_000)
    """

    def __init__(
        self, state: ComponentState, timers: TimerService, partition: tuple[int, int] = (0, 1)
    ) -> None:
        """`partition`: its index, and how many partitions the stage has."""
        self._state = state
        self.timers = timers
        """register_event_time_timer(ms), register_processing_time_timer(ms), delete_…,
        current_watermark(), current_processing_time()"""
        self.key: Any = None
        self.timestamp_ms: int | None = None
        """Event time of the element; None without event time."""
        self.domain: TimeDomain | None = None
        """Time domain of the timer; None for an element."""
        self.is_late = False
        """Whether `drop_late` was called for the element."""
        self.partition_index, self.num_partitions = partition

    def about(self, key: Any) -> None:
        """Make `key` the current one: in `open`, where no element has come."""
        self._state.named.current.set(key)
        self.key = key

    def owns(self, key: Any) -> bool:
        """Whether this partition is the one that gets the elements of `key`."""
        return owner(key_of([key]), self.num_partitions) == self.partition_index

    def drop_late(self) -> None:
        """The element came too late: it goes to `late_elements()`, or is counted and logged."""
        self.is_late = True

    def value_state(self, name: str, default: Any = None, **options: Any) -> ValueState[Any]:
        """One value for each key; `options`: ttl_secs, refresh_on_read."""
        return self._state.value_state(name, default, **options)

    def list_state(self, name: str, **options: Any) -> ListState[Any]:
        """A list for each key."""
        return self._state.list_state(name, **options)

    def map_state(self, name: str, **options: Any) -> MapState[Any, Any]:
        """A dict for each key."""
        return self._state.map_state(name, **options)

    def reducing_state(
        self, name: str, reduce: Callable[[Any, Any], Any], default: Any = None, **options: Any
    ) -> ReducingState[Any]:
        """One value per key; `reduce(so far, new)` adds a value."""
        return self._state.reducing_state(name, reduce, default, **options)

    def mergeable_state(
        self, name: str, monoid: Monoid[Any], **options: Any
    ) -> MergeableState[Any]:
        """One value of a monoid for each key."""
        return self._state.mergeable_state(name, monoid, **options)


class KeyedProcess:
    """A function with states as attributes of its class; each partition has a copy.

    Example:

        class Numbered(KeyedProcess):
            seen = value_state(default=0)

            def process_element(self, element, context):
                number = self.seen.get() + 1
                self.seen.put(number)
                return [(context.key, number, element)]
    """

    def open(self, context: ProcessContext) -> None:
        """Before the first element."""

    def process_element(self, element: Any, context: ProcessContext) -> Elements:
        """Return or yield the elements to emit, or None."""
        raise NotImplementedError(f"{type(self).__name__} must define process_element")

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Elements:
        """Like `process_element`, for a timer of the key `context.key`."""
        return None


class FunctionProcess(KeyedProcess):
    """A KeyedProcess of one or two plain functions.

    Example:

        def count(element, context):
            yield (context.key, element)

        process = FunctionProcess(count, None)
    """

    def __init__(
        self,
        function: Callable[[Any, ProcessContext], Elements],
        on_timer: Callable[[int, ProcessContext], Elements] | None,
    ) -> None:
        self._function = function
        self._timer_function = on_timer

    def process_element(self, element: Any, context: ProcessContext) -> Elements:
        """The function's."""
        return self._function(element, context)

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Elements:
        """Call the timer function, if given."""
        return self._timer_function(timestamp_ms, context) if self._timer_function else None
