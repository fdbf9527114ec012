"""When the next process of an instance starts that keeps ending. Pure.

A process says how long the next one waits if it ends at once: with its failure, if it could not
start, or when it registers. In the second case nothing tells of its end but its silence.
"""

from collections.abc import Set

from msgspec import Struct

from heron_core.algorithms.backoff import STABLE_SECS


class _Try(Struct):
    pause_secs: float
    """How long the next process waits."""
    stable_at: float
    """From then on the next one waits for nothing."""
    heard_at: float
    """When the process ended, or was last heard of."""


class NextTries:
    """By task."""

    def __init__(self) -> None:
        self._tries: dict[int, _Try] = {}

    def __bool__(self) -> bool:
        return bool(self._tries)

    def said(self, task: int, pause_secs: float, now: float) -> None:
        """What a process of the task says when it could not start, and ends, or when it has taken
        the place of one that ended."""
        self._tries.pop(task, None)
        if pause_secs > 0:
            self._tries[task] = _Try(pause_secs, now + max(STABLE_SECS, pause_secs), now)

    def heard_of(self, task: int, now: float) -> None:
        """Its process lives."""
        if (found := self._tries.get(task)) is not None:
            found.heard_at = now
            if now >= found.stable_at:
                del self._tries[task]

    def secs(self, task: int, now: float) -> float:
        """Until the next process of a task that has none; 0 if that is not known, or it is due."""
        found = self._tries.get(task)
        return 0.0 if found is None else max(0.0, found.heard_at + found.pause_secs - now)

    def keep(self, tasks: Set[int]) -> None:
        """Forget all others."""
        self._tries = {task: each for task, each in self._tries.items() if task in tasks}
