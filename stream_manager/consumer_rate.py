"""How long an instance needs for a tuple, by its own reports.

A queue is too long when its instance needs too much time for it: Flink's buffer debloating
(FLIP-183). In bytes alone, small tuples before a slow bolt are hours of work. What counts is how
long user code takes, and how long back-pressure holds the instance meanwhile: what waits for an
instance that is paused is as old as what waits for a slow one. How long a process waits for a core
does not count: on a machine with too few of them all queues are old, and to send less would only
make messages smaller.

Of two averages the longer one is believed. In the newest, a few tuples that took long count at
once, whatever a million quick ones took before them; in the other all time counts alike, so that a
bolt that is slow now and then is not held for quick in between.
"""

WEIGHT_TUPLES = 32
"""A report of so many tuples counts as much as all before it."""
FADE_SECS = 0.1
"""So much time of work counts as much as all before it: some pauses of a busy machine are in it,
and a bolt that has become quick again is known for it soon."""
QUICK_SECS = 0.001
"""For a tuple: who needs less is done with a small message before a report of it could arrive."""
LONG_CALL_SECS = 1.0
"""Who reports nothing for longer works on something slow; what comes before may be the wait for a
core."""


class ConsumerRate:
    """The time for a tuple, from reports of what was processed."""

    __slots__ = ("_busy_since", "_faded_secs", "_faded_tuples", "_newest_secs")

    def __init__(self) -> None:
        self._newest_secs: float | None = None
        """For a tuple, by the newest reports; None before the first."""
        self._faded_secs = 0.0
        """Of work, in which what is long ago fades, and the tuples of that time."""
        self._faded_tuples = 0.0
        self._busy_since: float | None = None
        """When the instance was handed something, or last reported; None: it has nothing."""

    @property
    def is_known(self) -> bool:
        """Whether the instance has ever reported."""
        return self._newest_secs is not None

    @property
    def is_quick(self) -> bool:
        """Whether its reports say that it needs very little time for a tuple."""
        return self.is_known and self._known_secs < QUICK_SECS

    def handed(self, now: float) -> None:
        """The instance was handed a message."""
        if self._busy_since is None:
            self._busy_since = now

    def processed(
        self, tuples: int, busy_secs: float, is_busy: bool, now: float, paused_secs: float = 0.0
    ) -> None:
        """It reports that some tuples took it so long, and has more messages or not; since its last
        report back-pressure has held it for `paused_secs`."""
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
        """Another process serves the task: it has been handed nothing."""
        self._busy_since = None

    def secs_per_tuple(self, handed: int, now: float) -> float:
        """Seconds for a tuple; `handed`: those that the instance has and has not reported."""
        silent_secs = 0.0 if self._busy_since is None else now - self._busy_since
        call_secs = max(0.0, silent_secs - LONG_CALL_SECS)
        return max(self._known_secs, call_secs / max(1, handed))
