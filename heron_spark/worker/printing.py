"""Printed lines of components: returned with the batch, and on clusters also logged by the
worker.
"""

import sys
from typing import TextIO

KEPT_CHARACTERS = 256 * 1024
"""Maximum for one task and batch; further lines are counted, and logged by the worker on clusters.
"""


class PrintedLines:
    """Lines printed by one task in a batch."""

    def __init__(self) -> None:
        self._open_line = ""
        self._lines: list[str] = []
        self._characters_left = KEPT_CHARACTERS
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take text; whole lines are kept for `take`."""
        *lines, self._open_line = (self._open_line + text).split("\n")
        for line in lines:
            self._keep(line)

    def _keep(self, line: str) -> None:
        if len(line) > self._characters_left:
            self._characters_left = 0
            self._dropped += 1
            return
        self._characters_left -= len(line) + 1
        self._lines.append(line)

    def take(self) -> list[str]:
        """The lines since the last call."""
        lines = self._lines
        if self._dropped:
            lines.append(f"({self._dropped} more lines)")
        self._lines, self._characters_left, self._dropped = [], KEPT_CHARACTERS, 0
        return lines


class Printed:
    """Stands in for sys.stdout in a host."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, log: TextIO, echo: bool) -> None:
        self._log = log
        self._echo = echo
        self.lines: PrintedLines | None = PrintedLines()
        """Lines of the running task; None while the task closes, outside of any batch."""

    def write(self, text: str) -> int:
        """Take text."""
        if self._echo or self.lines is None:
            self._log.write(text)
        if self.lines is not None:
            self.lines.add(text)
        return len(text)

    def flush(self) -> None:
        """Let the log have it."""
        self._log.flush()

    def isatty(self) -> bool:
        """It never is a terminal."""
        return False

    def fileno(self) -> int:
        """The log's."""
        return self._log.fileno()

    def writable(self) -> bool:
        """It is."""
        return True


def install(echo: bool) -> Printed:
    """Let `print` of this process go through a Printed, and to stderr if `echo`."""
    printed = Printed(sys.stderr, echo)
    sys.stdout = printed
    return printed
