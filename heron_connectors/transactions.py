"""The transactions of a sink in two phases that are prepared and not committed yet."""

import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

WRITER_BYTES = 8
"""Random bytes of a writer's name: enough that no name is drawn twice."""
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
    """Rises with each transaction of a writer. Under EFFECTIVELY_ONCE it is the checkpoint's, on an
    engine of batches the batch's, from 1 on."""

    def __str__(self) -> str:
        return f"{self.number:08d}-{self.writer}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A transaction that is prepared: from here on it can be committed, whatever dies."""

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
        """Whatever belongs to this checkpoint or to an older one is to be committed."""
        self._completed = max(checkpoint, self._completed)

    def complete_all(self) -> None:
        """All are to be committed: it is the end, or a completed checkpoint has brought them."""
        self._completed = max([self._completed, *(each.checkpoint for each in self._waiting)])

    @property
    def due(self) -> Prepared | None:
        """The next one to be committed now."""
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
    """The name of an instance in all processes of a run: a batch that is repeated has its id."""
    return sha256(f"{run}.{component}.{index}".encode()).hexdigest()[: 2 * WRITER_BYTES]
