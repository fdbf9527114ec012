"""Records that a source has read and cannot decode yet, as the schema registry is away. Pure: time
is an argument.

Each waits in order, its partition is paused behind it, and the first one is tried again after a
pause that doubles: nothing is left out, nothing overtakes, and the memory is a record a partition.
"""

from collections import deque
from typing import Any

from heron_connectors.kafka.offsets import PartitionKey
from heron_core.algorithms.retries import pause_secs

FIRST_PAUSE_SECS = 1.0
"""A registry that is restarted is back within seconds; its refusals cost nothing."""


class WaitingRecords:
    """The records of one source."""

    def __init__(self) -> None:
        self._records: deque[tuple[PartitionKey, Any]] = deque()
        self._failures = 0
        self._due = 0.0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def partition_keys(self) -> set[PartitionKey]:
        """The partitions of these records."""
        return {each for each, _ in self._records}

    def add(self, partition_key: PartitionKey, record: Any) -> None:
        """It comes behind the others."""
        self._records.append((partition_key, record))

    def put_back(self, partition_key: PartitionKey, record: Any, now: float) -> float:
        """It could not be decoded; the pause in seconds until it can be taken again."""
        self._records.appendleft((partition_key, record))
        self._failures += 1
        pause = pause_secs(FIRST_PAUSE_SECS, self._failures)
        self._due = now + pause
        return pause

    def take(self, now: float) -> Any:
        """The first one, if its pause is over; else None."""
        if not self._records or now < self._due:
            return None
        return self._records.popleft()[1]

    def answered(self) -> None:
        """The registry is there again."""
        self._failures, self._due = 0, 0.0

    def drop(self, partition_keys: set[PartitionKey]) -> None:
        """These partitions are another's, who reads them again."""
        self._records = deque(each for each in self._records if each[0] not in partition_keys)
