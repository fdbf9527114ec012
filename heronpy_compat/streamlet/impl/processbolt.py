"""process: a function of a key's elements, with state and timers."""

import copy
from collections.abc import Hashable
from typing import Any

from heron_api.state.binding import provide
from heron_api.state.state import State
from heron_api.topology_context import TopologyContext
from heron_api.windows.timer_runner import TimerRunner, request_timer_ticks, timers_of
from heron_api.windows.window_runner import drop_late
from heron_core.errors import ComponentError
from heron_core.state.timer_service import Timer
from heronpy_compat.streamlet.impl.eventstage import (
    EventStage,
    EventStageBolt,
    EventStageStreamlet,
)
from heronpy_compat.streamlet.keyedprocess import Elements, KeyedProcess, ProcessContext
from heronpy_compat.streamlet.streamlet import Streamlet


class ProcessBolt(EventStageBolt):
    """Calls the function for each element and each timer; its results are anchored to the
    element, and to nothing for a timer."""

    time_runner: TimerRunner
    saved_at_least_once = True
    """Elements are acked at once, so a replay does not repeat them."""

    def init_state(self, stateful_state: State) -> None:
        """Keep the state, and the timers in it."""
        self._timers = timers_of(stateful_state, type(self).__name__)
        self.keyed_state: Any = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Open the function."""
        clock = self._clock = self.begin(config, context)
        request_timer_ticks(context, self.settings)
        self.time_runner = TimerRunner(
            self._timers, clock, self.settings, self.by_event_time, self._on_timer
        )
        # A copy: partitions in one process (under test) must not share attributes set by `open`.
        self.function: KeyedProcess = copy.copy(self.stage.process)
        provide(self.function, self.keyed_state, type(self.function).__name__)
        self._context = ProcessContext(self.keyed_state, self._timers, _partition(context))
        self.function.open(self._context)

    def process(self, tup: Any) -> None:
        """Give an element to the function."""
        self.time_runner.process(tup, lambda timestamp_ms: self._element(tup, timestamp_ms))

    def _element(self, tup: Any, timestamp_ms: int | None) -> None:
        element, key = tup.values[0], self.key(tup)
        self.keyed_state.named.current.set(key)
        self._about(key, timestamp_ms, None)
        self._context.is_late = False
        self._emit_all(self.function.process_element(element, self._context), [tup])
        if self._context.is_late:
            drop_late(self, self.settings, self._clock, tup, element)
        else:
            self.ack(tup)

    def _on_timer(self, timer: Timer) -> None:
        self._about(timer.key, None, timer.domain)
        self._emit_all(self.function.on_timer(timer.timestamp_ms, self._context), [])

    def _about(self, key: Hashable, timestamp_ms: int | None, domain: Any) -> None:
        context = self._context
        context.key, context.timestamp_ms, context.domain = key, timestamp_ms, domain

    def _emit_all(self, elements: Elements, anchors: list[Any]) -> None:
        if elements is None:
            return
        try:
            iterator = iter(elements)
        except TypeError:
            raise ComponentError(
                f"process: {type(self.function).__name__} must return or yield elements, not "
                f"{elements!r}"
            ) from None
        for element in iterator:
            self.emit_element(element, anchors)


def _partition(context: Any) -> tuple[int, int]:
    """Index of the partition, and number of partitions; (0, 1) for a test without a context."""
    if not isinstance(context, TopologyContext):
        return 0, 1
    tasks = sorted(context.get_component_tasks(context.get_component_id()))
    return tasks.index(context.get_task_id()), len(tasks)


class ProcessStreamlet(EventStageStreamlet):
    """What `process` returns."""

    prefix = "process"
    bolt = ProcessBolt

    def __init__(self, stage: EventStage, parent: Streamlet, prefix: str = prefix) -> None:
        super().__init__(stage, parent)
        self.prefix = prefix
