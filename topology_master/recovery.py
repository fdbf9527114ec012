"""Going back to a checkpoint: who has its state, when all may go on, and whom nobody knows.

Whenever the plan gets a new epoch, all instances go back to the newest completed checkpoint. As
long as not all have said that they have its state, nobody emits or processes anything
(Restore.members is None). Then the plan names the processes that have it, and these alone go on. A
process that comes later, because one of them has died, has no state of this moment: so all go back
once more.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from enum import Enum

from heron_core.plans import Restore
from heron_core.wire.messages import Restored, RestoreFailed

TRIES = 3
"""How often a checkpoint is tried before an older one is; after the oldest the newest again."""
RETRY_SECS = 1.0
"""Between two tries: a store that is away for a moment, or a slow disk, is there again."""


class Progress(Enum):
    """What an instance's answer changes."""

    NOTHING = "nothing"
    RELEASED = "released"
    """All have the state: they may go on."""
    REPLACED = "replaced"
    """A process has come that has no state of this moment: all are to go back."""


class Recovery:
    """The restore with which the newest plan begins."""

    def __init__(self, restore: Restore | None) -> None:
        """`restore`: of the plan that a master before this one has stored."""
        self.restore = restore or Restore(0)
        self.restored: dict[int, int] = {}
        """task -> incarnation, of those that have the state"""
        self.wanted = ""
        """Why all are to go back, as soon as there is a plan for that; empty if they are not."""
        self.tries = 0
        """In a row that have failed."""
        self._reason = ""
        self._retry_at: float | None = None

    @property
    def failure(self) -> str:
        """Why no try has gone well, after so many that a moment's trouble is no reason any more."""
        return self._reason if self.tries >= TRIES else ""

    @property
    def failure_of_try(self) -> str:
        """Why the present try does not go well; empty as long as it may."""
        return "" if self._retry_at is None else self._reason

    @property
    def is_released(self) -> bool:
        """Whether data flows."""
        return self.restore.members is not None

    def begin(self, checkpoints: Sequence[int]) -> Restore:
        """A new epoch begins; `checkpoints`: to which it may go back, best first."""
        number = checkpoints[self.tries // TRIES % len(checkpoints)]
        self.restore, self.restored = Restore(number), {}
        self.wanted, self._retry_at = "", None
        return self.restore

    def take(self, message: Restored, epoch: int, tasks: Set[int]) -> Progress:
        """An instance's process says what it has, by a plan of `epoch` with these tasks."""
        task, who = message.task, message.incarnation
        members = self.restore.members
        if members is not None:
            is_stranger = message.epoch in (0, epoch) and members.get(task) != who
            return Progress.REPLACED if is_stranger else Progress.NOTHING
        if message.epoch != epoch or task not in tasks:
            return Progress.NOTHING
        self.restored[task] = who
        if self.restored.keys() < tasks:
            return Progress.NOTHING
        self.restore = replace(self.restore, members=dict(self.restored))
        self.tries = 0
        self._retry_at = None
        return Progress.RELEASED

    def fail(self, message: RestoreFailed, epoch: int, now: float) -> bool:
        """An instance cannot have its state; whether that is the first try of this checkpoint."""
        if message.epoch != epoch or self.is_released or self._retry_at is not None:
            return False
        self.tries += 1
        self._reason = message.reason
        self._retry_at = now + RETRY_SECS
        return self.tries % TRIES == 1

    def is_retry_due(self, now: float) -> bool:
        """Whether all are to try again, after some could not have their state."""
        return self._retry_at is not None and now >= self._retry_at

    def validate(self, tasks: Set[int]) -> None:
        """AssertionError if something holds that never may."""
        assert self.restored.keys() <= tasks, "a stranger has the state"
        members = self.restore.members
        assert members is None or members.keys() == tasks, "members that are not those of the plan"
        assert members is None or self._retry_at is None, "released, and to be tried again"
