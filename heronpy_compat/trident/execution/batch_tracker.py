"""Completeness of a batch in a bolt, determined by message counts. Pure.

Each sending task reports its number of messages after the rows. A batch is complete when all
senders have reported and the reported number of messages has arrived; in a committing bolt, also
the commit.

Rows arrive in two phases: while the batch is processed, and, from committing bolts and their
successors, while the batch is committed. The first phase was acked before the second starts: a task
without the first phase's reports has replaced a failed process, and the batch fails.
"""

from enum import Enum
from typing import Any, Protocol

from heronpy_compat.trident.execution.attempt import TransactionAttempt


class BatchArrival(Enum):
    """Consequence of a message."""

    OPEN = "the batch is not complete"
    COMPLETE = "the batch is complete"
    FAIL = "the batch cannot be completed"


class Senders(Protocol):
    """Reporting tasks, by the current plan."""

    def early(self) -> frozenset[int]:
        """Senders during processing."""

    def late(self) -> frozenset[int]:
        """Senders during the commit."""


class TrackedBatch:
    """One attempt of a batch in one task."""

    def __init__(self, attempt: TransactionAttempt) -> None:
        self.attempt = attempt
        self.received = 0
        self.expected = 0
        self.reported: set[int] = set()
        self.has_commit = False
        self.is_committing = False
        """Whether the second phase has started."""
        self.is_started = False
        """Whether the operations have started the batch."""
        self.is_failed = False
        self.delayed: Any = None
        """The tuple that is acked when the batch is complete: the tree ends no earlier."""
        self.values: dict[int, Any] = {}
        """Operation -> state of the operation for the batch."""
        self.sent: dict[int, int] = {}
        """Task -> number of messages sent to the task."""


class BatchTracker:
    """The batches of one batch group in one task."""

    def __init__(self, senders: Senders, commits: bool, batches_max: int) -> None:
        """`commits`: whether batches wait for a commit."""
        self._senders = senders
        self._commits = commits
        self._batches_max = batches_max
        self._batches: dict[int, TrackedBatch] = {}

    def __len__(self) -> int:
        return len(self._batches)

    def batch_of(
        self, attempt: TransactionAttempt
    ) -> tuple[TrackedBatch | None, list[TrackedBatch]]:
        """The batch of a message (None for an outdated attempt), and the batches outdated by the
        message."""
        known = self._batches.get(attempt.txid)
        if known is not None and known.attempt == attempt:
            return known, []
        if known is not None and known.attempt.attempt_id > attempt.attempt_id:
            return None, []
        # A batch starts after the commit of the batch `batches_max` before.
        over = [txid for txid in self._batches if txid <= attempt.txid - self._batches_max]
        outdated = [self._batches.pop(txid) for txid in over]
        if known is not None:
            outdated.append(known)
        batch = self._batches[attempt.txid] = TrackedBatch(attempt)
        return batch, outdated

    def reported(self, batch: TrackedBatch, sender: int, messages: int) -> BatchArrival:
        """Record a task's final number of messages for the batch."""
        if sender not in batch.reported:
            batch.reported.add(sender)
            batch.expected += messages
        if sender in self._senders.late():
            batch.is_committing = True
        return self._arrival(batch)

    def committed(self, batch: TrackedBatch) -> BatchArrival:
        """The commit has come."""
        batch.has_commit = batch.is_committing = True
        return self._arrival(batch)

    def _arrival(self, batch: TrackedBatch) -> BatchArrival:
        if batch.is_failed:
            return BatchArrival.FAIL
        early, late = self._senders.early(), self._senders.late()
        if not early <= batch.reported:
            return BatchArrival.FAIL if batch.is_committing else BatchArrival.OPEN
        if not late <= batch.reported:
            return BatchArrival.OPEN
        if batch.received != batch.expected:
            return BatchArrival.FAIL
        return (
            BatchArrival.OPEN if self._commits and not batch.has_commit else BatchArrival.COMPLETE
        )

    def delays(self, batch: TrackedBatch) -> bool:
        """Whether to ack the latest tuple only with the complete batch: the tree of the last phase
        must not complete earlier."""
        is_last_phase = batch.is_committing or not (self._commits or self._senders.late())
        return is_last_phase and batch.delayed is None

    def remove(self, batch: TrackedBatch) -> None:
        """The batch is done, or outdated."""
        if self._batches.get(batch.attempt.txid) is batch:
            del self._batches[batch.attempt.txid]
