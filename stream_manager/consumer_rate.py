"""Processing time per tuple of an instance, from its own reports.

A queue is too long when its instance needs too much time to process the queue: Flink's buffer
debloating (FLIP-183). Measured in bytes alone, small tuples before a slow bolt are hours of
work. The time consists of user code and of pauses by back-pressure: tuples wait equally long for
a paused instance and for a slow one. Waiting for a core is excluded: on an overloaded machine
all queues are old, and shorter queues would only make messages smaller.

The longer of two averages is used. The first weights recent work, so a few slow tuples count at
once despite a million fast ones before; the second weights all work alike, so an occasionally
slow bolt is not taken for a fast one in between.
"""

WEIGHT_TUPLES = 32
"""A report of so many tuples counts as much as all before it."""
FADE_SECS = 0.1
"""Work time that weighs as much as all earlier work: long enough to average pauses of a busy
machine, short enough to detect a bolt that has become fast."""
QUICK_SECS = 0.001
"""Per tuple: a faster instance finishes a small message before its report could arrive."""
LONG_CALL_SECS = 1.0
"""Report gap that indicates a slow call; a shorter gap may be a wait for a core."""


class ConsumerRate:
    """The time for a tuple, from reports of what was processed."""

    __slots__ = ("_busy_since", "_faded_secs", "_faded_tuples", "_newest_secs")

    def __init__(self) -> None:
        self._newest_secs: float | None = None
        """For a tuple, by the newest reports; None before the first."""
        self._faded_secs = 0.0
        """Exponentially weighted work time and tuples."""
        self._faded_tuples = 0.0
        self._busy_since: float | None = None
        """Time of the last delivery or report; None: the instance has no input."""

    @property
    def is_known(self) -> bool:
        """Whether the instance has ever reported."""
        return self._newest_secs is not None

    @property
    def is_quick(self) -> bool:
        """Whether reports show a very short time per tuple."""
        return self.is_known and self._known_secs < QUICK_SECS

    def handed(self, now: float) -> None:
        """The instance was handed a message."""
        if self._busy_since is None:
            self._busy_since = now

    def processed(
        self, tuples: int, busy_secs: float, is_busy: bool, now: float, paused_secs: float = 0.0
    ) -> None:
        """The instance reports processed tuples with their time, and whether input remains;
        back-pressure has paused the instance for `paused_secs` since its last report."""
        if tuples:
            self._take(tuples, max(busy_secs, self._wall_secs(busy_secs + paused_secs, now)))
        self._busy_since = now if is_busy else None

    def _wall_secs(self, most_secs: float, now: float) -> float:
        """Work and pauses overlap where a call waits to emit, and pauses without work are none."""
        return 0.0 if self._busy_since is None else min(most_secs, now - self._busy_since)

    def _take(self, tuples: int, secs: float) -> None:
        sample, before = secs / tuples, self._newest_secs
        weight = tuples / (tuples + WEIGHT_TUPLES)
        self._newest_secs = sample if before is None else before + weight * (sample - before)
        left = FADE_SECS / (FADE_SECS + secs)
        self._faded_secs = left * self._faded_secs + secs
        self._faded_tuples = left * self._faded_tuples + tuples

    @property
    def _known_secs(self) -> float:
        if not self._faded_tuples:
            return 0.0
        return max(self._newest_secs or 0.0, self._faded_secs / self._faded_tuples)

    def replaced(self) -> None:
        """A new process serves the task, without input so far."""
        self._busy_since = None

    def secs_per_tuple(self, handed: int, now: float) -> float:
        """Seconds per tuple; `handed`: tuples delivered and not reported."""
        silent_secs = 0.0 if self._busy_since is None else now - self._busy_since
        call_secs = max(0.0, silent_secs - LONG_CALL_SECS)
        return max(self._known_secs, call_secs / max(1, handed))
