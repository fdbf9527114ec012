"""Notices user code that does not return: it is busy, not dead, but somebody should know where."""

import sys
import threading
import traceback
from types import FrameType

STACK_FRAMES = 12
"""The innermost frames tell where it hangs."""


class Watchdog:
    """Compares how much was executed from check to check."""

    def __init__(self, limit_secs: float) -> None:
        self._limit_secs = limit_secs
        self.waiting = False
        """The main thread waits for something to do: it is not in user code. Its first message may
        be there already: then it has never waited."""
        self._executed = -1
        self._since = 0.0
        self._reported = False
        self.stuck_secs = 0.0
        """How long the call under way has lasted, once that exceeds the limit."""

    def check(self, executed: int, held: bool, now: float) -> float | None:
        """Seconds that one call has lasted, when that first exceeds the limit; else None.

        `held`: by back-pressure, or as the topology has not started.
        """
        if self.waiting or held or executed != self._executed:
            self._executed, self._since, self._reported = executed, now, False
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
