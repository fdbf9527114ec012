"""reduce_by_window (heronpy.streamlet.impl.reducebywindowbolt)."""

from typing import Any

from heronpy_compat.streamlet.impl.windowstage import WindowStageBolt, WindowStageStreamlet


class ReduceByWindowBolt(WindowStageBolt):
    """Folds all elements of a window, from None on."""

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        """Emit one result, of an empty window None."""
        result = None
        for tup in tuples:
            result = self.function(result, tup.values[0])
        self.emit_of_window(window_info, result, tuples)


class ReduceByWindowStreamlet(WindowStageStreamlet):
    """What `Streamlet.reduce_by_window` returns."""

    prefix = "reducebywindow"
    bolt = ReduceByWindowBolt
