"""How long to wait before something that failed is tried again: each time twice as long.

Pure: whoever tries counts, and keeps the time.
"""

from msgspec import Struct

PAUSE_SECS_MAX = 30.0
"""Flink's exponential-delay restarts end at a minute; half of it is what a person waits to see that
a dependency is there again."""
DOUBLINGS_MAX = 60
"""Far beyond any pause: a float takes no more than a thousand of them."""


def pause_secs(first_secs: float, failures: int) -> float:
    """The pause after so many failures in a row, one at least."""
    return min(PAUSE_SECS_MAX, first_secs * 2.0 ** min(failures - 1, DOUBLINGS_MAX))


class RetryPolicy(Struct, frozen=True):
    """When a call of user code that raised is made again, and when it is abandoned."""

    retries: int
    """So many attempts after the first one."""
    first_pause_secs: float
    is_endless: bool = False
    """Whether it is never abandoned."""

    def pause_secs(self, failures: int) -> float | None:
        """After so many attempts that failed; None: it is abandoned."""
        if failures > self.retries and not self.is_endless:
            return None
        return pause_secs(self.first_pause_secs, failures)
