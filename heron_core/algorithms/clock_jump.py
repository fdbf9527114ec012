"""Notices that this very process stood still. Pure.

A process that is stopped (Ctrl-Z, SIGSTOP), frozen with its cgroup, or gets no CPU sees nothing of
what others say meanwhile. Whoever watches others for their silence must not count that time: they
may have stood still as well, or have spoken all the while.
"""

from dataclasses import dataclass

NOTABLE_SECS = 2.0
"""Worth a line in the log; a busy machine has shorter ones all the time."""


@dataclass(slots=True)
class ClockJump:
    """The time that one process did not see."""

    expected_secs: float
    """It looks at its clock at least so often."""
    _checked_at: float | None = None

    def missed_secs(self, now: float) -> float:
        """By how much this look at the clock comes too late."""
        before, self._checked_at = self._checked_at, now
        return 0.0 if before is None else max(0.0, now - before - self.expected_secs)
