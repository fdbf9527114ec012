"""Notices user code that does not return: it is busy, not dead, but somebody should know where."""

import sys
import threading
import traceback
from types import FrameType

STACK_FRAMES = 12
"""The innermost frames tell where it hangs."""


class Stuck:
    """Compares how much was executed from look to look."""

    def __init__(self, limit_secs: float) -> None:
        self._limit_secs = limit_secs
        self._executed = -1
        self._since = 0.0
        self._told = False

    def look(self, executed: int, waiting: bool, now: float) -> float | None:
        """Seconds that one call has lasted, when that first exceeds the limit; else None.

        `waiting`: the main thread is not in user code, or is held by back-pressure.
        """
        if waiting or executed != self._executed:
            self._executed, self._since, self._told = executed, now, False
            return None
        lasted = now - self._since
        if self._told or lasted < self._limit_secs:
            return None
        self._told = True
        return lasted


def main_thread_stack() -> str:
    """The stack of the main thread as a traceback, innermost call last."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    return "" if frame is None else "".join(traceback.format_stack(frame)[-STACK_FRAMES:])
