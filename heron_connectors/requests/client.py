"""Blocking clients of a request server, ours or Storm's, by its Thrift services."""

import socket
import ssl
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from heron_connectors.requests.options import LOOPBACK, PORT
from heron_connectors.requests.table import TEXT_BYTES_MAX, Request
from heron_connectors.requests.thrift_interface import (
    AUTHENTICATE,
    AWAIT_REQUESTS,
    FAILED_REQUEST,
    FRAMES_OF_TEXT,
    METHODS,
    RETURN_RESULTS,
    DRPCExecutionException,
    DRPCRequest,
    DRPCResult,
)
from heron_core.errors import HeronError
from heron_core.thrift.calls import (
    LENGTH_BYTES,
    UNKNOWN_METHOD,
    AuthorizationException,
    TApplicationException,
    ThriftAnswer,
    call_message,
    framed,
    parse_answer,
    parse_result,
)
from heron_core.thrift.structs import MalformedMessage

CONNECT_SECS = 5.0
"""Connect timeout, after which a server counts as away."""
FRAME_BYTES_MAX = TEXT_BYTES_MAX * FRAMES_OF_TEXT


class ServerAway(HeronError):
    """The connection to a request server cannot be made, or has ended."""


class RequestDenied(HeronError):
    """The server refuses to be called: AuthorizationException."""


class UnknownMethod(HeronError):
    """The server does not have the method: one of another version."""


class ServerAddress(Struct, frozen=True, kw_only=True):
    """How a server is reached."""

    host: str = LOOPBACK
    port: int
    token: str | None = None
    authority: str | None = None
    """A file with the certificate (of the authority) that the server's has to be of; None: no
    TLS."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class ThriftClient:
    """One connection, opened by the first call and again after a failure. For one thread."""

    def __init__(self, address: ServerAddress, answer_secs: float | None) -> None:
        """`answer_secs`: timeout of a call; None: unlimited."""
        self.address = address
        self._answer_secs = answer_secs
        self._socket: socket.socket | None = None
        self._number = 0
        self._is_interrupted = False

    def call(self, method: str, *values: Any, extra_secs: float = 0.0) -> Any:
        """The result; ServerAway if there is none, UnknownMethod, RequestDenied,
        DRPCExecutionException. `values` are the arguments in order."""
        try:
            connection = self._socket or self._connect()
            if self._answer_secs is not None:
                connection.settimeout(self._answer_secs + extra_secs)
            return self._result(method, self._exchange(connection, method, values))
        except (OSError, MalformedMessage) as error:
            self.close()
            raise ServerAway(f"{self.address}: {_reason(error)}") from None

    def close(self) -> None:
        """End the connection; the next call connects again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def interrupt(self) -> None:
        """From another thread: the call in progress fails, and each further call."""
        self._is_interrupted = True
        connection = self._socket
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _connect(self) -> socket.socket:
        address = self.address
        connection: socket.socket = socket.create_connection(
            (address.host.strip("[]"), address.port), CONNECT_SECS
        )
        try:
            self._socket = connection = self._introduced(connection)
            if self._is_interrupted:
                raise ConnectionAbortedError("interrupted")
        except BaseException:
            self._socket = None
            connection.close()
            raise
        return connection

    def _introduced(self, connection: socket.socket) -> socket.socket:
        """The connection behind TLS and the token, as far as the server wants them."""
        address = self.address
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.authority is not None:
            context = ssl.create_default_context(cafile=address.authority)
            connection = context.wrap_socket(connection, server_hostname=address.host.strip("[]"))
        if address.token is not None:
            answer = self._exchange(connection, AUTHENTICATE, (address.token,))
            self._result(AUTHENTICATE, answer)
        connection.settimeout(self._answer_secs)
        return connection

    def _exchange(
        self, connection: socket.socket, method: str, values: Sequence[Any]
    ) -> ThriftAnswer:
        self._number = self._number % 0x7FFF_FFFF + 1
        message = call_message(method, METHODS[method], self._number, *values)
        connection.sendall(framed(message))
        size = int.from_bytes(_received(connection, LENGTH_BYTES), "big", signed=True)
        if not 0 < size <= FRAME_BYTES_MAX:
            raise MalformedMessage(f"an answer of {size} bytes")
        answer = parse_answer(_received(connection, size))
        if answer.sequence != self._number:
            raise MalformedMessage("an answer to another call")
        return answer

    def _result(self, method: str, answer: ThriftAnswer) -> Any:
        try:
            return parse_result(METHODS[method], answer)
        except TApplicationException as error:
            if error.type == UNKNOWN_METHOD:
                raise UnknownMethod(f"{self.address}: {error}") from None
            self.close()
            raise ServerAway(f"{self.address}: {error}") from None
        except AuthorizationException as error:
            raise RequestDenied(f"{self.address}: {error}") from None


