"""Delays between attempts: each twice as long as the previous.

Pure: callers count attempts and keep the time.
"""

from msgspec import Struct

PAUSE_SECS_MAX = 30.0
"""Flink's exponential-delay restarts end at a minute; half a minute is an acceptable wait for a
person after a dependency has returned."""
DOUBLINGS_MAX = 60
"""Far beyond any pause: a float takes no more than a thousand of them."""


def pause_secs(first_secs: float, failures: int) -> float:
    """The pause after so many failures in a row, one at least."""
    return min(PAUSE_SECS_MAX, first_secs * 2.0 ** min(failures - 1, DOUBLINGS_MAX))


class RetryPolicy(Struct, frozen=True):
    """Retry times of a failed call of user code, and its abandonment."""

    retries: int
    """So many attempts after the first one."""
    first_pause_secs: float
    is_endless: bool = False
    """Whether calls are never abandoned."""

    def pause_secs(self, failures: int) -> float | None:
        """Seconds until the next attempt after `failures` failed ones; None: the call is
        abandoned."""
        if failures > self.retries and not self.is_endless:
            return None
        return pause_secs(self.first_pause_secs, failures)
