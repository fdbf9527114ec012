"""filter (heronpy.streamlet.impl.filterbolt)."""

from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.stage import (
    FUNCTION,
    ElementBolt,
    StageStreamlet,
    checked_function,
)
from heronpy_compat.streamlet.streamlet import Streamlet


class FilterBolt(ElementBolt):
    """Emits the elements for which the function returns something true."""

    def results(self, element: Any) -> Any:
        """The element or nothing."""
        return (element,) if has_run("filter", self.function(element)) else ()


class FilterStreamlet(StageStreamlet):
    """What `Streamlet.filter` returns."""

    prefix = "filter"
    bolt = FilterBolt
    begins_chain = joins_chain = True

    def __init__(self, filter_function: Any, parent: Streamlet) -> None:
        super().__init__(parent, config={FUNCTION: checked_function("filter", filter_function)})
