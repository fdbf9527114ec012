"""How long an instance needs for a tuple, as its stream manager sees it.

A queue is too long when its instance needs too much time for it: Flink's buffer debloating
(FLIP-183). In bytes alone, small tuples before a slow bolt are hours of work.
"""

WEIGHT_TUPLES = 32
"""A report of so many tuples counts as much as all before it: single tuples measure a round trip
rather than the bolt."""


class ConsumerRate:
    """The time for a tuple, from reports of what was processed."""

    __slots__ = ("_busy_since", "_secs_per_tuple")

    def __init__(self) -> None:
        self._secs_per_tuple: float | None = None
        """An average in which old reports fade; None before the first report."""
        self._busy_since: float | None = None
        """When the instance began with the oldest message that it has; None: it has none."""

    @property
    def is_known(self) -> bool:
        """Whether the instance has ever reported."""
        return self._secs_per_tuple is not None

    def handed(self, now: float) -> None:
        """The instance was handed a message."""
        if self._busy_since is None:
            self._busy_since = now

    def processed(self, tuples: int, is_busy: bool, now: float) -> None:
        """It reports that it has processed some tuples, and has more messages or not."""
        if self._busy_since is not None and tuples:
            sample = (now - self._busy_since) / tuples
            before = self._secs_per_tuple
            weight = tuples / (tuples + WEIGHT_TUPLES)
            self._secs_per_tuple = sample if before is None else before + weight * (sample - before)
        self._busy_since = now if is_busy else None

    def replaced(self) -> None:
        """Another process serves the task: it has been handed nothing."""
        self._busy_since = None

    def secs_per_tuple(self, handed: int, now: float) -> float:
        """Seconds for a tuple; `handed`: those that the instance has and has not reported.

        A call that lasts counts as it does: what was handed over takes at least so long.
        """
        busy_secs = 0.0 if self._busy_since is None else now - self._busy_since
        return max(self._secs_per_tuple or 0.0, busy_secs / max(1, handed))
