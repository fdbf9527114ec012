"""Connections that speak Thrift in frames, as Storm's clients do."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from msgspec import Struct

from heron_connectors.requests.thrift_interface import (
    AUTHENTICATE,
    FRAMES_OF_TEXT,
    METHODS,
    DRPCExecutionException,
)
from heron_connectors.requests.thrift_services import Handler, TokenGate
from heron_core.thrift.calls import (
    LENGTH_BYTES,
    ONEWAY,
    UNKNOWN_METHOD,
    AuthorizationException,
    TApplicationException,
    ThriftCall,
    framed,
    parse_arguments,
    parse_call,
    refusal,
    reply,
)
from heron_core.thrift.foreign_clients import (
    SASL_START,
    ForeignClient,
    foreign_client,
    foreign_frame,
    oversized,
)
from heron_core.thrift.structs import MalformedMessage

CONNECTIONS_MAX = 4096
"""Connections of a port; further connections are closed at once. A thousand callers and as many
instances."""
SHUTDOWN_SECS = 2.0
"""Grace time at shutdown for peers that do not read pending answers."""
FRAME_SECS = 30.0
"""From the first byte of a frame to its last: a peer that stops in the middle of it is closed."""
UNKNOWN_PEER_BYTES_MAX = 64 * 1024
"""Of a frame on a connection that has to say a token first."""

LOG_SECS = 60.0
"""Refused connections are counted each, and those of one host logged once in this time: a client
of the wrong kind connects again and again."""
HOSTS_MAX = 1000
"""Hosts whose last line is remembered."""
SERVER = "DRPC"
"""Name of the server in its refusals."""
HTTP_PORT = "the port of --http-port of `heronpy drpc`"
VERSION_BYTE = b"\x80"
"""The first byte of a message in Thrift's binary protocol."""
NO_TOKEN = f"first call {AUTHENTICATE} with this server's token"

log = logging.getLogger("drpc")


class ThriftCounts(Struct):
    """Counts of the Thrift ports since the start of the server."""

    refused: int = 0
    """Calls without the token."""
    malformed: int = 0
    """Connections closed and calls rejected for protocol errors."""
    unknown_methods: int = 0
    connections_refused: int = 0
    """Connections rejected above the limit."""


class MethodsOfConnection(Protocol):
    """Services of a connection."""

    methods: dict[str, Handler]


class ThriftListener:
    """One port."""

    def __init__(
        self,
        services: Callable[[Callable[[], bool]], MethodsOfConnection],
        token: str | None,
        text_bytes_max: int,
        counts: ThriftCounts,
    ) -> None:
        """`services`: creates the services of a connection, given whether the connection is
        open."""
        self.services = services
        self.token = token
        self.frame_bytes_max = text_bytes_max * FRAMES_OF_TEXT
        self.counts = counts
        self.connections: set[ThriftConnection] = set()
        self._logged_at: dict[str, float] = {}
        """Host -> time of its last line."""
        self._server: asyncio.Server | None = None
        self._is_empty: asyncio.Future[None] | None = None
        """When all connections have ended, once it is closed."""

    async def listen(self, listener: Any, tls: ssl.SSLContext | None) -> None:
        """Take connections on a socket that listens."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: ThriftConnection(self), sock=listener, ssl=tls
        )

    async def close(self) -> None:
        """Stop accepting, and close connections after their pending calls are answered, or after
        a timeout."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.end()
        if self.connections:
            self._is_empty = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._is_empty], timeout=SHUTDOWN_SECS)
        for connection in list(self.connections):
            connection.abort()

    def refused(self, foreign: ForeignClient, host: str, port: int) -> None:
        """A connection is closed for its bytes: counted, and logged once a minute for a host."""
        self.counts.malformed += 1
        now = time.monotonic()
        if now - self._logged_at.get(host, float("-inf")) < LOG_SECS:
            return
        if len(self._logged_at) >= HOSTS_MAX:
            self._logged_at.clear()
        self._logged_at[host] = now
        log.warning("%s", foreign.line(SERVER, f"{host}:{port}"))

    def ended(self, connection: "ThriftConnection") -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        if not self.connections and self._is_empty is not None and not self._is_empty.done():
            self._is_empty.set_result(None)


