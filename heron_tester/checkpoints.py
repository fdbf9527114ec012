"""The checkpoints of a tested topology: what the master and the checkpoint store are elsewhere."""

from collections.abc import Callable, Set
from typing import Any

from heron_core.errors import ComponentError
from heron_instance.input.emitted_ids import EmittedIds

Outcome = Callable[[Any, bool], None]


class TesterCheckpoints:
    """The states of all tasks, by number of the checkpoint; only complete ones are restored."""

    def __init__(self, tasks: Set[int]) -> None:
        self._tasks = tasks
        self._states: dict[int, dict[int, bytes]] = {}
        self.newest = 0
        """The newest complete one; 0: the beginning, without any state."""
        self._begun = 0
        self.abandoning: set[str] = set()
        """Bolts with abandoned tuples covered by the checkpoint in progress."""

    def begin(self) -> int:
        """Number of the next checkpoint."""
        self._begun += 1
        self.abandoning.clear()
        return self._begun

    def save(self, task: int, checkpoint: int, state: bytes) -> None:
        """Record a task's state of the checkpoint."""
        self._states.setdefault(checkpoint, {})[task] = state

    def complete(self, checkpoint: int) -> bool:
        """Whether all states are present: the checkpoint is then used by restores."""
        if self._states.get(checkpoint, {}).keys() != self._tasks:
            return False
        self.newest = checkpoint
        return True

    def load(self, checkpoint: int, task: int) -> bytes:
        """The state of a task; ComponentError without one."""
        try:
            return self._states[checkpoint][task]
        except KeyError:
            raise ComponentError(f"checkpoint {checkpoint} has no state of task {task}") from None


class Fed:
    """The id of a tuple that the test emitted: the spout's own ack and fail are not for it."""

    def __init__(self, tup_id: Any, outcome: Callable[[bool], None]) -> None:
        self.tup_id = tup_id
        self.outcome = outcome


class WatchedIds(EmittedIds):
    """A spout's emitted ids, whose outcome is taken down, too."""

    def __init__(self, outcome: Outcome, settled: Callable[[Fed, bool], None]) -> None:
        """`outcome` receives an id and whether the tuple was acked, `settled` an id emitted by
        the test."""
        super().__init__()
        self._outcome = outcome
        self._settled = settled

    def completed(self, checkpoint: int) -> list[Any]:
        """See EmittedIds; those of the test are not for the spout."""
        return self._noted(super().completed(checkpoint), True)

    def take_all(self) -> list[Any]:
        """See EmittedIds; those of the test are not for the spout."""
        return self._noted(self.take_all_unnoted(), False)

    def take_all_unnoted(self) -> list[Any]:
        """Remove and return all ids, in order."""
        covered = super().completed(max(self._by_checkpoint, default=0))
        newest, self._newest = self._newest, []
        return covered + newest

    def _noted(self, ids: list[Any], acked: bool) -> list[Any]:
        own: list[Any] = []
        for each in ids:
            self._outcome(each.tup_id if isinstance(each, Fed) else each, acked)
            if isinstance(each, Fed):
                self._settled(each, acked)
            else:
                own.append(each)
        return own
