"""Logs: one rotating file a process; what user code prints goes there too, line by line.

In a foreground run the printed lines are also copied to the console pipe of the command line.
"""

import faulthandler
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from io import RawIOBase, TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import Any, cast

from heron_core import config as keys
from heron_io.console import ConsoleStream, ConsoleWriter
from heron_io.private_files import make_private_folders, private

FORMAT = "%(asctime)s %(levelname)s %(message)s"
CONSOLE_FORMAT = "%(levelname)s %(message)s"
OUR_LOGGERS = frozenset({"heron_instance", "heron_io", "container", "kazoo"})
"""Loggers of the engine in an instance; all others belong to user code or its libraries."""
STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""Standard attributes of a log record; others are user code's `extra`."""


class _RotatingFile(RotatingFileHandler):
    """A rotating file behind file descriptors 1 and 2, for output of C code and crashes."""

    def adopt(self) -> None:
        """Let stdout and stderr of the process end in the file."""
        assert self.stream is not None
        for number in (1, 2):
            os.dup2(self.stream.fileno(), number)

    def _open(self) -> TextIOWrapper:
        # A topology's output is its user's data.
        os.close(private(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        return super()._open()

    def doRollover(self) -> None:  # noqa: N802 (the name is logging's)
        super().doRollover()
        if self.stream is None:
            self.stream = self._open()
        self.adopt()


class _PrintedBytes(RawIOBase):
    """Output of a process, by any path: each complete line goes to the log, and to the console
    if present."""

    def __init__(
        self, stream: ConsoleStream, log: Callable[[str], None], console: ConsoleWriter | None
    ) -> None:
        super().__init__()
        self._stream = stream
        self._log = log
        self._console = console
        self._unfinished = b""
        self._lock = threading.RLock()  # threads of user code print, and so do its signal handlers

    def write(self, data: Any) -> int:
        """Take bytes; the lines that are whole leave at once."""
        with self._lock:
            *lines, self._unfinished = (self._unfinished + bytes(data)).split(b"\n")
            for line in lines:
                self._line(line)
        return len(data)

    def _line(self, line: bytes) -> None:
        text = line.decode("utf-8", "backslashreplace")
        self._log(text)
        if self._console is not None:
            self._console.line(self._stream, text)

    def close(self) -> None:
        """At the end of the process: an unfinished line is a line."""
        with self._lock:
            line, self._unfinished = self._unfinished, b""
            if line:
                self._line(line)
        if self._console is not None:
            self._console.close()
        super().close()

    def fileno(self) -> int:
        """The process's real stdout or stderr, which end in the log file as well."""
        return int(self._stream)

    def writable(self) -> bool:
        """Always enabled."""
        return True


class _ConsoleLog(logging.Handler):
    """Shows user code's log records on the console; printed output goes there by itself."""

    def __init__(self, console: ConsoleWriter, level: int) -> None:
        super().__init__(level)
        self._console = console
        self.addFilter(lambda record: record.name.partition(".")[0] not in OUR_LOGGERS)

    def emit(self, record: logging.LogRecord) -> None:
        """One or several lines, with a traceback if present."""
        try:
            for line in self.format(record).splitlines():
                self._console.line(ConsoleStream.ERR, line)
        except Exception:
            self.handleError(record)


def utc_time(at: float) -> str:
    """Seconds since 1970 as a line of a log shows them, `2026-11-28T06:00:00.123+00:00`: hosts of
    one topology may have several zones, and local time repeats an hour each year."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


class TextLines(logging.Formatter):
    """A line of text for each record, in UTC with the zone."""

    def __init__(self, layout: str = FORMAT) -> None:
        super().__init__(layout)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 (the name is logging's)
        """The time of the record in UTC."""
        return utc_time(record.created)


class JsonLines(logging.Formatter):
    """A line of JSON for each record: for programs that collect logs."""

    def __init__(self, **labels: str) -> None:
        """`labels`: constant fields of every line, such as the process."""
        super().__init__()
        self._labels = labels

    def format(self, record: logging.LogRecord) -> str:
        """One object, with the traceback if present."""
        fields: dict[str, Any] = {
            "time": utc_time(record.created),
            "level": record.levelname,
            **self._labels,
            "logger": record.name,
            "pid": record.process,
            "message": record.getMessage(),
        }
        for name, value in vars(record).items():
            if name not in STANDARD_FIELDS:
                fields[f"extra.{name}" if name in fields else name] = value
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return json.dumps(fields, ensure_ascii=False, default=repr)


def log_to(
    path: str,
    name: str,
    *,
    debug: bool = False,
    console: int | None = None,
    console_level: int | None = None,
    settings: keys.LogSettings = keys.LogSettings(),  # noqa: B008 (frozen)
) -> None:
    """Send logging, stdout, stderr and crash dumps of this process to the file at `path`.

    `console`: a pipe of heron_io.console for what is printed, and for what user code logs at
    `console_level` or above. Its lines begin with `name`.
    """
    make_private_folders(os.path.dirname(path))
    handler = _RotatingFile(
        path, maxBytes=settings.bytes_max, backupCount=settings.files, encoding="utf-8"
    )
    is_json = settings.line_format == keys.JSON
    handler.setFormatter(JsonLines(process=name) if is_json else TextLines())
    handler.adopt()
    # A line that cannot be written (a full disk) is lost; telling so on stderr would log it again.
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    writer = None if console is None else ConsoleWriter(console, name)
    if writer is not None and console_level is not None:
        shown = _ConsoleLog(writer, console_level)
        shown.setFormatter(logging.Formatter(CONSOLE_FORMAT))
        root.addHandler(shown)
        root.setLevel(min(root.level, console_level))
    sys.stdout = _printed(ConsoleStream.OUT, handler, logging.INFO, writer)
    sys.stderr = _printed(ConsoleStream.ERR, handler, logging.ERROR, writer)
    faulthandler.enable(file=2)


def _printed(
    stream: ConsoleStream, handler: logging.Handler, level: int, console: ConsoleWriter | None
) -> TextIOWrapper:
    def log(text: str) -> None:
        fields = {"msg": text, "levelno": level, "levelname": logging.getLevelName(level)}
        handler.handle(logging.makeLogRecord({"name": "root", **fields}))

    raw = cast(Any, _PrintedBytes(stream, log, console))
    return TextIOWrapper(raw, "utf-8", "backslashreplace", newline="\n", write_through=True)


def log_text_to(handler: logging.Handler, level: int, layout: str = FORMAT) -> None:
    """Text log lines of a process at `handler` alone, from `level` up."""
    handler.setFormatter(TextLines(layout))
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(level)


def log_json_to_stderr(name: str) -> None:
    """JSON log lines of a foreground process."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process=name))
    logging.getLogger().handlers[:] = [handler]
    logging.getLogger().setLevel(logging.INFO)
