"""How a bolt knows that it has all tuples of a batch: by counting. Pure.

Each task that sends it rows reports behind them how many messages they were. A batch is complete
when all these tasks have reported, and as many messages have come; where the bolt commits, when
the commit has come as well.

Rows come in one of two phases: while the batch is processed, or, from bolts that commit and those
behind them, while it is committed. When the second phase begins, the first one was acked: a task
to which its reports have not come is the successor of a process that had them, and the batch fails.
"""

from enum import Enum
from typing import Any, Protocol

from heronpy_compat.trident.execution.attempt import TransactionAttempt


class BatchArrival(Enum):
    """What follows from a message."""

    OPEN = "the batch is not complete"
    COMPLETE = "the batch is complete"
    FAIL = "the batch cannot be completed"


class Senders(Protocol):
    """The tasks that report, by the plan of now."""

    def early(self) -> frozenset[int]:
        """Those that send while a batch is processed."""

    def late(self) -> frozenset[int]:
        """Those that send while it is committed."""


class TrackedBatch:
    """One attempt of a batch in one task."""

    def __init__(self, attempt: TransactionAttempt) -> None:
        self.attempt = attempt
        self.received = 0
        self.expected = 0
        self.reported: set[int] = set()
        self.has_commit = False
        self.is_committing = False
        """The second phase has begun."""
        self.is_started = False
        """The operations have begun it."""
        self.is_failed = False
        self.delayed: Any = None
        """The tuple that is acked when the batch is complete: the tree ends no earlier."""
        self.values: dict[int, Any] = {}
        """Operation -> what it has of the batch."""
        self.sent: dict[int, int] = {}
        """Task -> messages that were sent to it."""


class BatchTracker:
    """The batches of one batch group in one task."""

    def __init__(self, senders: Senders, commits: bool, batches_max: int) -> None:
        """`commits`: whether a batch waits for its commit."""
        self._senders = senders
        self._commits = commits
        self._batches_max = batches_max
        self._batches: dict[int, TrackedBatch] = {}

    def __len__(self) -> int:
        return len(self._batches)

    def batch_of(
        self, attempt: TransactionAttempt
    ) -> tuple[TrackedBatch | None, list[TrackedBatch]]:
        """The batch of a message, None for an outdated attempt; and the batches that are outdated
        by it."""
        known = self._batches.get(attempt.txid)
        if known is not None and known.attempt == attempt:
            return known, []
        if known is not None and known.attempt.attempt_id > attempt.attempt_id:
            return None, []
        # A batch begins when the one `batches_max` before it is committed.
        over = [txid for txid in self._batches if txid <= attempt.txid - self._batches_max]
        outdated = [self._batches.pop(txid) for txid in over]
        if known is not None:
            outdated.append(known)
        batch = self._batches[attempt.txid] = TrackedBatch(attempt)
        return batch, outdated

    def reported(self, batch: TrackedBatch, sender: int, messages: int) -> BatchArrival:
        """A task has sent so many messages of the batch, and sends no more."""
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
        """Whether the tuple that has just come is to be acked when the batch is complete: the tree
        of the last phase must not be complete before."""
        is_last_phase = batch.is_committing or not (self._commits or self._senders.late())
        return is_last_phase and batch.delayed is None

    def remove(self, batch: TrackedBatch) -> None:
        """The batch is done, or outdated."""
        if self._batches.get(batch.attempt.txid) is batch:
            del self._batches[batch.attempt.txid]
