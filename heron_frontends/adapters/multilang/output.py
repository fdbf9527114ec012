"""What a child writes beside the protocol: lines of stderr, and stray lines of stdout."""

import logging
import threading
import time
from collections import Counter, deque
from typing import IO

LINES_KEPT = 20
"""The last lines on stderr that the report of an exit quotes: a stack trace's end."""
LINE_BYTES_MAX = 8192
STRAYS_PER_SEC_MAX = 20
"""A child that prints for each tuple would fill the disk with it."""


class StderrLines(threading.Thread):
    """Reads a child's stderr to its end: each line goes to the log, the last ones are kept."""

    def __init__(self, stream: IO[bytes], logger: logging.Logger, label: str) -> None:
        super().__init__(name="child stderr", daemon=True)
        self._stream = stream
        self._logger = logger
        self._label = label
        self.kept: deque[str] = deque(maxlen=LINES_KEPT)

    def run(self) -> None:
        """Read until nobody has the other end open any more."""
        while line := self._stream.readline(LINE_BYTES_MAX):
            text = line.decode("utf-8", "replace").rstrip()
            self.kept.append(text)
            self._logger.info("%s stderr: %s", self._label, text)


class StrayLog:
    """Logs stray lines of stdout, but not more than STRAYS_PER_SEC_MAX; the others are counted."""

    def __init__(self, logger: logging.Logger, label: str, counts: Counter[str]) -> None:
        self._logger = logger
        self._label = label
        self._counts = counts
        self._until = 0.0
        self._logged = 0
        self._suppressed = 0

    def take(self, lines: list[str]) -> None:
        """Log what may be logged now, and empty the list."""
        if lines:
            self._counts["stray_lines"] += len(lines)
            self._log(lines)
            lines.clear()

    def _log(self, lines: list[str]) -> None:
        now = time.monotonic()
        if now >= self._until:
            self._tell_suppressed()
            self._until, self._logged = now + 1.0, 0
        left = STRAYS_PER_SEC_MAX - self._logged
        for line in lines[:left]:
            self._logger.info("%s stdout: %s", self._label, line[:LINE_BYTES_MAX])
        self._logged += len(lines[:left])
        self._suppressed += len(lines[left:])

    def _tell_suppressed(self) -> None:
        if self._suppressed:
            self._logger.info("%s stdout: %d more lines", self._label, self._suppressed)
            self._suppressed = 0
