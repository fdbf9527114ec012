"""Start time of the next process of an instance that keeps ending. Pure.

A process announces the delay of its successor in case of an immediate end: with its start failure,
or at the registration. After a registration only silence reveals the end.
"""

from collections.abc import Set

from msgspec import Struct

from heron_core.algorithms.backoff import STABLE_SECS


class _Try(Struct):
    pause_secs: float
    """How long the next process waits."""
    stable_at: float
    """Uptime after which a successor starts without delay."""
    heard_at: float
    """When the process ended, or was last heard of."""


class NextTries:
    """By task."""

    def __init__(self) -> None:
        self._tries: dict[int, _Try] = {}

    def __bool__(self) -> bool:
        return bool(self._tries)

    def said(self, task: int, pause_secs: float, now: float) -> None:
        """Report of a task's process that could not start, or has replaced an ended process."""
        self._tries.pop(task, None)
        if pause_secs > 0:
            self._tries[task] = _Try(pause_secs, now + max(STABLE_SECS, pause_secs), now)

    def heard_of(self, task: int, now: float) -> None:
        """The process is alive."""
        if (found := self._tries.get(task)) is not None:
            found.heard_at = now
            if now >= found.stable_at:
                del self._tries[task]

    def secs(self, task: int, now: float) -> float:
        """Time until the next process of a task without one; 0 if unknown or due."""
        found = self._tries.get(task)
        return 0.0 if found is None else max(0.0, found.heard_at + found.pause_secs - now)

    def keep(self, tasks: Set[int]) -> None:
        """Drop all other tasks."""
        self._tries = {task: each for task, each in self._tries.items() if task in tasks}
