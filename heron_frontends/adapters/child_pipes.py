"""Pipes between an instance's process and a child process: bytes that wait for the child's input,
lines that the child prints, and the text of the child's end.
"""

import logging
import os
import re
import signal
import threading
from collections import deque
from typing import IO

LINES_KEPT = 20
"""Number of last lines of output quoted in the report of an exit: the end of a stack trace."""
LINE_BYTES_MAX = 8192
LEVEL_WITHIN = 80
"""Characters of a line within which log4j and logback name the level."""
_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_LEVELS = {
    "TRACE": logging.DEBUG, "DEBUG": logging.DEBUG, "INFO": logging.INFO,
    "WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR,
}  # fmt: skip


def level_of(line: str) -> int:
    """Level named by a line of a Java logger; INFO without a level."""
    level = _LEVEL.search(line[:LEVEL_WITHIN])
    return _LEVELS[level[1]] if level else logging.INFO


class PendingInput:
    """Bytes that wait for a child, written as fast as its pipe accepts. For one thread."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is the pipe's end, which does not block."""
        self.descriptor = descriptor
        self._parts: list[bytes] = []
        self._left = memoryview(b"")

    def put(self, data: bytes) -> None:
        """Have `data` written by the next `write`."""
        self._parts.append(data)

    def write(self) -> bool:
        """Write as much as the pipe takes without waiting; whether nothing is left.

        OSError if the child's end is closed; the remaining bytes are dropped.
        """
        while self._left or self._parts:
            if not self._left:
                self._left = memoryview(b"".join(self._parts))
                self._parts.clear()
            try:
                written = os.write(self.descriptor, self._left)
            except BlockingIOError:
                return False
            except OSError:
                self._left = memoryview(b"")
                self._parts.clear()
                raise
            self._left = self._left[written:]
        return True

    @property
    def is_left(self) -> bool:
        """Whether `write` has something to do."""
        return bool(self._left or self._parts)


class OutputLines(threading.Thread):
    """Reads a child's output to the end: each line is logged, the last lines are kept."""

    def __init__(
        self, stream: IO[bytes], logger: logging.Logger, label: str, with_levels: bool = False
    ) -> None:
        """`with_levels` logs each line at its own level (`level_of`)."""
        super().__init__(name="child output", daemon=True)
        self._stream = stream
        self._logger = logger
        self._label = label
        self._with_levels = with_levels
        self.kept: deque[str] = deque(maxlen=LINES_KEPT)

    def run(self) -> None:
        """Read until each process has closed the other end."""
        while line := self._stream.readline(LINE_BYTES_MAX):
            text = line.decode("utf-8", "replace").rstrip()
            self.kept.append(text)
            level = level_of(text) if self._with_levels else logging.INFO
            self._logger.log(level, "%s: %s", self._label, text)


def exit_text(code: int, cause: str | None) -> str:
    """How a child ended: `code` as in subprocess, `cause` for a kill by the instance."""
    if cause:
        return f"was killed: it {cause}"
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
