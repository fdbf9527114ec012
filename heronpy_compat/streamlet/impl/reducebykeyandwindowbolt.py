"""reduce_by_key_and_window (heronpy.streamlet.impl.reducebykeyandwindowbolt)."""

from collections.abc import Hashable
from functools import reduce
from typing import Any

from heronpy_compat.streamlet.impl.keygrouping import KeyGrouping, key_and_value
from heronpy_compat.streamlet.impl.windowstage import KeyedStageStreamlet, KeyedWindowStageBolt
from heronpy_compat.streamlet.streamlet import Streamlet

ReduceGrouping = KeyGrouping


class ReduceByKeyAndWindowBolt(KeyedWindowStageBolt):
    """Folds the values of each key of a window, from the first one on."""

    def processWindow(self, window_info: Any, tuples: list[Any]) -> None:  # noqa: N802
        """Emit one result for each key, in order of their first appearance."""
        found: dict[Hashable, tuple[list[Any], list[Any]]] = {}
        for tup in tuples:
            key, value = key_and_value(tup.values[0], "reduce_by_key_and_window")
            values, anchors = found.setdefault(key, ([], []))
            values.append(value)
            anchors.append(tup)
        for key, (values, anchors) in found.items():
            self.emit_of_key(window_info, key, reduce(self.function, values), anchors)


class ReduceByKeyAndWindowStreamlet(KeyedStageStreamlet):
    """What `Streamlet.reduce_by_key_and_window` returns: one partition unless more are set."""

    prefix = "reducebykeyandwindow"
    bolt = ReduceByKeyAndWindowBolt

    def __init__(self, window_config: Any, reduce_function: Any, parent: Streamlet) -> None:
        super().__init__(window_config, reduce_function, parent)
        self.set_num_partitions(1)
