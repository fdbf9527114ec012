"""Failed stateful coroutine calls under checkpoints: retries and abandonment.

Changes by a failed call are mixed with changes of concurrent calls, so only a restore of the
topology undoes them. The failure counts survive the restore: a tuple above the limit of failures
is not called again when replayed. Pure.
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
        """Abandoned since the newest checkpoint but one: each may be replayed once."""
        self._covered = 0
        """How many of them, from the left, the newest checkpoint may have as processed."""
        self._to_skip: list[tuple[int, LetterFault]] = []
        """Abandoned tuples not yet replayed since the restore."""

    def failures_of(self, key: int) -> int:
        """Number of failures, including the current one."""
        if key not in self._failures and len(self._failures) >= KNOWN_MAX:
            self._failures.pop(next(iter(self._failures)))
        self._failures[key] = self._failures.get(key, 0) + 1
        return self._failures[key]

    def pause_secs(self, key: int, fault: LetterFault) -> float | None:
        """Pause before the next call, after the restore; None if abandoned."""
        pause = self._policy.pause_secs(fault.attempt)
        if pause is None:
            del self._failures[key]
            self._abandoned.append((key, fault))
        return pause

    def skipped(self, key: int) -> LetterFault | None:
        """Reason for skipping a replayed tuple; None to call the component."""
        for index, (abandoned, fault) in enumerate(self._to_skip):
            if abandoned == key:
                del self._to_skip[index]
                return fault
        return None

    def succeeded(self, key: int) -> None:
        """Reset the failure count after a success."""
        self._failures.pop(key, None)

    @property
    def has_any(self) -> bool:
        """Whether a tuple's key is worth to be looked at."""
        return bool(self._failures or self._to_skip)

    def note_restore(self) -> None:
        """What was abandoned since the checkpoint comes again."""
        self._to_skip = list(self._abandoned)

    def checkpoint_completed(self) -> None:
        """Drop tuples abandoned before the previous checkpoint: they are never replayed."""
        for _ in range(self._covered):
            self._abandoned.popleft()
        self._covered = len(self._abandoned)
