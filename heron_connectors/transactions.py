"""Prepared and uncommitted transactions of a sink in two phases."""

import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

WRITER_BYTES = 8
"""Random bytes of a writer's name: enough for unique names."""
LAST = 99_999_999
"""The number of the transaction after the last checkpoint: behind every checkpoint's number."""


def number_of_run(run: str) -> int:
    """Unique number of a run, for targets that store numbers with commits."""
    return int.from_bytes(sha256(run.encode()).digest()[:7], "big")


@dataclass(frozen=True, slots=True)
class TransactionId:
    """Identity of a transaction: unique and permanent."""

    writer: str
    """A random text, of one life of an instance."""
    number: int
    """Rises with each transaction of a writer, from 1 on: the checkpoint's number under
    EFFECTIVELY_ONCE, the batch's number on an engine of batches."""

    def __str__(self) -> str:
        return f"{self.number:08d}-{self.writer}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared transaction: the commit is possible after the death of any process."""

    id: TransactionId
    checkpoint: int
    """Checkpoint whose completion allows the commit."""
    what: Any
    """Argument of `commit`: the result of `pre_commit`."""


class PreparedTransactions:
    """Prepared transactions of one instance, oldest first: a part of the state."""

    def __init__(self) -> None:
        self._waiting: deque[Prepared] = deque()
        self._completed = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Prepared]:
        return iter(self._waiting)

    def add(self, prepared: Prepared) -> None:
        """Add a transaction that waits for its checkpoint."""
        self._waiting.append(prepared)

    def completed(self, checkpoint: int) -> None:
        """Mark transactions of the checkpoint and of older checkpoints for the commit."""
        self._completed = max(checkpoint, self._completed)

    def complete_all(self) -> None:
        """Mark all transactions for the commit: at the end, or after a restore from a completed
        checkpoint."""
        self._completed = max([self._completed, *(each.checkpoint for each in self._waiting)])

    @property
    def due(self) -> Prepared | None:
        """The next transaction to commit; None without a marked transaction."""
        if self._waiting and self._waiting[0].checkpoint <= self._completed:
            return self._waiting[0]
        return None

    def committed(self) -> None:
        """Remove the due transaction after its commit."""
        self._waiting.popleft()

    def to_state(self) -> list[list[Any]]:
        """As values of a state."""
        return [
            [each.id.writer, each.id.number, each.checkpoint, each.what] for each in self._waiting
        ]

    def restore(self, saved: list[list[Any]]) -> None:
        """Restore from state values: their checkpoint is complete, because only complete
        checkpoints are restored."""
        self._waiting = deque(
            Prepared(TransactionId(writer, number), checkpoint, what)
            for writer, number, checkpoint, what in saved
        )
        self.complete_all()


def new_writer() -> str:
    """A name never used before."""
    return secrets.token_hex(WRITER_BYTES)


def writer_of_batches(run: str, component: str, index: int) -> str:
    """The name of an instance in all processes of a run: a repeated batch has an equal id."""
    return sha256(f"{run}.{component}.{index}".encode()).hexdigest()[: 2 * WRITER_BYTES]
