"""The line between the driver and the task of each container: told ends and orders.

A task connects to the driver's one socket, proves that it knows the application's secret, and says
which container it is. From then on either side may say one JSON object a line. The connection is a
lifeline as well: when it ends, whatever ended it, the container ends. Standard library alone: the
other end runs before anything of ours is unpacked.
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
STRANGERS_MAX = 256
"""Connections that have not proved anything yet; a topology has fewer containers that start at
once, and whoever floods the socket gains no more memory than this."""


def proof(secret: str, nonce: str) -> str:
    """What only one who knows the secret can answer to a nonce."""
    return hmac.new(secret.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def _line(data: dict[str, Any]) -> bytes:
    return (json.dumps(data) + "\n").encode()


@dataclass(slots=True)
class Lines:
    """Whole lines of a socket, as JSON objects."""

    sock: socket.socket
    _data: bytes = b""

    def receive(self) -> list[dict[str, Any]] | None:
        """Those that have come; None at the end of the connection, or for what is no protocol."""
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
            found = [json.loads(each) for each in lines]
        except ValueError:
            return None
        return found if all(isinstance(each, dict) for each in found) else None

    def say(self, data: dict[str, Any]) -> None:
        """Send one object; a connection that is gone will be noticed by reading."""
        try:
            self.sock.sendall(_line(data))
        except OSError:
            pass


@dataclass(slots=True)
class _Caller:
    """One connection at the driver."""

    lines: Lines
    nonce: str
    container: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a task said; `data` is None when its connection has ended."""

    container: int
    data: dict[str, Any] | None


@dataclass
class Links:
    """The driver's end of all lines."""

    host: str
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    _callers: dict[socket.socket, _Caller] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._door = socket.create_server((self.host, 0))
        self._door.setblocking(False)
        self._selector.register(self._door, selectors.EVENT_READ)

    @property
    def address(self) -> tuple[str, int]:
        """Where tasks connect to."""
        return self.host, self._door.getsockname()[1]

    def also_watch(self, number: int) -> None:
        """Let `serve` return when this file descriptor is readable."""
        self._selector.register(number, selectors.EVENT_READ)

    def serve(self, wait_secs: float) -> list[Told]:
        """What tasks say, waiting for the first for at most `wait_secs`."""
        found: list[Told] = []
        for key, _ in self._selector.select(wait_secs):
            if key.fileobj is self._door:
                self._accept()
            elif key.fileobj in self._callers:
                found += self._hear(self._callers[key.fileobj])
        return found

    def _accept(self) -> None:
        try:
            sock, _ = self._door.accept()
        except OSError:
            return
        strangers = [each for each in self._callers.values() if each.container is None]
        if len(strangers) >= STRANGERS_MAX:
            self._forget(strangers[0])
        sock.setblocking(False)
        caller = _Caller(Lines(sock), secrets.token_hex(16))
        self._callers[sock] = caller
        self._selector.register(sock, selectors.EVENT_READ)
        caller.lines.say({"nonce": caller.nonce})

    def _hear(self, caller: _Caller) -> list[Told]:
        found = caller.lines.receive()
        if found is None:
            self._forget(caller)
            return [] if caller.container is None else [Told(caller.container, None)]
        if found and caller.container is None and not self._let_in(caller, found[0]):
            self._forget(caller)
            return []
        container = caller.container
        return [] if container is None else [Told(container, each) for each in found]

    def _let_in(self, caller: _Caller, hello: dict[str, Any]) -> bool:
        given, container = hello.get("proof"), hello.get("container")
        wanted = proof(self.secret, caller.nonce)
        if not isinstance(given, str) or not isinstance(container, int):
            return False
        if not hmac.compare_digest(given.encode(), wanted.encode()):
            return False
        # An earlier attempt of the same container that still lives has to make room.
        for each in [each for each in self._callers.values() if each.container == container]:
            self._forget(each)
        caller.container = container
        return True

    def _forget(self, caller: _Caller) -> None:
        sock = caller.lines.sock
        self._selector.unregister(sock)
        self._callers.pop(sock, None)
        sock.close()

    def tell(self, container: int, data: dict[str, Any]) -> bool:
        """Say something to a container's task; False if it is not connected."""
        found = [each for each in self._callers.values() if each.container == container]
        for each in found:
            each.lines.say(data)
        return bool(found)

    def end_all(self) -> None:
        """Tell all containers to end in order."""
        for each in self._callers.values():
            each.lines.say({"end": True})

    def close(self) -> None:
        """Let all lines go: what still runs there ends."""
        for each in list(self._callers.values()):
            self._forget(each)
        self._selector.close()
        self._door.close()


def connect(address: tuple[str, int], secret: str, hello: dict[str, Any]) -> Lines:
    """A task's end, once it has proved itself; OSError if there is no driver there."""
    lines = Lines(socket.create_connection(address, CONNECT_SECS))
    found: list[dict[str, Any]] | None = []
    while not found:
        found = lines.receive()
        if found is None:
            lines.sock.close()
            raise ConnectionError(f"{address[0]}:{address[1]} is not the driver")
    lines.sock.settimeout(None)
    lines.say({**hello, "proof": proof(secret, str(found[0].get("nonce")))})
    return lines
