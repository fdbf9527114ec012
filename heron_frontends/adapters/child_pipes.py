"""What the process of an instance shares with a child process of its own: the bytes that wait for
the child's input, the lines that it prints, and how it ended."""

import logging
import os
import re
import signal
import threading
from collections import deque
from typing import IO

LINES_KEPT = 20
"""The last lines of output that the report of an exit quotes: a stack trace's end."""
LINE_BYTES_MAX = 8192
LEVEL_WITHIN = 80
"""Characters of a line in which log4j and logback name the level."""
_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_LEVELS = {
    "TRACE": logging.DEBUG, "DEBUG": logging.DEBUG, "INFO": logging.INFO,
    "WARN": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR,
}  # fmt: skip


def level_of(line: str) -> int:
    """The level that a line of a Java logger names; INFO if it names none."""
    level = _LEVEL.search(line[:LEVEL_WITHIN])
    return _LEVELS[level[1]] if level else logging.INFO


class PendingInput:
    """Bytes for a child that are written as far as its pipe takes them. For one thread."""

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

        OSError if the child's end is closed: then nothing is left either.
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
    """Reads what a child prints to its end: each line goes to the log, the last ones are kept."""

    def __init__(
        self, stream: IO[bytes], logger: logging.Logger, label: str, with_levels: bool = False
    ) -> None:
        """With `with_levels` a line is logged at the level that it names (`level_of`)."""
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
    """How a child ended: `code` as of subprocess, `cause` why we have killed it, if we have."""
    if cause:
        return f"was killed: it {cause}"
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
