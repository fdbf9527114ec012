"""Decisions of the topology master about a backup of states in memory.

The rules for durable and final checkpoints are in heron_core/state/backup.py. Here each checkpoint
gets its number, and two checkpoints follow a restore at once. The first is in memory alone, and so
takes no longer than a message: the failed process has taken copies of states along, and another
failure before their renewal loses the checkpoint. The second is durable, because a restored sink
commits the transactions of its state.
"""

from collections.abc import Mapping, Sequence

from heron_core.state.backup import BackupRule
from heron_core.stats import BackupStats
from heron_engine.topology_master.completed_checkpoint import CompletedCheckpoint

RENEWAL = (False, True)
"""Whether each of the checkpoints is durable that follow a restore at once."""


class BackupProgress:
    """The backup of a topology; counts are of the present master."""

    def __init__(self, rule: BackupRule | None) -> None:
        """`rule`: None without a backup, where each checkpoint is durable."""
        self._rule = rule
        self._renewal: tuple[bool, ...] = ()
        """Of the checkpoints still to follow at once."""
        self._copies: int | None = None
        self._spilled = 0
        self.rolled_back = 0
        """Lost checkpoints, each followed by a restore from the store."""
        self.shortfalls: Mapping[int, str] = {}
        """task -> why too few containers hold its state of the newest checkpoint"""

    @property
    def is_durable_next(self) -> bool:
        """Whether the next checkpoint is to be durable, whatever its turn."""
        return self._renewal[:1] == (True,)

    def number_after(self, latest: int, is_durable: bool) -> int:
        """Number of the next checkpoint."""
        if self._rule is None or not is_durable:
            return latest + 1
        return self._rule.durable_after(latest)

    def begun(self, interval_secs: float) -> float:
        """A checkpoint begins; returns the seconds until the next one."""
        self._renewal = self._renewal[1:]
        return 0.0 if self._renewal else interval_secs

    def restored(self) -> bool:
        """All instances are restored from a checkpoint; returns whether others follow."""
        self._renewal = () if self._rule is None else RENEWAL
        return self._rule is not None

    def completed(
        self, number: int, copies: int | None, shortfalls: Mapping[int, str], in_store: int
    ) -> bool:
        """A checkpoint is complete; returns whether its states are in memory, and not final.
        `in_store`: number of states in the checkpoint store."""
        if self._rule is None:
            return False
        self._copies, self.shortfalls = copies, dict(shortfalls)
        if self._rule.is_durable(number):
            return False
        self._spilled += in_store
        return True

    @property
    def shortfall(self) -> str:
        """One of the reasons in `shortfalls`; empty without any."""
        return next(iter(self.shortfalls.values()), "")

    def stats(self, completed: Sequence[CompletedCheckpoint]) -> BackupStats | None:
        """For people; None without a backup."""
        if self._rule is None:
            return None
        durable = next((each.number for each in completed if not each.in_memory), 0)
        return BackupStats(
            durable=durable,
            copies=self._copies,
            spilled=self._spilled,
            shortfall=self.shortfall,
            rolled_back=self.rolled_back,
        )
