"""Blocking clients of a request server, ours or Storm's, by its Thrift services."""

import socket
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from heron_connectors.requests.options import LOOPBACK, PORT
from heron_connectors.requests.table import TEXT_BYTES_MAX, Request
from heron_connectors.requests.thrift_constants import (
    AUTHENTICATE,
    AWAIT_REQUESTS,
    FAILED_REQUEST,
    FRAMES_OF_TEXT,
    RETURN_RESULTS,
    UNKNOWN_METHOD,
    failed,
)
from heron_connectors.requests.thrift_messages import (
    LENGTH_BYTES,
    MalformedMessage,
    MessageKind,
    ThriftMessage,
    decoded,
    encoded,
    struct_of,
    text_of,
)
from heron_core.errors import HeronError

CONNECT_SECS = 5.0
"""A server that does not take a connection within it is away."""
FRAME_BYTES_MAX = TEXT_BYTES_MAX * FRAMES_OF_TEXT


class ServerAway(HeronError):
    """The connection to a request server cannot be made, or has ended."""


class RequestDenied(HeronError):
    """The server refuses to be called: AuthorizationException."""


class UnknownMethod(HeronError):
    """The server does not have the method: one of another version."""


class DRPCExecutionException(HeronError):
    """A call has no result; `type` is a number of Storm's DRPCExceptionType."""

    def __init__(self, msg: str, kind: int = FAILED_REQUEST) -> None:
        super().__init__(msg)
        self.msg = msg
        self.type = kind


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
    """One connection, made with the first call and again after one that failed. For one thread."""

    def __init__(self, address: ServerAddress, answer_secs: float | None) -> None:
        """`answer_secs`: how long a call waits for its answer; None: as long as it takes."""
        self.address = address
        self._answer_secs = answer_secs
        self._socket: socket.socket | None = None
        self._number = 0
        self._is_interrupted = False

    def call(self, method: str, fields: Mapping[int, Any], extra_secs: float = 0.0) -> Any:
        """The answer's fields; ServerAway if there is none, UnknownMethod, RequestDenied."""
        try:
            connection = self._socket or self._connect()
            if self._answer_secs is not None:
                connection.settimeout(self._answer_secs + extra_secs)
            answer = self._exchange(connection, method, fields)
        except (OSError, MalformedMessage) as error:
            self.close()
            raise ServerAway(f"{self.address}: {_reason(error)}") from None
        return self._checked(method, answer)

    def close(self) -> None:
        """End the connection; the next call makes another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def interrupt(self) -> None:
        """From another thread: a call that is under way fails, and so do all further ones."""
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
            answer = self._exchange(connection, AUTHENTICATE, {1: address.token})
            self._checked(AUTHENTICATE, answer)
        connection.settimeout(self._answer_secs)
        return connection

    def _exchange(
        self, connection: socket.socket, method: str, fields: Mapping[int, Any]
    ) -> ThriftMessage:
        self._number = self._number % 0x7FFF_FFFF + 1
        connection.sendall(encoded(ThriftMessage(method, MessageKind.CALL, self._number, fields)))
        size = int.from_bytes(_received(connection, LENGTH_BYTES), "big", signed=True)
        if not 0 < size <= FRAME_BYTES_MAX:
            raise MalformedMessage(f"an answer of {size} bytes")
        answer = decoded(_received(connection, size))
        if answer.number != self._number:
            raise MalformedMessage("an answer to another call")
        return answer

    def _checked(self, method: str, answer: ThriftMessage) -> Any:
        if answer.kind is MessageKind.EXCEPTION:
            text = text_of(answer.fields.get(1, b""))
            if answer.fields.get(2) == UNKNOWN_METHOD:
                raise UnknownMethod(f"{self.address}: {text}")
            self.close()
            raise ServerAway(f"{self.address}: {text}")
        denied = answer.fields.get(2 if method == "execute" else 1)
        if denied is not None:
            raise RequestDenied(f"{self.address}: {text_of(struct_of(denied).get(1))}")
        return answer.fields


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
        """Without `timeout_secs` a call ends when the server ends it, which it does."""
        address = ServerAddress(host=host, port=port, token=token, authority=authority)
        self._client = ThriftClient(address, timeout_secs)

    def __enter__(self) -> "DRPCClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, function: str, arguments: str) -> str:
        """The result; DRPCExecutionException if there is none, ServerAway if no server answers."""
        answer = self._client.call("execute", {1: function, 2: arguments})
        if 1 in answer:
            error = struct_of(answer[1])
            raise DRPCExecutionException(text_of(error.get(1)), error.get(2, FAILED_REQUEST))
        return text_of(answer.get(0))

    def close(self) -> None:
        """End the connection."""
        self._client.close()


class DRPCInvocationsClient:
    """What a topology does (Storm: DRPCInvocationsClient)."""

    def __init__(self, address: ServerAddress, answer_secs: float = 10.0) -> None:
        self.address = address
        self._client = ThriftClient(address, answer_secs)
        self._takes_several = True
        """Whether the server takes several results at once; one of Storm's does not."""

    def fetch_request(self, function: str) -> Request | None:
        """The next request, if there is one."""
        request = _request(self._client.call("fetchRequest", {1: function}).get(0))
        return request if request.id else None

    def await_requests(self, function: str, most: int, wait_secs: float) -> list[Request] | None:
        """Up to so many requests, or none after a while; None if the server has no such method."""
        fields = {1: function, 2: most, 3: int(wait_secs * 1000)}
        try:
            answer = self._client.call(AWAIT_REQUESTS, fields, wait_secs)
        except UnknownMethod:
            return None
        return [_request(each) for each in answer.get(0, ())]

    def result(self, request_id: str, text: str) -> None:
        """Answer a request."""
        self._client.call("result", {1: request_id, 2: text})

    def results(self, results: Sequence[tuple[str, str]]) -> None:
        """Answer several requests, by their ids; those that a call has brought over before it fails
        may be told again."""
        if self._takes_several and len(results) > 1:
            pairs = [{1: request_id, 2: text} for request_id, text in results]
            try:
                self._client.call(RETURN_RESULTS, {1: pairs})
            except UnknownMethod:
                self._takes_several = False
            else:
                return
        for request_id, text in results:
            self.result(request_id, text)

    def fail_request(self, request_id: str, why: str | None = None) -> None:
        """Say that it is not answered, and why (Storm: failRequestV2)."""
        if why is None:
            self._client.call("failRequest", {1: request_id})
        else:
            self._client.call("failRequestV2", {1: request_id, 2: failed(why, FAILED_REQUEST)})

    def interrupt(self) -> None:
        """From another thread: a call that is under way fails."""
        self._client.interrupt()

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _request(fields: Any) -> Request:
    known = struct_of(fields)
    return Request(text_of(known.get(2)), text_of(known.get(1)))
