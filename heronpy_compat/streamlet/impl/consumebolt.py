"""consume (heronpy.streamlet.impl.consumebolt)."""

from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.stage import (
    FUNCTION,
    ElementBolt,
    StageStreamlet,
    checked_function,
)
from heronpy_compat.streamlet.streamlet import Streamlet


class ConsumeBolt(ElementBolt):
    """Calls the function for each element and emits nothing."""

    def results(self, element: Any) -> Any:
        """Nothing."""
        has_run("consume", self.function(element))
        return ()


class ConsumeStreamlet(StageStreamlet):
    """The end that `Streamlet.consume` makes."""

    prefix = "consume"
    bolt = ConsumeBolt
    joins_chain = True

    def __init__(self, consume_function: Any, parent: Streamlet) -> None:
        super().__init__(parent, config={FUNCTION: checked_function("consume", consume_function)})
