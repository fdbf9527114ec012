"""Sources that are functions (heronpy.streamlet.impl.supplierspout)."""

from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.impl.sourcespout import SourceSpout, SourceStreamlet
from heronpy_compat.streamlet.impl.stage import FUNCTION, checked_function


class SupplierSpout(SourceSpout):
    """Emits the function's result at every call, None too."""

    FUNCTION = FUNCTION

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Take the function out of the config."""
        super().initialize(config, context)
        self._supplier = config[FUNCTION]

    def next_element(self) -> None:
        """One call of the function."""
        self.emit_element(has_run("new_source", self._supplier()))


class SupplierStreamlet(SourceStreamlet):
    """What `Builder.new_source` makes of a function."""

    prefix = "supplier"
    spout = SupplierSpout
    key = FUNCTION

    def __init__(self, supplier_function: Any) -> None:
        super().__init__(checked_function("new_source", supplier_function))
