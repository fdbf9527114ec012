"""Connection between the driver and each container's task: ends and commands.

A task connects to the driver's only socket, proves knowledge of the application's secret, and
names its container. Afterwards both sides may send one JSON object a line. The connection is
also a lifeline: when it ends, for any reason, the container ends. Standard library only: the
task's side runs before any package of ours is unpacked.
"""

import hashlib
import hmac
import json
import secrets
import selectors
import socket
from dataclasses import dataclass, field
from typing import Any

LINE_BYTES_MAX = 16384
"""A reason has at most 4 KiB (heron_io.processes), some JSON around it and its escapes."""
CONNECT_SECS = 10.0
UNAUTHENTICATED_MAX = 256
"""Limit of unauthenticated connections: above the number of containers starting at once, and a
bound on memory for floods."""


def proof(secret: str, nonce: str) -> str:
    """Answer to a nonce, computable only with the secret."""
    return hmac.new(secret.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def _line(data: dict[str, Any]) -> bytes:
    return (json.dumps(data) + "\n").encode()


@dataclass(slots=True)
class JsonLineSocket:
    """Whole lines of a socket, as JSON objects."""

    sock: socket.socket
    _data: bytes = b""

    def receive(self) -> list[dict[str, Any]] | None:
        """Received objects; None at the end of the connection, or for invalid data."""
        try:
            new = self.sock.recv(LINE_BYTES_MAX)
        except BlockingIOError:
            return []
        except OSError:
            return None
        *lines, self._data = (self._data + new).split(b"\n")
        if not new or len(self._data) > LINE_BYTES_MAX:
            return None
        try:
            objects = [json.loads(line) for line in lines]
        except ValueError:
            return None
        return objects if all(isinstance(message, dict) for message in objects) else None

    def close(self) -> None:
        """End the connection."""
        self.sock.close()

    def send(self, data: dict[str, Any]) -> None:
        """Send one object; a broken connection is detected by reading."""
        try:
            self.sock.sendall(_line(data))
        except OSError:
            pass


@dataclass(slots=True)
class _Connection:
    """One connection at the driver."""

    channel: JsonLineSocket
    nonce: str
    container: int | None = None


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A task's message; `data` is None at the end of its connection."""

    container: int
    data: dict[str, Any] | None


@dataclass
class ChannelServer:
    """The driver's end of all connections."""

    host: str
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    _connections: dict[socket.socket, _Connection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((self.host, 0))
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    @property
    def address(self) -> tuple[str, int]:
        """Where tasks connect to."""
        return self.host, self._listener.getsockname()[1]

    def also_watch(self, number: int) -> None:
        """Let `serve` return when this file descriptor is readable."""
        self._selector.register(number, selectors.EVENT_READ)

    def serve(self, wait_secs: float) -> list[TaskMessage]:
        """What tasks say, waiting for the first for at most `wait_secs`."""
        messages: list[TaskMessage] = []
        for key, _ in self._selector.select(wait_secs):
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj in self._connections:
                messages += self._receive(self._connections[key.fileobj])
        return messages

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        unauthenticated = [
            connection for connection in self._connections.values() if connection.container is None
        ]
        if len(unauthenticated) >= UNAUTHENTICATED_MAX:
            self._drop(unauthenticated[0])
        sock.setblocking(False)
        connection = _Connection(JsonLineSocket(sock), secrets.token_hex(16))
        self._connections[sock] = connection
        self._selector.register(sock, selectors.EVENT_READ)
        connection.channel.send({"nonce": connection.nonce})

    def _receive(self, connection: _Connection) -> list[TaskMessage]:
        objects = connection.channel.receive()
        if objects is None:
            self._drop(connection)
            return [] if connection.container is None else [TaskMessage(connection.container, None)]
        is_new = connection.container is None
        if objects and is_new and not self._authenticate(connection, objects[0]):
            self._drop(connection)
            return []
        container = connection.container
        return [] if container is None else [TaskMessage(container, data) for data in objects]

    def _authenticate(self, connection: _Connection, hello: dict[str, Any]) -> bool:
        given, container = hello.get("proof"), hello.get("container")
        wanted = proof(self.secret, connection.nonce)
        if not isinstance(given, str) or not isinstance(container, int):
            return False
        if not hmac.compare_digest(given.encode(), wanted.encode()):
            return False
        # An earlier attempt of the same container that still lives has to make room.
        for earlier in self._of(container):
            self._drop(earlier)
        connection.container = container
        return True

    def _drop(self, connection: _Connection) -> None:
        sock = connection.channel.sock
        self._selector.unregister(sock)
        self._connections.pop(sock, None)
        sock.close()

    def send(self, container: int, data: dict[str, Any]) -> bool:
        """Say something to a container's task; False if it is not connected."""
        connections = self._of(container)
        for connection in connections:
            connection.channel.send(data)
        return bool(connections)

    def _of(self, container: int) -> list[_Connection]:
        return [each for each in self._connections.values() if each.container == container]

    def end_all(self) -> None:
        """Tell all containers to end in order."""
        for connection in self._connections.values():
            connection.channel.send({"end": True})

    def close(self) -> None:
        """Close all connections: remaining containers end."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._selector.close()
        self._listener.close()


def connect(address: tuple[str, int], secret: str, hello: dict[str, Any]) -> JsonLineSocket:
    """A task's authenticated connection; OSError without a driver."""
    channel = JsonLineSocket(socket.create_connection(address, CONNECT_SECS))
    objects: list[dict[str, Any]] | None = []
    while not objects:
        objects = channel.receive()
        if objects is None:
            channel.close()
            raise ConnectionError(f"{address[0]}:{address[1]} is not the driver")
    channel.sock.settimeout(None)
    channel.send({**hello, "proof": proof(secret, str(objects[0].get("nonce")))})
    return channel
