"""When is a process that ended started again? At once the first time, then ever later, then never.

Pure: the executor tells when processes started and ended, the policy answers.
"""

from dataclasses import dataclass

FIRST_PAUSE_SECS = 0.2
PAUSE_SECS_MAX = 10.0
"""Heron waits 10 s before every restart (heron_executor.py); here only a hopeless case does."""
STABLE_SECS = 10.0
"""A process that ran this long starts with a clean slate when it ends."""


@dataclass(slots=True)
class RestartPolicy:
    """The restarts of one process; `limit` in a row without a stable run are enough."""

    limit: int
    failures: int = 0

    def pause_secs(self, ran_secs: float) -> float | None:
        """Seconds to wait before the next start, after a run of `ran_secs`; None: give up."""
        if ran_secs >= STABLE_SECS:
            self.failures = 0
        self.failures += 1
        if self.failures > self.limit:
            return None
        if self.failures == 1:
            return 0.0
        return min(PAUSE_SECS_MAX, FIRST_PAUSE_SECS * 2.0 ** (self.failures - 2))
