"""How a task knows that it has a whole batch."""

from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.batch_tracker import BatchArrival, BatchTracker, TrackedBatch

OPEN, COMPLETE, FAIL = BatchArrival.OPEN, BatchArrival.COMPLETE, BatchArrival.FAIL


class Senders:
    """Tasks 1 and 2 send while a batch is processed, and others while it is committed."""

    def __init__(self, *late: int) -> None:
        self._late = frozenset(late)
        self.early_tasks = {1, 2}

    def early(self) -> frozenset[int]:
        return frozenset(self.early_tasks)

    def late(self) -> frozenset[int]:
        return self._late


def tracker(*late: int, commits: bool = False) -> BatchTracker:
    return BatchTracker(Senders(*late), commits, 2)


def batch_of(tracker: BatchTracker, txid: int = 1, attempt: int = 0) -> TrackedBatch:
    batch, _ = tracker.batch_of(TransactionAttempt(txid, attempt))
    assert batch is not None
    return batch


def test_a_batch_is_complete_when_all_have_reported_and_all_messages_have_come() -> None:
    tracked = tracker()
    batch = batch_of(tracked)
    assert tracked.reported(batch, 1, 0) is OPEN
    assert tracked.delays(batch)
    batch.delayed = "the first report"
    batch.received += 3
    assert not tracked.delays(batch)
    assert tracked.reported(batch, 2, 3) is COMPLETE


def test_a_message_that_is_missing_fails_the_batch() -> None:
    tracked = tracker()
    batch = batch_of(tracked)
    tracked.reported(batch, 1, 1)
    assert tracked.reported(batch, 2, 0) is FAIL


def test_a_bolt_that_commits_waits_for_the_commit_and_delays_it_alone() -> None:
    tracked = tracker(commits=True)
    batch = batch_of(tracked)
    tracked.reported(batch, 1, 0)
    assert tracked.reported(batch, 2, 0) is OPEN
    assert not tracked.delays(batch)
    assert tracked.committed(batch) is COMPLETE


def test_a_commit_of_what_the_process_before_had_fails() -> None:
    tracked = tracker(commits=True)
    assert tracked.committed(batch_of(tracked)) is FAIL


def test_reports_that_come_while_a_batch_is_committed() -> None:
    """Task 3 is behind a commit: what 1 and 2 have sent was acked before it sends."""
    tracked = tracker(3, commits=True)
    batch = batch_of(tracked)
    tracked.reported(batch, 1, 0)
    assert tracked.reported(batch, 2, 0) is OPEN
    assert tracked.committed(batch) is OPEN
    assert tracked.delays(batch)
    assert tracked.reported(batch, 3, 0) is COMPLETE
    successor = tracker(3)
    assert successor.reported(batch_of(successor), 3, 0) is FAIL


def test_an_older_attempt_is_ignored_and_replaced_by_a_newer_one() -> None:
    tracked = tracker()
    first = batch_of(tracked)
    second, outdated = tracked.batch_of(TransactionAttempt(1, 1))
    assert outdated == [first]
    assert tracked.batch_of(TransactionAttempt(1, 0)) == (None, [])
    assert second is not first


def test_a_batch_that_must_be_committed_is_forgotten() -> None:
    """With two batches under way at most, the third begins when the first is committed."""
    tracked = tracker()
    first = batch_of(tracked, 1)
    batch_of(tracked, 2)
    _, outdated = tracked.batch_of(TransactionAttempt(3, 0))
    assert outdated == [first]
    assert len(tracked) == 2


def test_a_failed_batch_stays_failed() -> None:
    tracked = tracker()
    batch = batch_of(tracked)
    batch.is_failed = True
    assert tracked.reported(batch, 1, 0) is FAIL
    tracked.remove(batch)
    assert len(tracked) == 0
