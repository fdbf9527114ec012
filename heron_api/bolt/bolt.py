"""The base class of user bolts (heronpy.api.bolt.bolt)."""

from typing import TYPE_CHECKING, Any

from heron_api.bolt.base_bolt import RowBolt
from heron_api.tuple import ReadRow

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext
    from heron_api.tuple import Tuple


class Bolt(RowBolt[ReadRow]):
    """A step of the work; all but `process` is optional. `Bolt[Click]` reads rows of the type
    Click, for editors and type checkers (heron_api.tuple.Row).

    Example:

        class Count(Bolt):
            outputs = ["word", "count"]

            def initialize(self, config, context):
                self.counts = collections.Counter()

            def process(self, tup):
                word = tup["word"]
                self.counts[word] += 1
                self.emit([word, self.counts[word]], anchors=[tup])
                self.ack(tup)
    """

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> Any:
        """Called once before the first tuple, with the merged config; use it as `__init__`."""

    def process(self, tup: ReadRow) -> Any:
        """Process one tuple: emit, then ack or fail the tuple."""
        raise NotImplementedError(f"{type(self).__name__} must define process(self, tup)")

    def process_tick(self, tup: "Tuple") -> Any:
        """Called every `topology.tick.tuple.freq.secs`, if that is set; needs no ack."""

    def on_watermark(self, watermark_ms: int) -> Any:
        """Called when no source will emit events before `watermark_ms`: after `emit_watermark`
        of the spouts, or with 2**63 - 1 after all sources have finished."""

    def on_finish(self) -> Any:
        """Called once at the end of the data, to emit what was collected until then.

        That is when every spout has finished and everything in flight is processed. Bolts are
        called in topological order, and what one emits here is processed by the next ones before
        their own `on_finish` and before the run ends. A topology whose spouts never finish never
        calls it.

            def on_finish(self):
                for word, count in self.counts.most_common(20):
                    self.emit([word, count])
        """