class ThriftConnection(asyncio.Protocol):
    """One connection: frames in, frames out, answers as available."""

    def __init__(self, listener: ThriftListener) -> None:
        self._listener = listener
        self._gate = TokenGate(listener.token)
        self._methods = listener.services(self._is_open).methods
        self._received = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline: asyncio.TimerHandle | None = None
        self._transport: Any = None
        self._ends = False

    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A peer connects."""
        self._transport = transport
        if len(self._listener.connections) >= CONNECTIONS_MAX:
            self._listener.counts.connections_refused += 1
            self._transport.abort()
            return
        self._listener.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer has disconnected: abandon its pending calls."""
        self._listener.ended(self)
        self._stop_watch()
        for task in self._tasks:
            task.cancel()

    def end(self) -> None:
        """Close after pending calls are answered."""
        self._ends = True
        if not self._tasks:
            self._transport.close()

    def abort(self) -> None:
        """Close immediately."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Some bytes more."""
        self._received += data
        self._stop_watch()
        while (frame := self._next_frame()) is not None:
            self._take(frame)
        if self._received and self._is_open():
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(FRAME_SECS, self._stopped)

    def _stop_watch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stopped(self) -> None:
        remedy = f"waits for the rest of a frame for {FRAME_SECS:g} s"
        self._refuse_client(ForeignClient("a client that stopped in a frame", remedy=remedy))

    def _refuse_client(self, foreign: ForeignClient) -> None:
        """Answer in the client's own form, and close."""
        host, port = (self._transport.get_extra_info("peername") or ("an unknown host", 0))[:2]
        self._listener.refused(foreign, host, port)
        self._received.clear()
        if not foreign.answer:
            self._transport.abort()
            return
        self._transport.write(foreign.answer)
        self._transport.close()

    def _next_frame(self) -> bytes | None:
        if len(self._received) < LENGTH_BYTES or not self._is_open():
            return None
        if self._is_foreign():
            return None
        size = int.from_bytes(self._received[:LENGTH_BYTES], "big", signed=True)
        is_known = self._gate.is_passed
        most = self._listener.frame_bytes_max if is_known else UNKNOWN_PEER_BYTES_MAX
        if not 0 < size <= most:
            limit = "--bytes of `heronpy drpc`" if is_known else f"before {AUTHENTICATE}"
            self._refuse_client(oversized(size, most, limit))
            return None
        end = LENGTH_BYTES + size
        if len(self._received) < end:
            return None
        frame = bytes(self._received[LENGTH_BYTES:end])
        del self._received[:end]
        return frame

    def _is_foreign(self) -> bool:
        """Whether the client speaks another protocol: it gets an answer in this protocol. A frame
        of 16 MiB begins like SASL, and has Thrift's version behind its length."""
        first, fifth = bytes(self._received[:LENGTH_BYTES]), self._received[LENGTH_BYTES:][:1]
        foreign = foreign_client(first, SERVER, HTTP_PORT)
        if foreign is None or (first == SASL_START and fifth in (b"", VERSION_BYTE)):
            return False
        self._refuse_client(foreign)
        return True

    def _take(self, frame: bytes) -> None:
        try:
            call = parse_call(frame)
        except MalformedMessage:
            self._refuse_client(foreign_frame(frame, SERVER))
            return
        try:
            self._call(call)
        except TApplicationException as error:
            self._listener.counts.malformed += 1
            self._refuse(call, error)

    def _call(self, call: ThriftCall) -> None:
        if call.method == AUTHENTICATE:
            self._gate.present(parse_arguments(METHODS[AUTHENTICATE], call)["token"])
        if not self._gate.is_passed:
            self._listener.counts.refused += 1
            self._refuse(call, AuthorizationException(NO_TOKEN))
        elif call.method == AUTHENTICATE:
            self._reply(call, None)
        elif (handler := self._methods.get(call.method)) is None:
            self._listener.counts.unknown_methods += 1
            text = f"Invalid method name: '{call.method:.100}'"
            self._refuse(call, TApplicationException(text, UNKNOWN_METHOD))
        else:
            result = handler(parse_arguments(METHODS[call.method], call))
            if isinstance(result, Coroutine):
                self._await(self._reply_later(call, result))
            else:
                self._reply(call, result)

    def _await(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._is_answered)

    def _is_answered(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if self._ends and not self._tasks:
            self._transport.close()

    async def _reply_later(self, call: ThriftCall, result: Coroutine[Any, Any, Any]) -> None:
        try:
            self._reply(call, await result)
        except DRPCExecutionException as error:
            self._refuse(call, error)

    def _refuse(self, call: ThriftCall, error: Exception) -> None:
        self._send(call, refusal(call, METHODS.get(call.method), error))

    def _reply(self, call: ThriftCall, result: Any) -> None:
        self._send(call, reply(call, METHODS[call.method], result))

    def _send(self, call: ThriftCall, answer: bytes) -> None:
        if call.kind != ONEWAY and self._is_open():
            self._transport.write(framed(answer))
