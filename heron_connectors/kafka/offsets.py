"""Committable offsets of partitions: below the lowest unacked offset."""

from collections import deque

PartitionKey = tuple[str, int]
"""(topic, partition)"""


class _Partition:
    """State of one partition."""

    __slots__ = ("committed", "following", "open", "taken")

    def __init__(self) -> None:
        self.taken: deque[int] = deque()
        """Read offsets in order, from the lowest unacked on."""
        self.open: set[int] = set()
        """Unacked offsets among `taken`."""
        self.following: int | None = None
        """Offset after the newest read record; None before the first."""
        self.committed: int | None = None
        """Last result of `commits`."""

    @property
    def safe(self) -> int | None:
        """The offset to commit: of the first record that a successor has to read."""
        return self.taken[0] if self.taken else self.following


class OffsetLedger:
    """Account of the partitions of a consumer.

    Records are taken in order of their offsets, with gaps where a log was compacted, and acked in
    any order. Whatever belongs to a partition that was revoked is forgotten.
    """

    def __init__(self) -> None:
        self._partitions: dict[PartitionKey, _Partition] = {}

    def take(self, partition_key: PartitionKey, offset: int) -> None:
        """A record was read; its partition is one of ours from now on."""
        partition = self._partitions.setdefault(partition_key, _Partition())
        partition.taken.append(offset)
        partition.open.add(offset)
        partition.following = offset + 1

    def ack(self, partition_key: PartitionKey, offset: int) -> None:
        """Mark a record as done; records of revoked partitions are ignored."""
        partition = self._partitions.get(partition_key)
        if partition is None:
            return
        partition.open.discard(offset)
        while partition.taken and partition.taken[0] not in partition.open:
            partition.taken.popleft()

    def revoke(self, partition_key: PartitionKey) -> None:
        """The partition is another consumer's."""
        self._partitions.pop(partition_key, None)

    def pending(self, partition_key: PartitionKey) -> int:
        """Records read and not acked."""
        partition = self._partitions.get(partition_key)
        return len(partition.open) if partition else 0

    def position(self, partition_key: PartitionKey) -> int | None:
        """Offset after the newest read record, or None."""
        partition = self._partitions.get(partition_key)
        return partition.following if partition else None

    @property
    def partition_keys(self) -> list[PartitionKey]:
        """Partitions with read records."""
        return list(self._partitions)

    def not_committed(self, partition_key: PartitionKey) -> None:
        """What was said to be committed was not: say it again."""
        partition = self._partitions.get(partition_key)
        if partition is not None:
            partition.committed = None

    def commits(self, everything: bool = False) -> dict[PartitionKey, int]:
        """What can be committed and was not said before; or `everything` that can be."""
        found = {}
        for partition_key, partition in self._partitions.items():
            safe = partition.safe
            if safe is not None and (everything or safe != partition.committed):
                found[partition_key] = partition.committed = safe
        return found
