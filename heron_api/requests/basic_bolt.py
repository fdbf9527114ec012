"""BaseBasicBolt: Storm's bolt with a collector and automatic acks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.tuple import ReadRow
from heron_core.topology import DEFAULT_STREAM

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class FailedException(Exception):
    """Raised by `execute` to fail the tuple, or the batch, without an error report.

    Example:

        def execute(self, tup, collector):
            if self.service.is_busy():
                raise FailedException("try again")
    """


FAILED_TEXT = "Request failed"
"""Storm's text for the caller of a request that failed."""
REASON_CHARACTERS_MAX = 1000
"""Of a reason: a caller gets a line, and the log of the topology has the traceback."""


def failure_text(component: str, error: BaseException) -> str:
    """One line for the caller of a request that failed by an error in a component."""
    line = str(error).split("\n", 1)[0]
    kind = "" if isinstance(error, FailedException) else f"{type(error).__name__}: "
    return f"{FAILED_TEXT}: {component}: {kind}{line}"[:REASON_CHARACTERS_MAX]


class BasicOutputCollector:
    """Collector of `execute`; tuples are anchored to the input tuple.

    Example:

        def execute(self, tup, collector):
            collector.emit([tup.values[0], tup.values[1] + "!"])
    """

    def __init__(self, bolt: Bolt[Any]) -> None:
        self._bolt = bolt
        self.anchors: list[Any] = []

    def emit(self, values: Sequence[Any], stream: str = DEFAULT_STREAM) -> Any:
        """Emit a tuple."""
        return self._bolt.emit(values, stream, self.anchors)

    def emit_direct(self, task: int, values: Sequence[Any], stream: str = DEFAULT_STREAM) -> None:
        """Emit a tuple to one task."""
        self._bolt.emit(values, stream, self.anchors, task)


class BaseBasicBolt(Bolt[ReadRow]):
    """A bolt written as Storm's: the tuple is acked when `execute` has returned, and fails if it
    raises.

        class Exclaim(BaseBasicBolt):
            outputs = ["id", "result"]

            def execute(self, tup, collector):
                collector.emit([tup.values[0], tup.values[1] + "!"])
    """

    auto_fail = True

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Calls `prepare`."""
        self._collector = BasicOutputCollector(self)
        self.prepare(config, context)

    def prepare(self, conf: dict[str, Any], context: "TopologyContext") -> Any:
        """Called once before the first tuple."""

    def execute(self, tup: ReadRow, collector: BasicOutputCollector) -> Any:
        """Process one tuple; never ack."""
        raise NotImplementedError(
            f"{type(self).__name__} must define execute(self, tup, collector)"
        )

    def process(self, tup: Any) -> None:
        """Calls `execute`, then acks."""
        self._collector.anchors = [tup]
        try:
            refuse_coroutine(self.execute, self.execute(tup, self._collector))
        except FailedException as error:
            self.log(f"a tuple of {tup.component} fails: {error}", "warn")
            self.fail(tup)
            return
        self.ack(tup)
