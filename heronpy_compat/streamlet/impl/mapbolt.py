"""map (heronpy.streamlet.impl.mapbolt)."""

from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.stage import (
    FUNCTION,
    ElementBolt,
    StageStreamlet,
    checked_function,
)
from heronpy_compat.streamlet.streamlet import Streamlet


class MapBolt(ElementBolt):
    """Emits the function's result for each element."""

    def results(self, element: Any) -> Any:
        """One result."""
        return (has_run("map", self.function(element)),)


class MapStreamlet(StageStreamlet):
    """What `Streamlet.map` returns."""

    prefix = "map"
    bolt = MapBolt
    begins_chain = joins_chain = True

    def __init__(self, map_function: Any, parent: Streamlet) -> None:
        super().__init__(parent, config={FUNCTION: checked_function("map", map_function)})
