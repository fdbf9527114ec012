"""reduce_by_window (heronpy.streamlet.impl.reducebywindowbolt)."""

from typing import Any

from heronpy_compat.streamlet.impl.windowstage import WindowStageBolt, WindowStageStreamlet


class ReduceByWindowBolt(WindowStageBolt):
    """Folds all elements of a window."""

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        """Emit one result, of an empty window None."""
        elements = [tup.values[0] for tup in tuples]
        result = self._beginning(elements[0]) if elements else None
        for element in elements[1:]:
            result = self.function(result, element)
        self.emit_of_window(window_info, result, tuples)

    def _beginning(self, first: Any) -> Any:
        """Heron calls function(None, first), so what is written for it minds None; any other
        function, such as `lambda x, y: x + y`, begins with the first element."""
        try:
            return self.function(None, first)
        except (TypeError, AttributeError):
            return first


class ReduceByWindowStreamlet(WindowStageStreamlet):
    """What `Streamlet.reduce_by_window` returns."""

    prefix = "reducebywindow"
    bolt = ReduceByWindowBolt
