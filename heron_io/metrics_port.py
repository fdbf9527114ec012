"""OpenMetrics on a port of a process, served by threads beside the process's loop.

The loop owns the numbers. A thread with a request wakes the loop, which creates and supplies the
numbers in its turn, so the process's data is read by one thread only.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, SHUT_RDWR, socket
from socketserver import TCPServer
from typing import Any

from heron_core.errors import HeronError
from heron_core.loopback import host_of, is_loopback
from heron_io.waker import Waker

ANSWER_SECS = 5.0
"""Longest wait for a busy loop; Prometheus waits for ten seconds."""
REQUEST_SECS = 5.0
"""Timeout of a silent client."""
SCRAPES_AT_ONCE = 8
"""Threads. When all are taken, the client that has waited longest with half a request makes room;
if all of them are being answered, further ones are disconnected."""

Scrape = tuple[bytes, str]
"""Text and content type."""
Make = Callable[[str], Scrape]
"""Accept header -> the scrape. Called in a separate thread, on immutable data."""


class MetricsPort:
    """An HTTP server; HeronError in one line if the address is unavailable."""

    def __init__(self, host: str, port: int) -> None:
        self.asked = Waker()
        """Readable when the loop is to call `answer`."""
        self._answered = threading.Condition()
        self._answers = 0
        self._make: Make | None = None
        try:
            self._server = _Server(host, port, self)
        except (OSError, OverflowError) as error:
            self.asked.close()
            number = getattr(error, "errno", None)
            reason = os.strerror(number) if number and number > 0 else str(error)
            raise HeronError(
                f"metrics are not served: {host} port {port} cannot be used: {reason}. Give "
                "topology.metrics.port another port, or 0 for any free port"
            ) from None
        self.is_for_all = not is_loopback(host)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics port", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where to scrape."""
        host, port = self._server.server_address[:2]
        return f"http://{f'[{host!s}]' if ':' in str(host) else host!s}:{port}/metrics"

    def answer(self, make: Make) -> None:
        """Supply the data to all waiting scrapes."""
        self.asked.clear()
        with self._answered:
            self._make = make
            self._answers += 1
            self._answered.notify_all()

    def scrape(self, accept: str) -> Scrape | None:
        """In a thread of the server: None if the loop does not answer in time."""
        with self._answered:
            before = self._answers
            self.asked.wake()
            if not self._answered.wait_for(lambda: self._answers > before, ANSWER_SECS):
                return None
            make = self._make
        return None if make is None else make(accept)

    def close(self) -> None:
        """Take no more requests; a scrape that is under way ends with the process."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.asked.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, metrics: MetricsPort) -> None:
        self.metrics = metrics
        self._lock = threading.Lock()
        self._is_read: dict[Any, bool] = {}
        """Connection, oldest first -> whether its request has arrived."""
        self.address_family = AF_INET6 if ":" in host else AF_INET
        super().__init__((host.strip("[]"), port), _Handler)

    def server_bind(self) -> None:
        """Without HTTPServer's host name lookup, which may wait for a DNS server."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            has_capacity = len(self._is_read) < SCRAPES_AT_ONCE or self._evict()
            if has_capacity:
                self._is_read[request] = False
        if has_capacity:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _evict(self) -> bool:
        """Close the connection with the longest silence, which ends its thread."""
        silent = next((each for each, is_read in self._is_read.items() if not is_read), None)
        if silent is None:
            return False
        del self._is_read[silent]
        with suppress(OSError):
            silent.shutdown(SHUT_RDWR)
        return True

    def has_come(self, request: Any) -> None:
        """A complete request has arrived."""
        with self._lock:
            if request in self._is_read:
                self._is_read[request] = True

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._is_read.pop(request, None)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """The disconnection of a client is not logged."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_SECS

    def do_GET(self) -> None:
        self.server.has_come(self.connection)
        if not self.server.metrics.is_for_all and not is_loopback(
            host_of(self.headers.get("host", ""))
        ):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"use 127.0.0.1 or localhost\n")
        elif self.path.partition("?")[0] != "/metrics":
            self._send(HTTPStatus.NOT_FOUND, b"metrics are at /metrics\n")
        elif (answer := self.server.metrics.scrape(self.headers.get("accept", ""))) is None:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, b"the topology master is busy\n")
        else:
            self._send(HTTPStatus.OK, *answer)

    def _send(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain") -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (http.server's)
        """Scrapes come every few seconds."""
