"""Callbacks at the start and end of a batch, on engines that repeat whole batches."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class BatchAware(Protocol):
    """A component whose effects of a batch happen once, for any number of repetitions of the batch.

    An engine of batches calls `begin_batch` before the first tuple of each batch, and `end_batch`
    after the last tuple (in the last batch after `on_finish`), before the engine records the batch
    as done. A batch that was not recorded is repeated with its number and its tuples, possibly in
    another process; the effects of the repetition must then replace the first effects, for example
    because files are named after the batch. An exception of `end_batch` causes a repetition. Tuples
    may be acked earlier. An engine without batches calls neither method.

        class Report(Bolt):
            def begin_batch(self, batch_id):
                self.path, self.lines = f"report-{batch_id}.txt", []

            def process(self, tup):
                self.lines.append(str(tup.values[0]))

            def end_batch(self):
                Path(self.path).write_text("\\n".join(self.lines))
    """

    def begin_batch(self, batch_id: int) -> Any:
        """Batch `batch_id`, counted from 0, starts."""

    def end_batch(self) -> Any:
        """Called after all tuples of the batch; its effects must be durable on return."""
