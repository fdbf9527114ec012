"""window_join: pairs of elements of two streamlets in the same window by event time."""

from itertools import count
from typing import Any

from heron_api.windows.window_runner import AnchoredAggregate
from heron_core.algorithms.event_windows.aggregates import WholeWindow
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.values import Result
from heronpy_compat.streamlet.impl.eventstage import EventStageStreamlet, window_of
from heronpy_compat.streamlet.impl.eventwindowbolt import EventWindowStageBolt
from heronpy_compat.streamlet.keyedwindow import KeyedWindow

JOINS = ("inner", "left", "right", "outer")


class WindowJoinBolt(EventWindowStageBolt):
    """Pairs the elements of each key of a window, in order of their times."""

    def make_operator(self) -> WindowOperator:
        """All elements of a window are kept."""
        stage = self.stage
        assert stage.window is not None
        self._numbers = count()
        return WindowOperator(
            stage.window, AnchoredAggregate(WholeWindow()), stage.trigger,
            lateness_ms=self.settings.lateness_ms,
        )  # fmt: skip

    def value(self, tup: Any, timestamp_ms: int) -> Any:
        """The element, its side, and what WholeWindow orders by."""
        return [timestamp_ms, next(self._numbers), self.is_right(tup), tup.values[0]]

    def show(self, result: Result, anchors: list[Any]) -> None:
        """Emit each pair."""
        events, _ = result.value
        left = [element for _, _, is_right, element in events if not is_right]
        right = [element for _, _, is_right, element in events if is_right]
        kind, function = self.stage.kind, self.stage.function
        assert function is not None
        if not right and kind in ("left", "outer"):
            right = [None]
        elif not left and kind in ("right", "outer"):
            left = [None]
        named = KeyedWindow(result.key, window_of(result.window))
        for one in left:
            for other in right:
                self.emit_element((named, function(one, other)), anchors)


class WindowJoinStreamlet(EventStageStreamlet):
    """What `window_join` returns."""

    prefix = "windowjoin"
    bolt = WindowJoinBolt
