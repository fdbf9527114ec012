"""Callbacks at the start and end of a batch, on engines that repeat whole batches."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class BatchAware(Protocol):
    """A component that makes the effects of a batch happen once, however often it is repeated.

    An engine that works in batches calls `begin_batch` before the first tuple of each batch and
    `end_batch` after the last one (after `on_finish` in the last batch), before it counts the batch
    as done. A batch that was not counted as done comes again with the same number and tuples, maybe
    in another process; its effects must then replace those of the first time, for example because
    files are named after the batch. What `end_batch` raises makes the batch come again. Tuples may
    be acked before. An engine without batches never calls either.
    """

    def begin_batch(self, batch_id: int) -> Any:
        """Batch `batch_id`, counted from 0, starts."""

    def end_batch(self) -> Any:
        """All tuples of the batch are processed: its effects have to be durable on return."""