def _received(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 16))
        if not part:
            raise ConnectionResetError("the connection has ended")
        data += part
    return bytes(data)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class DRPCClient:
    """Calls functions of topologies (Storm: DRPCClient).

    Example:

        with DRPCClient("127.0.0.1") as drpc:
            print(drpc.execute("reach", "foo.com/blog/1"))
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        port: int = PORT,
        timeout_secs: float | None = None,
        token: str | None = None,
        authority: str | None = None,
    ) -> None:
        """Without `timeout_secs` the server's own timeout ends a call."""
        address = ServerAddress(host=host, port=port, token=token, authority=authority)
        self._client = ThriftClient(address, timeout_secs)

    def __enter__(self) -> "DRPCClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, function: str, arguments: str) -> str:
        """The result; DRPCExecutionException for a failed request, ServerAway without a server."""
        result: str = self._client.call("execute", function, arguments)
        return result

    def close(self) -> None:
        """End the connection."""
        self._client.close()


class DRPCInvocationsClient:
    """The client of a topology (Storm: DRPCInvocationsClient)."""

    def __init__(self, address: ServerAddress, answer_secs: float = 10.0) -> None:
        self.address = address
        self._client = ThriftClient(address, answer_secs)
        self._takes_several = True
        """Whether the server takes several results at once; one of Storm's does not."""

    def fetch_request(self, function: str) -> Request | None:
        """The next request, if available."""
        request = _request(self._client.call("fetchRequest", function))
        return request if request.id else None

    def await_requests(self, function: str, most: int, wait_secs: float) -> list[Request] | None:
        """Up to the given number of requests, possibly none after a wait; None if the server
        lacks the method."""
        millis = int(wait_secs * 1000)
        try:
            requests = self._client.call(
                AWAIT_REQUESTS, function, most, millis, extra_secs=wait_secs
            )
        except UnknownMethod:
            return None
        return [_request(request) for request in requests]

    def result(self, request_id: str, text: str) -> None:
        """Answer a request."""
        self._client.call("result", request_id, text)

    def results(self, results: Sequence[tuple[str, str]]) -> None:
        """Answer several requests, by their ids; those that a call has brought over before it fails
        may be told again."""
        if self._takes_several and len(results) > 1:
            together = [DRPCResult(request_id, text) for request_id, text in results]
            try:
                self._client.call(RETURN_RESULTS, together)
            except UnknownMethod:
                self._takes_several = False
            else:
                return
        for request_id, text in results:
            self.result(request_id, text)

    def fail_request(self, request_id: str, why: str | None = None) -> None:
        """Report a failed request with its reason (Storm: failRequestV2)."""
        if why is None:
            self._client.call("failRequest", request_id)
        else:
            error = DRPCExecutionException(why, FAILED_REQUEST)
            self._client.call("failRequestV2", request_id, error)

    def interrupt(self) -> None:
        """From another thread: the call in progress fails."""
        self._client.interrupt()

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _request(request: DRPCRequest) -> Request:
    return Request(request.request_id, request.func_args)
