"""Wakes a poll from another thread."""

import os


class Bell:
    """A pipe that is readable once it was rung, until it is cleared."""

    def __init__(self) -> None:
        self.readable, self._writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_open = True

    def ring(self) -> None:
        """Make it readable; from any thread."""
        try:
            os.write(self._writable, b"!")
        except BlockingIOError:  # it was rung often enough
            pass

    def clear(self) -> None:
        """Start anew."""
        try:
            os.read(self.readable, 4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Give its file descriptors back; nobody may ring any more."""
        if self._is_open:
            self._is_open = False
            os.close(self.readable)
            os.close(self._writable)
