"""Detects user code that does not return: busy, not dead, but its location should be visible."""

import sys
import threading
import traceback
from types import FrameType

STACK_FRAMES = 12
"""Innermost frames, which show the location."""


class Watchdog:
    """Compares how much was executed from check to check."""

    def __init__(self, limit_secs: float) -> None:
        self._limit_secs = limit_secs
        self.waiting = False
        """The main thread waits for work, outside of user code. A first message may be present
        already: the thread then never waited."""
        self._waits = 0
        """How many waits of the main thread have ended."""
        self._seen: object = None
        """Counter seen by the last check: a change means that no call has lasted since then."""
        self._since = 0.0
        self._reported = False
        self.stuck_secs = 0.0
        """How long the call under way has lasted, once that exceeds the limit."""

    def waited(self) -> None:
        """From the main thread: a wait has ended. Later work is no older than the call, even if
        the last check was long ago."""
        self._waits += 1
        self.waiting = False

    def check(
        self, executed: int, blocked: bool, now: float, blocked_secs: float = 0.0
    ) -> float | None:
        """Seconds that one call has lasted, when that first exceeds the limit; else None.

        `blocked`: by back-pressure, or as the topology has not started; `blocked_secs`: for how
        long back-pressure has held calls in all.
        """
        seen = (executed, self._waits, blocked_secs)
        if self.waiting or blocked or seen != self._seen:
            self._seen, self._since, self._reported = seen, now, False
            self.stuck_secs = 0.0
            return None
        secs = now - self._since
        if secs < self._limit_secs:
            return None
        self.stuck_secs = secs
        if self._reported:
            return None
        self._reported = True
        return secs


def main_thread_stack() -> str:
    """The stack of the main thread as a traceback, innermost call last."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    return "" if frame is None else "".join(traceback.format_stack(frame)[-STACK_FRAMES:])
