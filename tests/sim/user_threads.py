"""Threads of user code in a simulated cluster.

A call waits until it is due; then a real thread makes it, and has ended before anything else goes
on. So a run depends on its seed alone.
"""

import threading
from collections.abc import Callable


class UserThreads:
    """The threads of one process."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._work: list[tuple[float, Callable[[], None]]] = []

    def submit(self, secs: float, call: Callable[[], None]) -> None:
        """A thread makes the call when it is due."""
        self._work.append((self._now() + secs, call))

    def turn(self) -> bool:
        """Make all calls that are due; whether any was."""
        due = [each for each in self._work if each[0] <= self._now()]
        for each in due:
            self._work.remove(each)
            errors: list[BaseException] = []
            thread = threading.Thread(target=_noting, args=(each[1], errors))
            thread.start()
            thread.join()
            if errors:
                raise errors[0]
        return bool(due)

    def __bool__(self) -> bool:
        """Whether a call waits."""
        return bool(self._work)


def _noting(call: Callable[[], None], errors: list[BaseException]) -> None:
    try:
        call()
    except BaseException as error:
        errors.append(error)
