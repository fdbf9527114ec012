"""Report interval of an instance: longer while idle, or among thousands of instances.

Used by instances, and by the topology master to detect silence.
"""

IDLE_INTERVALS = 10
"""Interval of reports with unchanged numbers, in intervals. The first tuple ends the slow pace,
so new work is visible without delay."""
REPORTS_PER_SEC_MAX = 600
"""Of all instances of a topology: the master takes 50 microseconds for each, so 3 % of a core."""


def report_secs(interval_secs: float, tasks: int) -> float:
    """Interval of a working instance, for the given number of instances."""
    return max(interval_secs, tasks / REPORTS_PER_SEC_MAX)


def idle_report_secs(interval_secs: float, tasks: int) -> float:
    """Interval of an idle instance."""
    return max(report_secs(interval_secs, tasks), IDLE_INTERVALS * interval_secs)
