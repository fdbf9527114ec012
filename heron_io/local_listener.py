"""The listening end of a Unix socket: a stream manager's for instances, an instance's for clients.

One descriptor (`fileno()`, of an epoll) is readable if any connection has something to do, so the
connections can be polled together with zmq's sockets.
"""

import logging
import os
import select
import socket
from collections import deque
from collections.abc import Collection, Iterator

from heron_core.errors import ProtocolError
from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import (
    CONTROL,
    DATA,
    HELLO_BYTES,
    ConnectionName,
    parse_hello,
)
from heron_io.local_connection import (
    LocalConnection,
    LocalConnectionEnded,
    listening,
    scratch,
    widen,
)

log = logging.getLogger("stream_manager")

READ_AT_ONCE = 64
"""Connections that are read before other sockets get their turn; the kernel puts these behind the
waiting ones."""
_IN, _OUT = select.EPOLLIN, select.EPOLLIN | select.EPOLLOUT


class _UnnamedConnection:
    """A connection that has not sent its whole hello."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.hello = b""


class LocalListener:
    """Accepts connections; reads from all, sends to each by its name."""

    def __init__(
        self,
        path: str,
        channels: Collection[bytes] = (DATA, CONTROL),
        logger: logging.Logger = log,
    ) -> None:
        """`channels`: those of the accepted connections; others are cut."""
        self._log = logger
        self._path = path
        self._channels = channels
        self._listener = listening(path)
        self._inode = os.stat(path).st_ino
        self._poll = select.epoll()
        self._poll.register(self._listener, _IN)
        self._is_paused = False
        """Whether connections wait to be accepted until this process may open files again."""
        self._has_warned = False
        """Whether a warning was given since the last accepted connection."""
        self._scratch = scratch()
        self._unnamed: dict[int, _UnnamedConnection] = {}
        self._names: dict[int, ConnectionName] = {}
        self._connections: dict[ConnectionName, LocalConnection] = {}
        self.errors: deque[str] = deque()
        """Why connections were cut: bytes that are not messages. The reader removes the entries."""

    def fileno(self) -> int:
        """To be polled for input; then `received` has something to do."""
        return self._poll.fileno()

    def __len__(self) -> int:
        """Connections whose hello has arrived."""
        return len(self._connections)

    def received(self) -> Iterator[tuple[ConnectionName, Frames]]:
        """Messages that have arrived on up to READ_AT_ONCE connections; also continues waiting
        sends."""
        for descriptor, event in self._poll.poll(0, READ_AT_ONCE):
            if descriptor == self._listener.fileno():
                self._accept()
            elif descriptor in self._unnamed:
                self._greet(descriptor)
            elif (name := self._names.get(descriptor)) is not None:
                if event & select.EPOLLOUT:
                    self._flush(name)
                if name in self._connections:
                    for frames in self._read(name):
                        yield name, frames

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:  # its process has died
                continue
            except OSError as error:
                self._pause(error)
                return
            self._has_warned = False
            sock.setblocking(False)
            widen(sock)
            self._unnamed[sock.fileno()] = _UnnamedConnection(sock)
            self._poll.register(sock, _IN)
            self._greet(sock.fileno())

    def _pause(self, error: OSError) -> None:
        """Without descriptors or memory the kernel would report the listener at each poll."""
        if not self._has_warned:
            self._log.warning("cannot accept connections for now: %s", error)
            self._has_warned = True
        self._poll.unregister(self._listener)
        self._is_paused = True

    def resume(self) -> None:
        """Accept connections again after a failed `accept`; to be called now and then."""
        if self._is_paused:
            self._is_paused = False
            self._poll.register(self._listener, _IN)

    def _greet(self, descriptor: int) -> None:
        """Read the hello of a connection."""
        unnamed = self._unnamed[descriptor]
        try:
            data = unnamed.sock.recv(HELLO_BYTES - len(unnamed.hello))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        unnamed.hello += data
        if data and len(unnamed.hello) < HELLO_BYTES:
            return
        del self._unnamed[descriptor]
        try:
            if not data:
                raise ProtocolError(f"a connection that ended after {unnamed.hello!r}")
            name = parse_hello(unnamed.hello, self._channels)
        except ProtocolError as error:
            if unnamed.hello:  # else its process died before it sent a byte
                self.errors.append(str(error))
            self._poll.unregister(descriptor)
            unnamed.sock.close()
            return
        if name in self._connections:
            self.cut(name, "its process has opened another connection")
        self._names[descriptor] = name
        self._connections[name] = LocalConnection(unnamed.sock, self._scratch)

    def _read(self, name: ConnectionName) -> list[Frames]:
        connection = self._connections[name]
        try:
            messages = connection.receive()
        except LocalConnectionEnded as error:
            self.cut(name, str(error))
            return []
        if connection.error:
            self.cut(name, connection.error)
        return messages

    def send(self, name: ConnectionName, frames: Frames) -> bool:
        """Send a message, or keep the message until the receiver reads; False if there is no such
        connection. The windows of instances bound the kept messages."""
        connection = self._connections.get(name)
        if connection is None:
            return False
        is_first = not connection.unsent
        try:
            if not connection.send(frames) and is_first:
                self._poll.modify(connection.descriptor, _OUT)
        except LocalConnectionEnded as error:
            connection.unsent.pop()
            self.cut(name, str(error))
            return False
        return True

    def waiting(self, name: ConnectionName) -> int:
        """Messages for a receiver whose buffer in the kernel is full."""
        connection = self._connections.get(name)
        return 0 if connection is None else len(connection.unsent)

    def _flush(self, name: ConnectionName) -> None:
        connection = self._connections[name]
        try:
            if connection.flush():
                self._poll.modify(connection.descriptor, _IN)
        except LocalConnectionEnded as error:
            self.cut(name, str(error))

    def cut(self, name: ConnectionName, reason: str) -> None:
        """Close one connection. The registration of the process's successor shows the unprocessed
        messages, as the core knows the messages of each process."""
        connection = self._connections.pop(name)
        if connection.error:
            self.errors.append(connection.error)
        if connection.unsent or connection.unfinished_bytes:
            self._log.info(
                "the connection %r of task %d has ended (%s): dropped %d messages to the task "
                "and %d bytes of a message from it",
                name.channel.decode(),
                name.task,
                reason,
                len(connection.unsent),
                connection.unfinished_bytes,
            )
        del self._names[connection.descriptor]
        self._poll.unregister(connection.descriptor)
        connection.close()

    def close(self) -> None:
        """Close all connections; the file is removed unless a successor has put its own in
        place."""
        for connection in self._connections.values():
            connection.close()
        for unnamed in self._unnamed.values():
            unnamed.sock.close()
        self._connections.clear()
        self._unnamed.clear()
        self._names.clear()
        if not self._poll.closed:
            try:
                if os.stat(self._path).st_ino == self._inode:
                    os.unlink(self._path)
            except FileNotFoundError:
                pass
            self._poll.close()
            self._listener.close()
