"""A line for each request of the service: time, client, request, status, duration.

    2026-11-28T06:00:00.123+00:00 10.1.2.3 ada POST /api/v1/topology/words-1/kill/0 200 1.9

The fields are the time in UTC, the client's address, the user (`-` without a login), the method,
the path as sent (percent-encoded, without the query, because a query may have a credential), the
status (0 if the client left before an answer), and the milliseconds until the end of the answer.
A websocket has the method WEBSOCKET; the line of a websocket is written at its start.
"""

import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from time import perf_counter
from typing import Any
from urllib.parse import quote

from heron_io.private_files import make_private_folders, private
from heron_tracker.auth.access import WEBSOCKET, Caller
from heron_tracker.options import AccessLogOptions

log = logging.getLogger("tracker")

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

PATH_CHARACTERS_MAX = 1000
"""Of a path: clients are not to fill the disk."""
SWITCHING_PROTOCOLS, FORBIDDEN = 101, 403
"""The status of an accepted and of a refused websocket."""
UNKNOWN = "-"


@dataclass(slots=True)
class LoggedRequest:
    """A request, and the status of the answer so far."""

    address: str
    user: str
    method: str
    path: str
    began: float
    """By `perf_counter`."""
    status: int = 0
    is_written: bool = False

    @classmethod
    def of(
        cls, scope: MutableMapping[str, Any], caller: Caller | None, began: float
    ) -> "LoggedRequest":
        """By a connection of ASGI."""
        client = scope.get("client") or (UNKNOWN, 0)
        raw = scope.get("raw_path") or quote(scope["path"]).encode()
        path = quote(raw.decode("latin-1"), safe="/%:@!$&'()*+,;=~-._")
        user = quote(caller.user, safe="@.-_+") if caller is not None else ""
        method = scope.get("method", WEBSOCKET)
        return cls(str(client[0]), user or UNKNOWN, method, path[:PATH_CHARACTERS_MAX], began)

    def line(self, now: float, wall_clock: datetime) -> str:
        """The line in the log; `now` by `perf_counter`."""
        at = wall_clock.astimezone(UTC).isoformat(timespec="milliseconds")
        passed_ms = (now - self.began) * 1000
        return (
            f"{at} {self.address} {self.user} {self.method} {self.path} {self.status} "
            f"{passed_ms:.1f}"
        )


class AccessLog:
    """The file of a service; lines that cannot be written (a full disk) are counted and logged."""

    def __init__(self, options: AccessLogOptions | None) -> None:
        self._file = None if options is None else _LogFile(options)

    def watched(self, request: LoggedRequest, send: Send) -> Send:
        """`send`, with the status of the answer noted; the line of a websocket is written at once,
        because a page stays open for hours."""

        async def noting(message: Message) -> None:
            match message["type"]:
                case "http.response.start":
                    request.status = int(message["status"])
                case "websocket.accept":
                    request.status = SWITCHING_PROTOCOLS
                    self.write(request)
                case "websocket.close" if not request.status:
                    request.status = FORBIDDEN
            await send(message)

        return noting

    def write(self, request: LoggedRequest) -> None:
        """The request's line, once."""
        if self._file is None or request.is_written:
            return
        request.is_written = True
        self._file.write(request.line(perf_counter(), datetime.now(UTC)))

    def close(self) -> None:
        """Close the file; later lines open it again."""
        if self._file is not None:
            self._file.close()


class _LogFile(RotatingFileHandler):
    """A file rotated by size. All lines come from one thread, the event loop's."""

    def __init__(self, options: AccessLogOptions) -> None:
        make_private_folders(os.path.dirname(os.path.abspath(options.path)))
        super().__init__(
            options.path, maxBytes=options.bytes_max, backupCount=options.files, encoding="utf-8"
        )
        self.lost = 0
        """Lines since the last written line."""

    def write(self, text: str) -> None:
        """One line."""
        lost = self.lost
        self.handle(logging.makeLogRecord({"msg": text}))
        if lost and self.lost == lost:
            log.warning("the access log is written again: %d lines are lost", lost)
            self.lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        """Count the line; logging calls the method inside of an `except`."""
        self.lost += 1
        if self.lost == 1:
            log.warning("a line of the access log %s is lost", self.baseFilename, exc_info=True)

    def _open(self) -> Any:
        os.close(private(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        return super()._open()
