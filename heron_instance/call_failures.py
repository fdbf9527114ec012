"""Calls of a coroutine with state that raised, where checkpoints are taken: tries and give-ups.

What such a call has changed is among the changes of the calls that were under way beside it, so
only the topology undoes it, by restoring a checkpoint. What is counted here outlives that: a
tuple that has raised too often is not called again when it comes again. Pure.
"""

from collections import deque

from heron_core.algorithms.retries import RetryPolicy
from heron_instance.emit.dead_letters import KNOWN_MAX, LetterFault


class CallFailures:
    """By the key of a tuple (dead_letters.key_of), which equal tuples share."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures: dict[int, int] = {}
        self._abandoned: deque[tuple[int, LetterFault]] = deque()
        """Since the newest checkpoint but one: these may come again, each of them once."""
        self._covered = 0
        """How many of them, from the left, the newest checkpoint may have as processed."""
        self._to_skip: list[tuple[int, LetterFault]] = []
        """Those that have not come again since the topology was restored."""

    def failures_of(self, key: int) -> int:
        """How often it has raised, this time included."""
        if key not in self._failures and len(self._failures) >= KNOWN_MAX:
            self._failures.pop(next(iter(self._failures)))
        self._failures[key] = self._failures.get(key, 0) + 1
        return self._failures[key]

    def pause_secs(self, key: int, fault: LetterFault) -> float | None:
        """Until it is called again, after the topology has been restored; None if it is given
        up."""
        pause = self._policy.pause_secs(fault.attempt)
        if pause is None:
            del self._failures[key]
            self._abandoned.append((key, fault))
        return pause

    def skipped(self, key: int) -> LetterFault | None:
        """Why a tuple that comes again is not called; None to call it."""
        for index, (abandoned, fault) in enumerate(self._to_skip):
            if abandoned == key:
                del self._to_skip[index]
                return fault
        return None

    def succeeded(self, key: int) -> None:
        """It has ended, and its count begins again."""
        self._failures.pop(key, None)

    @property
    def has_any(self) -> bool:
        """Whether a tuple's key is worth to be looked at."""
        return bool(self._failures or self._to_skip)

    def note_restore(self) -> None:
        """What was abandoned since the checkpoint comes again."""
        self._to_skip = list(self._abandoned)

    def checkpoint_completed(self) -> None:
        """What was abandoned before the checkpoint before this one never comes again."""
        for _ in range(self._covered):
            self._abandoned.popleft()
        self._covered = len(self._abandoned)
