"""How often an instance reports its numbers: less often while nothing happens, or of thousands."""

from collections.abc import Mapping
from typing import Any

IDLE_INTERVALS = 5
"""An instance whose numbers stand still reports them after so many intervals again. Its first
tuple ends that, so nobody sees its work later than that of others."""
REPORTS_PER_SEC_MAX = 600
"""Of all instances of a topology: the master takes 50 microseconds for each, so 3 % of a core."""


class ReportPace:
    """When the next report is due."""

    def __init__(self, interval_secs: float, may_rest: bool) -> None:
        """`may_rest`: whether it may report less often while nothing happens."""
        self._least_secs = self._interval_secs = interval_secs
        self._may_rest = may_rest
        self._last: Mapping[str, Any] = {}
        self._reported_at = 0.0
        self.due_at = 0.0
        """Time of the next report."""
        self.is_resting = False
        """Whether it reports less often because nothing happened; any thread may read it."""

    def follow_size(self, tasks: int) -> None:
        """So many instances share the master."""
        self._interval_secs = max(self._least_secs, tasks / REPORTS_PER_SEC_MAX)

    def reported(self, snapshot: Mapping[str, Any], now: float) -> None:
        """A report was made, of these numbers."""
        numbers = {**snapshot, "at": None}
        if clock := snapshot.get("clock"):
            numbers["clock"] = {**clock, "silent_secs": None}  # which grows while nothing happens
        self.is_resting = self._may_rest and numbers == self._last
        self._last, self._reported_at = numbers, now
        idle_secs = IDLE_INTERVALS * self._least_secs if self.is_resting else 0.0
        self.due_at = now + max(self._interval_secs, idle_secs)

    def wake(self) -> None:
        """Something happens again; in the thread that makes the reports."""
        if self.is_resting:
            self.is_resting = False
            self.due_at = self._reported_at + self._interval_secs
