"""When a bolt's ticks run, among its tuples.

Ticks are due at whole intervals after the first plan. As in Storm, whose timer puts a tick into the
executor's queue, one that is due stands behind the tuples that have come before it: it runs as
soon as the input is empty. While the input never is, a tick runs between two tuples, but the input
has its turn first: as long as the last handler took, an interval at most. So a handler that takes
longer than its interval leaves tuples their time, and tuples that never end leave ticks theirs.

Of the ticks that fall due while one waits or runs, one is kept (Storm would queue them all).
"""

from dataclasses import dataclass
from math import floor

NEVER = float("inf")


@dataclass(slots=True)
class TickSchedule:
    """The ticks of one bolt; `interval_secs` None: it has none."""

    interval_secs: float | None
    due: float = NEVER
    """When the next tick is due: it runs then if there is no input."""
    _input_until: float = 0.0
    """Until then tuples come first."""

    def begin(self, now: float) -> None:
        """The first plan is there: the first tick comes a whole interval later."""
        if self.interval_secs is not None and self.due == NEVER:
            self.due = now + self.interval_secs

    @property
    def between_tuples(self) -> float:
        """When the next tick is to run though there is input."""
        return max(self.due, self._input_until)

    def take(self, now: float) -> bool:
        """Whether a tick is due, which is to be run then; the next one is due an interval later, or
        two and more if that is past."""
        if now < self.due or self.interval_secs is None:
            return False
        self.due += floor((now - self.due) / self.interval_secs) * self.interval_secs
        while self.due <= now:  # once, or twice where a sum was rounded
            self.due += self.interval_secs
        return True

    def ran(self, started: float, ended: float) -> bool:
        """A tick's handler has returned; whether it took longer than the interval."""
        secs = ended - started
        if self.interval_secs is None:
            return False
        self._input_until = ended + min(secs, self.interval_secs)
        return secs > self.interval_secs

    def stop(self) -> None:
        """No tick comes any more."""
        self.interval_secs, self.due = None, NEVER
