"""Schedule of a bolt's ticks among its tuples.

Ticks are due at whole intervals after the first plan. In Storm a timer queues ticks among the
tuples. Here a due tick runs between two tuples, but input takes precedence: after a handler,
tuples get as long as the handler took, at most an interval. So a handler slower than its
interval leaves time for tuples, and endless tuples leave time for ticks.

Of several ticks due during a wait or a call, one is kept (Storm would queue all), the rest is
counted. This is not a loss: a tick has no data, and one tick reports the elapsed time for all.
"""

from math import floor

from msgspec import Struct

NEVER = float("inf")


class TickSchedule(Struct):
    """The ticks of one bolt; `interval_secs` None: no ticks."""

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
        """Whether a tick runs now; the next is due an interval later, or a multiple if already
        past."""
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
