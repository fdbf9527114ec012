"""How often an instance reports its numbers: less often while nothing happens, or of thousands.

Instances go by it, and the topology master knows by it when one has been silent for too long.
"""

IDLE_INTERVALS = 10
"""An instance whose numbers stand still reports them after so many intervals again. Its first
tuple ends that, so nobody sees its work later than that of others."""
REPORTS_PER_SEC_MAX = 600
"""Of all instances of a topology: the master takes 50 microseconds for each, so 3 % of a core."""


def report_secs(interval_secs: float, tasks: int) -> float:
    """Between two reports of an instance that works, one of so many."""
    return max(interval_secs, tasks / REPORTS_PER_SEC_MAX)


def idle_report_secs(interval_secs: float, tasks: int) -> float:
    """Between two reports of an instance that does nothing."""
    return max(report_secs(interval_secs, tasks), IDLE_INTERVALS * interval_secs)
