"""When an instance reports its numbers: heron_core.report_interval says how often."""

from heron_core.instance_report import InstanceReport
from heron_core.records import replace
from heron_core.report_interval import idle_report_secs, report_secs


class ReportPace:
    """When the next report is due."""

    def __init__(self, interval_secs: float, may_rest: bool) -> None:
        """`may_rest`: whether reports may be rarer while numbers stand still."""
        self._interval_secs = interval_secs
        self._tasks = 1
        self._may_rest = may_rest
        self._last: InstanceReport | None = None
        self._reported_at = 0.0
        self.due_at = 0.0
        """Time of the next report."""
        self.is_resting = False
        """Whether reports are rarer because numbers stand still; any thread may read it."""

    def follow_size(self, tasks: int) -> None:
        """So many instances share the master."""
        self._tasks = tasks

    def reported(self, report: InstanceReport, now: float, is_waiting: bool = True) -> None:
        """A report was made. `is_waiting`: the main thread waits for input. Hanging user code
        counts nothing either, and the duration of its call belongs into the next reports."""
        clock = report.clock
        if clock is not None:
            clock = {**clock, "silent_secs": None}  # which grows while nothing happens
        numbers = replace(report, at=0.0, clock=clock)
        self.is_resting = self._may_rest and is_waiting and numbers == self._last
        self._last, self._reported_at = numbers, now
        secs = idle_report_secs if self.is_resting else report_secs
        self.due_at = now + secs(self._interval_secs, self._tasks)

    def wake(self) -> None:
        """Input has come; called in the reporting thread."""
        if self.is_resting:
            self.is_resting = False
            self.due_at = self._reported_at + report_secs(self._interval_secs, self._tasks)
