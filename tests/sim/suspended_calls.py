"""Calls with stops in the middle, like a process in a wait for the end of back-pressure.

User code, the collector and the buffers between cannot be suspended by a generator or an exception,
so each call has a separate thread. The thread and the caller's take turns: exactly one of the two
runs, so a run depends on its seed alone.
"""

import threading
from collections.abc import Callable


class Abandoned(BaseException):
    """The process of a suspended call is gone. No Exception, so that user code cannot survive."""


class SuspendableCall:
    """One call; `resume` runs it until the end or a call of `suspend`."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._may_run = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._is_abandoned = False
        self.is_done = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.is_main_threads = True  # type: ignore[attr-defined]
        self._thread.start()

    def _run(self) -> None:
        self._may_run.acquire()
        try:
            if not self._is_abandoned:
                self._call()
        except BaseException as error:
            self._error = error
        self.is_done = True
        self._has_stopped.release()

    def resume(self) -> None:
        """Let the call go on; its exception is raised here."""
        self._may_run.release()
        self._has_stopped.acquire()
        if self._error is not None:
            raise self._error

    def suspend(self) -> None:
        """Within the call: let the caller of `resume` go on, until the next `resume`."""
        self._has_stopped.release()
        self._may_run.acquire()
        if self._is_abandoned:
            raise Abandoned

    def abandon(self) -> None:
        """Drop the call with all its frames."""
        if self.is_done:
            return
        self._is_abandoned = True
        try:
            self.resume()
        except Abandoned:
            pass
        self._thread.join()
