"""aggregate and reduce of windows by event time."""

from typing import Any

from heron_api.windows.window_runner import AnchoredAggregate, WindowRunner
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.values import Result
from heronpy_compat.streamlet.impl.eventstage import (
    EventStageBolt,
    EventStageStreamlet,
    window_of,
)
from heronpy_compat.streamlet.keyedwindow import KeyedWindow


class EventWindowStageBolt(EventStageBolt):
    """Aggregates elements by key and window."""

    time_runner: WindowRunner

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Make the windows."""
        clock = self.begin(config, context)
        operator = self.make_operator()
        self.time_runner = WindowRunner(
            self, operator, clock, self.settings, self.show, self.by_event_time,
            late_value=lambda tup: tup.values[0],
        )  # fmt: skip
        self.restore_windows()

    def make_operator(self) -> WindowOperator:
        """Of the stage's window and aggregate."""
        stage = self.stage
        assert stage.window is not None
        assert stage.aggregate is not None
        return WindowOperator(
            stage.window, AnchoredAggregate(stage.aggregate), stage.trigger,
            lateness_ms=self.settings.lateness_ms,
        )  # fmt: skip

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        """What is added of an element: the element."""
        return tup.values[0]

    def process(self, tup: Any) -> None:
        """Add an element."""
        self.time_runner.process(tup, self.key(tup), lambda time_ms: self.value(tup, time_ms))

    def show(self, result: Result, anchors: list[Any]) -> None:
        """Emit a result."""
        value, _ = result.value
        window = window_of(result.window)
        named = window if self.stage.left.key is None else KeyedWindow(result.key, window)
        self.emit_element((named, value), anchors)


class EventWindowStreamlet(EventStageStreamlet):
    """What `aggregate` and `reduce` return."""

    prefix = "eventwindow"
    bolt = EventWindowStageBolt
