"""Calls that can stop in the middle, as a process does that waits for back-pressure to end.

User code, the collector and the buffers between them cannot be suspended by a generator or an
exception, so each such call has a thread of its own. Its thread and the caller's take turns: of the
two exactly one runs, so a run depends on its seed alone.
"""

import threading
from collections.abc import Callable


class Abandoned(BaseException):
    """The process of a suspended call is gone. No Exception, so that user code cannot survive."""


class SuspendableCall:
    """One call; `resume` runs it until it is done or calls `suspend`."""

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
        """Let the call go on; what it raises is raised here."""
        self._may_run.release()
        self._has_stopped.acquire()
        if self._error is not None:
            raise self._error

    def suspend(self) -> None:
        """Within the call: let whoever resumed it go on, until it resumes it again."""
        self._has_stopped.release()
        self._may_run.acquire()
        if self._is_abandoned:
            raise Abandoned

    def abandon(self) -> None:
        """The call never goes on; nothing of it is left."""
        if self.is_done:
            return
        self._is_abandoned = True
        try:
            self.resume()
        except Abandoned:
            pass
        self._thread.join()
