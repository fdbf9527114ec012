"""Restart times of a process that ended: immediately at first, then with growing delays,
unlimited.

Pure: the executor reports starts and ends, the policy answers. As in Flink's default
(exponential delay, jitter, no limit): a dependency may be away for an hour, and the topology
continues when the dependency returns. Two limits exist: a configured one, and a limit for a
process that was never up, so that a topology that cannot run fails at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

UNLIMITED = -1
"""As a limit: a process is restarted for ever."""
START_LIMIT = 5
"""Restarts of a process that was never up: four seconds, enough for a file being written, or a
port being released."""
FIRST_PAUSE_SECS = 0.2
PAUSE_SECS_MAX = 30.0
"""Flink waits a minute at most, and then restarts a job; here a restart concerns one process."""
STABLE_SECS = 10.0
"""Uptime, also relative to the last delay, after which a process is restarted immediately again."""
EXCUSED_EVERY_SECS = 60.0
"""An end that a process is not to blame for counts as a failure if there was another one just
before."""
JITTER = 0.1
"""Flink's: so much of a pause, so that not all instances ask a database at one moment."""
DOUBLINGS_MAX = 40
"""Beyond this a pause has long been the longest; 2.0 to the power of 1,100 is no float."""


def middle() -> float:
    """A chance that adds no jitter."""
    return 0.5


@dataclass(slots=True)
class RestartPolicy:
    """The restarts of one process; more than `limit` in a row without a stable run are too many."""

    limit: int
    chance: Callable[[], float] = middle
    """A number from 0 to 1, for the jitter."""
    is_up: bool = False
    """Whether a process was ever up, and so is able to run."""
    failures: int = 0
    """Ends in a row without a stable run."""
    _paused_secs: float = 0.0
    """Before the run that is under way."""
    _excused_at: float = float("-inf")

    def pause_secs(self, ran_secs: float) -> float | None:
        """Seconds to wait before the next start, after a run of `ran_secs`; None: no further
        start."""
        self.ran(ran_secs)
        self.failures += 1
        if self.failures > self.limit_now:
            return None
        jitter = 1.0 + JITTER * (2.0 * self.chance() - 1.0)
        self._paused_secs = _pause_secs(self.failures) * jitter
        return self._paused_secs

    def is_excused(self, now: float) -> bool:
        """Whether an end that the process is not to blame for (a library that aborts) counts as
        none: the next process starts at once, whatever the limit is."""
        is_rare = now - self._excused_at >= EXCUSED_EVERY_SECS
        self._excused_at = now
        return is_rare

    def ran(self, secs: float) -> None:
        """A run has lasted so long."""
        if secs >= STABLE_SECS:
            self.is_up = True
        if secs >= max(STABLE_SECS, self._paused_secs):
            self.failures = 0

    @property
    def limit_now(self) -> float:
        """So many failures in a row are allowed."""
        if self.limit != UNLIMITED:
            return self.limit
        return float("inf") if self.is_up else START_LIMIT

    @property
    def outlook(self) -> str:
        """For people: how often the process was restarted in a row, and when the next one starts if
        it ends at once; empty for the first restart."""
        if self.failures < 2:
            return ""
        times = f"restarted {self.failures} times in a row"
        if self.failures + 1 > self.limit_now:
            return f"{times}, for the last time"
        return f"{times}, next try in {self.next_pause_secs:.1f} s"

    @property
    def next_pause_secs(self) -> float:
        """Before the next start, if the run under way ends at once; 0 for none and no start."""
        is_last = self.failures + 1 > self.limit_now
        return 0.0 if self.failures < 2 or is_last else _pause_secs(self.failures + 1)


def _pause_secs(failures: int) -> float:
    if failures < 2:
        return 0.0
    return min(PAUSE_SECS_MAX, FIRST_PAUSE_SECS * 2.0 ** min(failures - 2, DOUBLINGS_MAX))
