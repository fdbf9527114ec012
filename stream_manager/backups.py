"""States in the memory of a stream manager, for the instances of other containers.

The rules of a backup in memory are in heron_core/state/backup.py. A state comes in parts
(states_in_memory.py), so a large state delays a batch by one part at most. The whole size counts
from the first part on. A completed checkpoint makes all earlier ones obsolete, complete or not: a
restore takes the newest. A state above the limit is refused with a reason, and its instance then
writes to the checkpoint store.
"""

from heron_core.state.backup import BackupRule
from heron_core.wire.messages import BackupFetched, BackupStored, FetchBackup, StoreBackup

ABSENT = -1
"""Size of an absent or incomplete state."""
NO_BACKUP = "this topology has no backup in memory"


class Backups:
    """The states of one stream manager, which end with its process."""

    def __init__(self, container: int, rule: BackupRule | None) -> None:
        self._container = container
        self._bytes_max = 0 if rule is None else rule.bytes_max
        self._states: dict[tuple[int, int], bytearray] = {}
        """(checkpoint, task) -> bytes received so far"""
        self._totals: dict[tuple[int, int], int] = {}
        """(checkpoint, task) -> bytes of the whole state"""
        self._newest = 0
        """The newest completed checkpoint."""
        self.refused = 0
        """States refused since the process began."""

    @property
    def total_bytes(self) -> int:
        """Bytes of all states, parts still to come included."""
        return sum(self._totals.values())

    def answer(self, asked: StoreBackup | FetchBackup) -> BackupStored | BackupFetched:
        """Answer an instance."""
        return self._store(asked) if isinstance(asked, StoreBackup) else self._fetch(asked)

    def _store(self, asked: StoreBackup) -> BackupStored:
        key = asked.checkpoint, asked.task
        if asked.offset == 0:
            self._drop(key)
            if reason := self._why_not(asked):
                self.refused += 1
                return BackupStored(asked.question, reason)
            self._states[key], self._totals[key] = bytearray(), asked.total
        state = self._states.get(key)
        if state is None or len(state) != asked.offset or self._is_too_long(asked):
            self._drop(key)
            return BackupStored(
                asked.question, f"container {self._container} has lost its beginning"
            )
        state += asked.part
        return BackupStored(asked.question)

    def _is_too_long(self, asked: StoreBackup) -> bool:
        return asked.offset + len(asked.part) > self._totals[asked.checkpoint, asked.task]

    def _why_not(self, asked: StoreBackup) -> str:
        if not self._bytes_max:
            return NO_BACKUP
        if asked.checkpoint < self._newest:
            return f"checkpoint {self._newest} is complete already"
        backup_bytes = self.total_bytes
        if backup_bytes + asked.total <= self._bytes_max:
            return ""
        return (
            f"container {self._container} holds {backup_bytes:,} bytes, and {asked.total:,} more "
            f"exceed topology.stateful.backup.bytes.max, {self._bytes_max:,}"
        )

    def _drop(self, key: tuple[int, int]) -> None:
        self._states.pop(key, None)
        self._totals.pop(key, None)

    def _fetch(self, asked: FetchBackup) -> BackupFetched:
        key = asked.checkpoint, asked.task
        state = self._states.get(key)
        if state is None or len(state) != self._totals[key]:
            return BackupFetched(asked.question, ABSENT)
        part = bytes(memoryview(state)[asked.offset : asked.offset + asked.bytes_max])
        return BackupFetched(asked.question, len(state), part)

    def completed(self, checkpoint: int) -> None:
        """A checkpoint is complete: states of earlier ones are obsolete."""
        self._newest = max(self._newest, checkpoint)
        for key in [each for each in self._states if each[0] < self._newest]:
            self._drop(key)

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        assert self._states.keys() == self._totals.keys()
        assert self.total_bytes <= self._bytes_max, "more is held than the limit"
        assert all(number >= self._newest for number, _ in self._states), "an obsolete state"
        for key, state in self._states.items():
            assert len(state) <= self._totals[key], f"{key} is longer than it should be"
