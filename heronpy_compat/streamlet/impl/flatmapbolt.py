"""flat_map (heronpy.streamlet.impl.flatmapbolt)."""

from collections.abc import Iterable
from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.stage import (
    FUNCTION,
    ElementBolt,
    StageStreamlet,
    checked_function,
)
from heronpy_compat.streamlet.streamlet import Streamlet


class FlatMapBolt(ElementBolt):
    """Emits the items of the function's results; of a string its characters, as heronpy."""

    def results(self, element: Any) -> Any:
        """The items, or the result itself if it has none."""
        result = has_run("flat_map", self.function(element), may_yield=True)
        return result if isinstance(result, Iterable) else (result,)


class FlatMapStreamlet(StageStreamlet):
    """What `Streamlet.flat_map` returns."""

    prefix = "flatmap"
    bolt = FlatMapBolt
    begins_chain = joins_chain = True

    def __init__(self, flatmap_function: Any, parent: Streamlet) -> None:
        super().__init__(parent, config={FUNCTION: checked_function("flat_map", flatmap_function)})
