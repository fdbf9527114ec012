"""Wakes a poll from another thread or a signal handler. Standard library alone."""

import os


class Waker:
    """A pipe that is readable once woken."""

    def __init__(self) -> None:
        self.readable, self._writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_open = True

    def wake(self) -> None:
        """Make the pipe readable; any number of calls before `clear` count as one."""
        try:
            os.write(self._writable, b"!")
        except BlockingIOError:
            pass

    def clear(self) -> None:
        """Take what was written."""
        try:
            while len(os.read(self.readable, 4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Close the file descriptors, after the last `wake`. A second close does nothing."""
        if self._is_open:
            self._is_open = False
            os.close(self.readable)
            os.close(self._writable)

    @property
    def signal_fd(self) -> int:
        """For signal.set_wakeup_fd."""
        return self._writable
