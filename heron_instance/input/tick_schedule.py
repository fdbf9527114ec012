"""When a bolt's ticks run, among its tuples.

Ticks are due at whole intervals after the first plan. In Storm a timer puts them into the
executor's queue, among the tuples. Here a tick that is due runs between two tuples, but the input
has its turn first: after a handler it has as long as that took, an interval at most. So a handler
that takes longer than its interval leaves tuples their time, and tuples that never end leave ticks
theirs.

Of the ticks that fall due while one waits or runs, one is kept (Storm would queue them all), the
others are counted. None of them is a loss: a tick has no data, it says that time has passed, and
the one that is kept says so for all of them.
"""

from math import floor

from msgspec import Struct

NEVER = float("inf")


class TickSchedule(Struct):
    """The ticks of one bolt; `interval_secs` None: it has none."""

    interval_secs: float | None
    next_at: float = NEVER
    """When the next tick is to run: read for each message, and so not worked out there."""
    _due: float = NEVER
    _input_until: float = 0.0
    """Until then there are tuples only."""
    left_out: int = 0
    """Ticks in whose place the last one that was taken stands as well."""

    def begin(self, now: float) -> None:
        """The first plan is there: the first tick comes a whole interval later."""
        if self.interval_secs is not None and self._due == NEVER:
            self._due = now + self.interval_secs
        self._plan()

    def _plan(self) -> None:
        self.next_at = max(self._due, self._input_until)

    def take(self, now: float) -> bool:
        """Whether a tick is to run, which it is then; the next one is due an interval later, or two
        and more if that is past."""
        if now < self.next_at or self.interval_secs is None:
            return False
        self.left_out = floor((now - self._due) / self.interval_secs)
        self._due += self.left_out * self.interval_secs
        self._due += self.interval_secs
        while self._due <= now:  # where a sum was rounded
            self._due += self.interval_secs
        self._plan()
        return True

    def ran(self, started: float, ended: float) -> bool:
        """A tick's handler has returned; whether it took longer than the interval."""
        secs = ended - started
        if self.interval_secs is None:
            return False
        self._input_until = ended + min(secs, self.interval_secs)
        self._plan()
        return secs > self.interval_secs

    def stop(self) -> None:
        """No tick comes any more."""
        self.interval_secs, self._due = None, NEVER
        self._plan()
