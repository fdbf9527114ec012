"""log (heronpy.streamlet.impl.logbolt)."""

from typing import Any

from heronpy_compat.streamlet.impl.stage import ElementBolt, StageStreamlet


class LogBolt(ElementBolt):
    """Logs each element and emits nothing."""

    def results(self, element: Any) -> Any:
        """Nothing."""
        self.logger.info("%s", element)
        return ()


class LogStreamlet(StageStreamlet):
    """The end that `Streamlet.log` makes."""

    prefix = "log"
    bolt = LogBolt
    joins_chain = True
