"""When a child that died is started again: at once, then ever later, then never.

Pure; the numbers are those of every process here (ARCHITECTURE.md, "What happens when something
dies").
"""

from dataclasses import dataclass

FIRST_PAUSE_SECS = 0.2
PAUSE_SECS_MAX = 10.0
STABLE_SECS = 10.0
"""A child that lived this long has a clean slate when it dies."""


@dataclass(slots=True)
class Restarts:
    """The restarts of one child; `limit` in a row without a stable life are enough."""

    limit: int
    deaths: int = 0

    def pause_secs(self, lived_secs: float) -> float | None:
        """Seconds until the next start, after a life of `lived_secs`; None: give up."""
        if lived_secs >= STABLE_SECS:
            self.deaths = 0
        self.deaths += 1
        if self.deaths > self.limit:
            return None
        if self.deaths == 1:
            return 0.0
        return min(PAUSE_SECS_MAX, FIRST_PAUSE_SECS * 2.0 ** (self.deaths - 2))
