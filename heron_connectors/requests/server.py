"""The process behind `heronpy drpc`: three sockets and one event loop."""

import asyncio
import resource
import secrets
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import uvicorn

from heron_connectors.requests.http_requests import RequestApplication
from heron_connectors.requests.metrics_text import metrics_text
from heron_connectors.requests.options import (
    Addresses,
    RequestServerOptions,
    check_server_options,
)
from heron_connectors.requests.service import RequestService
from heron_connectors.requests.table import RequestCounts
from heron_connectors.requests.thrift_listener import CONNECTIONS_MAX, ThriftCounts, ThriftListener
from heron_connectors.requests.thrift_services import CallerService, TopologyService
from heron_io.http_settings import http_settings, server_tls
from heron_io.listening import listen_on
from heron_io.request_protocol import RequestProtocol

BACKLOG = 1024
"""Connections that have come at once and are not taken yet."""
KEEP_ALIVE_SECS = 60
SHUTDOWN_SECS = 5
"""For answers that are being sent when the server ends."""
HEADER_BYTES_MAX = 64 * 1024
"""Of a request's line and headers: arguments may stand in the path."""
LIFE_BYTES = 4

Ready = Callable[[Addresses], None]


class RequestServerProtocol(RequestProtocol):
    """A connection of HTTP here."""

    connections_max = CONNECTIONS_MAX


def serve(options: RequestServerOptions, ready: Ready) -> RequestCounts:
    """Serve until a signal; `ready` is called when requests are taken. What was counted.
    UsageError or HeronError if it cannot begin."""
    check_server_options(options)
    tls = server_tls(options.certificate, options.key)
    _allow_files()
    with ExitStack() as opened:
        sockets = [
            opened.enter_context(listen_on(options.host, port, BACKLOG, option))
            for port, option in (
                (options.port, "--port"),
                (options.invocations_port, "--invocations-port"),
                (options.http_port, "--http-port"),
            )
        ]
        return asyncio.run(_until_signal(RequestServer(options, sockets, tls), ready))


async def _until_signal(server: "RequestServer", ready: Ready) -> RequestCounts:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.end)
    return await server.run(ready)


def _allow_files() -> None:
    """A connection is an open file, and a shell's limit may be 1,024 of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class RequestServer:
    """Made, run and ended once."""

    def __init__(
        self,
        options: RequestServerOptions,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None,
    ) -> None:
        """`sockets` listen: for callers, for topologies, for HTTP."""
        self._options = options
        self._sockets = sockets
        self._tls = tls
        self._thrift = {"callers": ThriftCounts(), "topologies": ThriftCounts()}

    async def run(self, ready: Ready) -> RequestCounts:
        """Until `end`."""
        self._loop = asyncio.get_running_loop()
        service = self._service = RequestService(
            self._options.limits, secrets.token_hex(LIFE_BYTES)
        )
        self._application = RequestApplication(service, self._options, self._metrics)
        listeners = self._listeners(service)
        for listener, opened in zip(listeners, self._sockets, strict=False):
            await listener.listen(opened, self._tls)
        self._http = _HttpServer(self._http_config(), service)
        ready(Addresses.of(self._sockets))
        await self._http.serve(sockets=[self._sockets[2]])
        for listener in listeners:
            await listener.close()
        return service.counts

    def end(self) -> None:
        """Answer all calls with an error, and take no more; on the server's loop."""
        self._http.end()

    def call_soon(self, function: Callable[[], object]) -> None:
        """From another thread, once the server is ready."""
        self._loop.call_soon_threadsafe(function)

    def validate(self) -> None:
        """AssertionError if the parts do not fit together."""
        self._service.validate()

    def _listeners(self, service: RequestService) -> tuple[ThriftListener, ThriftListener]:
        most, token = self._options.limits.text_bytes_max, self._options.token
        return (
            ThriftListener(
                lambda _: CallerService(service), token, most, self._thrift["callers"]
            ),
            ThriftListener(
                lambda is_open: TopologyService(service, is_open), token, most,
                self._thrift["topologies"],
            ),
        )  # fmt: skip

    def _metrics(self) -> str:
        ports = [*self._thrift.items(), ("http", self._application.counts)]
        return metrics_text(self._service.counts, ports, self._service.functions())

    def _http_config(self) -> uvicorn.Config:
        return http_settings(
            self._application,
            RequestServerProtocol,
            self._options.certificate,
            self._options.key,
            lifespan="off",
            ws="none",
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
            timeout_keep_alive=KEEP_ALIVE_SECS,
            timeout_graceful_shutdown=SHUTDOWN_SECS,
        )


class _HttpServer(uvicorn.Server):
    """Shut down; open calls are ended, to avoid waiting for them."""

    def __init__(self, config: uvicorn.Config, service: RequestService) -> None:
        super().__init__(config)
        self._service = service

    def end(self) -> None:
        self.should_exit = True
        self._service.stop()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The loop has handlers of its own for them."""
        yield
