"""How long an instance needs for a tuple, by its own reports.

A queue is too long when its instance needs too much time for it: Flink's buffer debloating
(FLIP-183). In bytes alone, small tuples before a slow bolt are hours of work. What counts is how
long user code takes, not how long a process waits for a core: on a machine with too few of them
all queues are old, and to send less would only make messages smaller.
"""

WEIGHT_TUPLES = 32
"""A report of so many tuples counts as much as all before it."""
QUICK_SECS = 0.001
"""For a tuple: who needs less is done with a small message before a report of it could arrive."""
LONG_CALL_SECS = 1.0
"""Who reports nothing for longer works on something slow; what comes before may be the wait for a
core."""


class ConsumerRate:
    """The time for a tuple, from reports of what was processed."""

    __slots__ = ("_busy_since", "_secs_per_tuple")

    def __init__(self) -> None:
        self._secs_per_tuple: float | None = None
        """An average in which old reports fade; None before the first report."""
        self._busy_since: float | None = None
        """When the instance was handed something, or last reported; None: it has nothing."""

    @property
    def is_known(self) -> bool:
        """Whether the instance has ever reported."""
        return self._secs_per_tuple is not None

    @property
    def is_quick(self) -> bool:
        """Whether its reports say that it needs very little time for a tuple."""
        return self._secs_per_tuple is not None and self._secs_per_tuple < QUICK_SECS

    def handed(self, now: float) -> None:
        """The instance was handed a message."""
        if self._busy_since is None:
            self._busy_since = now

    def processed(self, tuples: int, busy_secs: float, is_busy: bool, now: float) -> None:
        """It reports that some tuples took it so long, and has more messages or not."""
        if tuples:
            sample, before = busy_secs / tuples, self._secs_per_tuple
            weight = tuples / (tuples + WEIGHT_TUPLES)
            self._secs_per_tuple = sample if before is None else before + weight * (sample - before)
        self._busy_since = now if is_busy else None

    def replaced(self) -> None:
        """Another process serves the task: it has been handed nothing."""
        self._busy_since = None

    def secs_per_tuple(self, handed: int, now: float) -> float:
        """Seconds for a tuple; `handed`: those that the instance has and has not reported."""
        silent_secs = 0.0 if self._busy_since is None else now - self._busy_since
        call_secs = max(0.0, silent_secs - LONG_CALL_SECS)
        return max(self._secs_per_tuple or 0.0, call_secs / max(1, handed))
