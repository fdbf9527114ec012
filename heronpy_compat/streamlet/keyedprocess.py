"""What `process` of a keyed streamlet takes: a function of elements, with state and timers.

    class Inactive(KeyedProcess):
        last = value_state()

        def process_element(self, element, context):
            self.last.put(context.timestamp_ms)
            context.timers.register_event_time_timer(context.timestamp_ms + 60_000)

        def on_timer(self, timestamp_ms, context):
            if self.last.get() == timestamp_ms - 60_000:
                yield context.key, timestamp_ms

heronpy has none; Flink's is KeyedProcessFunction.
"""

from collections.abc import Callable, Iterable
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_core.state.states import ListState, MapState, ReducingState, ValueState
from heron_core.state.timer_service import TimeDomain, TimerService

Elements = Iterable[Any] | None
"""What is emitted; None for nothing."""


class ProcessContext:
    """What a function knows of the element, or of the timer, that it is called for."""

    def __init__(self, state: ComponentState, timers: TimerService) -> None:
        self._state = state
        self.timers = timers
        """register_event_time_timer(ms), register_processing_time_timer(ms), delete_…,
        current_watermark(), current_processing_time()"""
        self.key: Any = None
        self.timestamp_ms: int | None = None
        """Of the element; None without event time."""
        self.domain: TimeDomain | None = None
        """Of the timer: by which time it is due; None for an element."""

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
        """One value for each key, to which others are added by `reduce(so far, new)`."""
        return self._state.reducing_state(name, reduce, default, **options)


class KeyedProcess:
    """A function with states as attributes of its class; each partition has a copy."""

    def open(self, context: ProcessContext) -> None:
        """Before the first element."""

    def process_element(self, element: Any, context: ProcessContext) -> Elements:
        """Return or yield what is to be emitted for an element, or None."""
        raise NotImplementedError(f"{type(self).__name__} must define process_element")

    def on_timer(self, timestamp_ms: int, context: ProcessContext) -> Elements:
        """The same for a timer of the key `context.key`."""
        return None


class FunctionProcess(KeyedProcess):
    """Of one or two plain functions."""

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
        """The second function's, if there is one."""
        return self._timer_function(timestamp_ms, context) if self._timer_function else None
