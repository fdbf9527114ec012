"""Logs: one rotating file a process; what user code prints goes there too, line by line.

In a foreground run the printed lines are also copied to the console pipe of the command line.
"""

import faulthandler
import json
import logging
import os
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any, TextIO

from heron_core import config as keys
from heron_io.private_files import make_private_folders, private

LOG_BYTES_MAX = 100 * 1024 * 1024
LOG_FILES = 5
"""Heron's limits (heron_internals.yaml: maximum.size.mb 100, maximum.files 5)."""
FORMAT = "%(asctime)s %(levelname)s %(message)s"


class _RotatingFile(RotatingFileHandler):
    """A rotating file that file descriptors 1 and 2 follow, for what C code and crashes write."""

    def adopt(self) -> None:
        """Let stdout and stderr of the process end in the file."""
        assert self.stream is not None
        for number in (1, 2):
            os.dup2(self.stream.fileno(), number)

    def _open(self) -> TextIOWrapper:
        # What a topology prints is its user's data.
        os.close(private(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        return super()._open()

    def doRollover(self) -> None:  # noqa: N802 (the name is logging's)
        super().doRollover()
        if self.stream is None:
            self.stream = self._open()
        self.adopt()


class PrintedLines:
    """Stands in for sys.stdout: whole lines go to the log, and to the console if there is one."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, logger: logging.Logger, level: int, console: int | None, name: str) -> None:
        self._logger = logger
        self._level = level
        self._console = console
        self._prefix = f"{name} | "
        self._open_line = ""

    def write(self, text: str) -> int:
        """Take text; complete lines leave at once."""
        *lines, self._open_line = (self._open_line + text).split("\n")
        for line in lines:
            self._line(line)
        return len(text)

    def _line(self, line: str) -> None:
        self._logger.log(self._level, "%s", line)
        if self._console is not None:
            try:
                os.write(self._console, f"{self._prefix}{line}\n".encode("utf-8", "replace"))
            except OSError:  # full or closed: the log has the line, user code must not wait
                pass

    def flush(self) -> None:
        """Let an unfinished line go, as print(end="") with flush=True wants."""

    def close_line(self) -> None:
        """At the end of the process: an unfinished line is a line."""
        if self._open_line:
            self.write("\n")

    def isatty(self) -> bool:
        """It never is a terminal."""
        return False

    def fileno(self) -> int:
        """The process's real stdout, which ends in the log file as well."""
        return 1

    def writable(self) -> bool:
        """It is."""
        return True


class JsonLines(logging.Formatter):
    """A line of JSON for each record: for programs that collect logs."""

    def __init__(self, **labels: str) -> None:
        """`labels`: what every line says, as which process it is of."""
        super().__init__()
        self._labels = labels

    def format(self, record: logging.LogRecord) -> str:
        """One object, with the traceback if there is one."""
        found: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            **self._labels,
            "logger": record.name,
            "pid": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


def log_to(
    path: str,
    name: str,
    *,
    debug: bool = False,
    console: int | None = None,
    log_format: str = keys.TEXT,
) -> None:
    """Send logging, stdout, stderr and crash dumps of this process to the file at `path`."""
    make_private_folders(os.path.dirname(path))
    handler = _RotatingFile(path, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES, encoding="utf-8")
    is_json = log_format == keys.JSON
    handler.setFormatter(JsonLines(process=name) if is_json else logging.Formatter(FORMAT))
    handler.adopt()
    # A line that cannot be written (a full disk) is lost; telling so on stderr would log it again.
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    sys.stdout = _as_text(PrintedLines(root, logging.INFO, console, name))
    sys.stderr = _as_text(PrintedLines(root, logging.ERROR, console, name))
    faulthandler.enable(file=2)


def log_json_to_stderr(name: str) -> None:
    """Of a process in the foreground: what it logs, as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process=name))
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.INFO)


def _as_text(lines: PrintedLines) -> TextIO:
    return lines  # type: ignore[return-value]
