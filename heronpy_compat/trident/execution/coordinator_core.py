"""Scheduling of batches in progress, commits and replays. Pure.

Batches start in order of transaction ids, up to `batches_max` at a time, and are processed
concurrently. Commits run one at a time, in order. If a batch fails, the batch and all later batches
are replayed, each with its transaction id and the next attempt number: an opaque spout may emit
different tuples.

`BatchProgress` is stored before a success is announced, and reserves the first attempts of all
batches startable before the next write; a replay is stored before its attempt is emitted. So a
batch without failure needs one write, and a replacement coordinator repeats at most one commit,
with attempt numbers above all previous attempts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from heron_core.transitions import MachineState, Transitions
from heronpy_compat.trident.execution.attempt import TransactionAttempt

FIRST_TXID = 1


class BatchState(MachineState):
    """Next event of a batch."""

    PROCESSING = "its tuples are processed"
    PROCESSED = "all its tuples are processed; batches before it are not committed"
    COMMITTING = "states and spouts commit it, and no other batch"
    COMMITTED = "it never comes again"
    DROPPED = "this attempt is outdated, the batch comes again with the next one"


TRANSITIONS: Transitions[BatchState] = Transitions(
    "a batch",
    {BatchState.PROCESSING: "an attempt is emitted"},
    {
        BatchState.PROCESSING: {
            BatchState.PROCESSED: "its tree is acked",
            BatchState.DROPPED: "its tree fails, or a batch before it does",
        },
        BatchState.PROCESSED: {
            BatchState.COMMITTING: "it is the first one, and something commits",
            BatchState.COMMITTED: "it is the first one, and nothing commits",
            BatchState.DROPPED: "a batch before it fails",
        },
        BatchState.COMMITTING: {
            BatchState.COMMITTED: "the tree of the commit is acked",
            BatchState.DROPPED: "the tree of the commit fails",
        },
    },
)


@dataclass(frozen=True)
class BatchProgress:
    """State that survives the coordinator's process."""

    current: int = FIRST_TXID
    """The first uncommitted batch."""
    attempts: dict[int, int] = field(default_factory=dict)
    """Transaction id -> newest attempt possibly emitted, from `current` on."""


@dataclass(frozen=True)
class SaveProgress:
    """Store the progress before the following actions."""

    progress: BatchProgress


@dataclass(frozen=True)
class EmitBatch:
    """Emit an attempt to the spouts."""

    attempt: TransactionAttempt


@dataclass(frozen=True)
class EmitCommit:
    """Have a batch committed."""

    attempt: TransactionAttempt


@dataclass(frozen=True)
class AnnounceSuccess:
    """Notify the spouts of a committed batch."""

    attempt: TransactionAttempt


Instruction = SaveProgress | EmitBatch | EmitCommit | AnnounceSuccess


@dataclass
class _Batch:
    attempt: TransactionAttempt
    state: BatchState

    def follow(self, to: BatchState) -> None:
        self.state = TRANSITIONS.follow(self.state, to)


class CoordinatorCore:
    """The batches of one batch group."""

    def __init__(self, progress: BatchProgress, batches_max: int, commits: bool) -> None:
        """`progress`: state of the previous process; `commits`: whether the group has committing
        bolts."""
        self._batches_max = batches_max
        self._commits = commits
        self._current = progress.current
        self._attempts = dict(progress.attempts)
        self._stored: dict[int, int] = {}
        """Attempts in the last stored progress."""
        self._active: dict[int, _Batch] = {}

    @property
    def current(self) -> int:
        """The first uncommitted batch."""
        return self._current

    @property
    def active(self) -> list[int]:
        """Transaction ids of batches in progress."""
        return sorted(self._active)

    def due(self) -> Iterator[int]:
        """Transaction ids of startable batches, ascending."""
        for txid in range(self._current, self._current + self._batches_max):
            if txid not in self._active:
                yield txid

    def begin(self, txid: int) -> list[Instruction]:
        """Start a due batch."""
        assert txid not in self._active, f"batch {txid} is under way"
        attempt = TransactionAttempt(txid, self._attempts.get(txid, -1) + 1)
        self._attempts[txid] = attempt.attempt_id
        self._active[txid] = _Batch(attempt, TRANSITIONS.begin(BatchState.PROCESSING))
        is_reserved = attempt.attempt_id <= self._stored.get(txid, -1)
        return [EmitBatch(attempt)] if is_reserved else [self._save(), EmitBatch(attempt)]

    def acked(self, attempt: TransactionAttempt, is_commit: bool) -> list[Instruction]:
        """The tree of an attempt or of its commit is complete; outdated attempts are ignored."""
        batch = self._batch_of(attempt, is_commit)
        if batch is None:
            return []
        if batch.state is BatchState.COMMITTING:
            return [*self._committed(batch), *self._commit_next()]
        batch.follow(BatchState.PROCESSED)
        return self._commit_next()

    def failed(self, attempt: TransactionAttempt, is_commit: bool) -> bool:
        """The tree has failed: whether that was a valid attempt, and batches come again."""
        batch = self._batch_of(attempt, is_commit)
        if batch is None:
            return False
        for txid in [each for each in self._active if each >= attempt.txid]:
            self._active.pop(txid).follow(BatchState.DROPPED)
        return True

    def _batch_of(self, attempt: TransactionAttempt, is_commit: bool) -> _Batch | None:
        batch = self._active.get(attempt.txid)
        if batch is None or batch.attempt != attempt:
            return None
        expected = BatchState.COMMITTING if is_commit else BatchState.PROCESSING
        return batch if batch.state is expected else None

    def _commit_next(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        batch = self._active.get(self._current)
        while batch is not None and batch.state is BatchState.PROCESSED:
            if self._commits:
                batch.follow(BatchState.COMMITTING)
                return [*instructions, EmitCommit(batch.attempt)]
            instructions += self._committed(batch)
            batch = self._active.get(self._current)
        return instructions

    def _committed(self, batch: _Batch) -> list[Instruction]:
        batch.follow(BatchState.COMMITTED)
        del self._active[batch.attempt.txid]
        self._attempts.pop(batch.attempt.txid, None)
        self._current += 1
        return [self._save(), AnnounceSuccess(batch.attempt)]

    def _save(self) -> SaveProgress:
        window = range(self._current, self._current + self._batches_max)
        self._stored = {**dict.fromkeys(window, 0), **self._attempts}
        return SaveProgress(BatchProgress(self._current, dict(self._stored)))

    def validate(self) -> None:
        """AssertionError if an invariant does not hold."""
        last = self._current + self._batches_max
        assert all(self._current <= txid < last for txid in self._active), "outside of the window"
        committing = [
            txid for txid, batch in self._active.items() if batch.state is BatchState.COMMITTING
        ]
        assert committing in ([], [self._current]), "only the first batch is committed"
        assert all(txid >= self._current for txid in self._attempts), (
            "attempts of committed batches"
        )
