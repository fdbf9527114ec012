"""Writes an instance's states to a checkpoint store, beside the main thread."""

import threading
from collections.abc import Callable

from heron_core.state.file_snapshot import StateBytes


class SavingThread(threading.Thread):
    """Saves one state at a time. A newer one takes the place of one that still waits: that one has
    been aborted, or nobody needs it any more."""

    def __init__(self, write: Callable[[int, StateBytes], None]) -> None:
        """`write` saves a state by its number, and tells of it."""
        super().__init__(name="saving", daemon=True)
        self._write = write
        self._waiting: tuple[int, StateBytes] | None = None
        self._changed = threading.Condition()

    def save(self, number: int, state: StateBytes) -> None:
        """From the main thread: have a state written."""
        with self._changed:
            self._waiting = number, state
            self._changed.notify()

    def run(self) -> None:
        """Save what comes until the process ends."""
        while True:
            with self._changed:
                while self._waiting is None:
                    self._changed.wait()
                number, state = self._waiting
                self._waiting = None
            self._write(number, state)
