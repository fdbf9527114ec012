"""A request server in a thread of the test, on ports of its own."""

import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Any

from heron_connectors.requests.options import Addresses, RequestServerOptions
from heron_connectors.requests.server import RequestServer
from heron_connectors.requests.table import RequestCounts, RequestLimits
from heron_io.http_settings import server_tls
from heron_io.listening import listen_on

SECS = 30.0
HOST = "127.0.0.1"
BACKLOG = 1024


class ServerInThread:
    """The server, its addresses, and what it has counted when it has ended."""

    def __init__(self, options: RequestServerOptions, sockets: list[socket.socket]) -> None:
        self._server = RequestServer(options, sockets, server_tls(options.certificate, options.key))
        self._is_ready = Event()
        self.addresses: Addresses
        self.counts: RequestCounts
        self._thread = Thread(target=self._run, args=(), daemon=True)
        self._thread.start()
        assert self._is_ready.wait(SECS)

    def _run(self) -> None:
        def ready(addresses: Addresses) -> None:
            self.addresses = addresses
            self._is_ready.set()

        self.counts = asyncio.run(self._server.run(ready))

    def end(self) -> RequestCounts:
        """Its counts, when it has ended."""
        if self._thread.is_alive():
            self._server.call_soon(self._server.end)
            self._thread.join(SECS)
            assert not self._thread.is_alive()
            self._server.validate()
        return self.counts

    # --- over HTTP ------------------------------------------------------------------------------

    def http(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        tls: ssl.SSLContext | None = None,
        **more: str,
    ) -> tuple[int, str]:
        """Status and body of an answer."""
        host, port = self.addresses.http
        connection = (
            http.client.HTTPConnection(host, port, timeout=SECS)
            if tls is None
            else http.client.HTTPSConnection(host, port, timeout=SECS, context=tls)
        )
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def functions(self) -> dict[str, Any]:
        """Function -> what is listed of it."""
        return {each["name"]: each for each in json.loads(self.http("GET", "/functions")[1])}

    def metrics(self) -> dict[str, float]:
        """Series -> its value."""
        lines = self.http("GET", "/metrics")[1].splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {series: float(value) for series, _, value in pairs}

    def ended(self, outcome: str) -> float:
        """How many calls have ended so."""
        return self.metrics()[f'heron_drpc_calls_ended_total{{outcome="{outcome}"}}']


@contextmanager
def serving(
    limits: RequestLimits | None = None, topologies_port: int = 0, **options: Any
) -> Iterator[ServerInThread]:
    """A server until the end of the block."""
    limits = RequestLimits() if limits is None else limits
    with ExitStack() as opened:
        ports = (0, topologies_port, 0)
        sockets = [opened.enter_context(listen_on(HOST, each, BACKLOG)) for each in ports]
        server = ServerInThread(RequestServerOptions(limits=limits, **options), sockets)
        try:
            yield server
        finally:
            server.end()
