"""A bolt on Arrow record batches instead of tuples; an extension of heronpy's API."""

from typing import TYPE_CHECKING, Any

from heron_api.bolt.bolt import Bolt
from heron_api.method_shapes import refuse_coroutine
from heron_api.tuple import ReadRow

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class BatchBolt(Bolt[ReadRow]):
    """A step of the work on columns; all but `process_batch` is optional.

        class Split(BatchBolt):
            outputs = {"word": "string"}

            def process_batch(self, batch):
                words = pc.list_flatten(pc.utf8_split_whitespace(batch["sentence"]))
                self.emit_batch({"word": words})

    A batch is acked when `process_batch` has returned, what that emits is anchored to it, and what
    it raises fails it. Keyed states have no current key here: use `for_key(key)`.
    """

    auto_ack = auto_anchor = auto_fail = True
    needed_package = ("pyarrow", "a BatchBolt")
    current_tuple: Any = None
    """The tuple of the current batch: `component`, `stream` and `task` name the source, and a
    bolt with `auto_ack = False` acks the tuple. None between batches."""

    def process(self, tup: Any) -> None:
        """Process one batch."""
        self.current_tuple = tup
        try:
            refuse_coroutine(self.process_batch, self.process_batch(tup.values))
        finally:
            self.current_tuple = None

    def process_batch(self, batch: "RecordBatch") -> Any:
        """Process the rows of one batch, from one stream and task, and emit results.

        The number of rows depends on the load. Rows can be retained without a copy.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_batch(self, batch)")
