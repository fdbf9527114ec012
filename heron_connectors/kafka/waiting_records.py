"""Records that cannot be decoded while the schema registry is unreachable. Pure: time is an
argument.

Records wait in order, and their partitions are paused. The first record is retried after a pause
that doubles: order is kept, no record is left out, and memory is bounded to a record per
partition.
"""

from collections import deque
from typing import Any

from heron_connectors.kafka.offsets import PartitionKey
from heron_core.algorithms.retries import pause_secs

FIRST_PAUSE_SECS = 1.0
"""First pause: a restarted registry returns within seconds, and refusals are cheap."""


class WaitingRecords:
    """The waiting records of one source."""

    def __init__(self) -> None:
        self._records: deque[tuple[PartitionKey, Any]] = deque()
        self._failures = 0
        self._due = 0.0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def partition_keys(self) -> set[PartitionKey]:
        """The partitions of the waiting records."""
        return {each for each, _ in self._records}

    def add(self, partition_key: PartitionKey, record: Any) -> None:
        """Append a record."""
        self._records.append((partition_key, record))

    def put_back(self, partition_key: PartitionKey, record: Any, now: float) -> float:
        """It could not be decoded; the pause in seconds until it can be taken again."""
        self._records.appendleft((partition_key, record))
        self._failures += 1
        pause = pause_secs(FIRST_PAUSE_SECS, self._failures)
        self._due = now + pause
        return pause

    def take(self, now: float) -> Any:
        """The first record, if its pause is over; else None."""
        if not self._records or now < self._due:
            return None
        return self._records.popleft()[1]

    def answered(self) -> None:
        """Reset the pause: the registry responds again."""
        self._failures, self._due = 0, 0.0

    def drop(self, partition_keys: set[PartitionKey]) -> None:
        """Drop records of revoked partitions; the new owner reads them again."""
        self._records = deque(each for each in self._records if each[0] not in partition_keys)
