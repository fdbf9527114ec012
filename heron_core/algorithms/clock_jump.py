"""Detects that the process itself was suspended. Pure.

A process that is stopped (Ctrl-Z, SIGSTOP), frozen with its cgroup, or starved of CPU misses all
messages of the period. Heartbeat timeouts must not count the period: the monitored processes may
have been suspended as well, or have sent heartbeats all the time.
"""

from dataclasses import dataclass

NOTABLE_SECS = 2.0
"""Worth a line in the log; a busy machine has shorter ones all the time."""


@dataclass(slots=True)
class ClockJump:
    """Time missed by one process."""

    expected_secs: float
    """Longest interval between two checks of the clock."""
    _checked_at: float | None = None

    def missed_secs(self, now: float) -> float:
        """By how much this look at the clock comes too late."""
        before, self._checked_at = self._checked_at, now
        return 0.0 if before is None else max(0.0, now - before - self.expected_secs)
