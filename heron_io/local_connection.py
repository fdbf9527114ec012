"""A Unix socket between an instance and its stream manager, used at both ends.

Non-blocking, without a thread: data not accepted by the kernel waits in `unsent`, as complete
messages in order, until the next `flush`.
"""

import mmap
import os
import select
import socket
from collections import deque

from heron_core.errors import HeronError
from heron_core.wire.frames import Frames, size_of
from heron_core.wire.local_stream import ConnectionName, MessageReader, encoded

BUFFER_BYTES = 1024 * 1024
"""Requested kernel buffer for each direction of a connection: the kernel grants at most the limit
of any process (net.core.wmem_max, 208 KiB on most machines, twice). An instance with a full buffer
waits for its stream manager.
"""
SCRATCH_BYTES = 256 * 1024
"""Size of a read."""
_PARTS_MAX = 1000
"""More parts of a message are joined first; the kernel takes at most 1024."""
_JOINED_BYTES = 64 * 1024
"""A message up to the size is joined: cheaper than passing its parts separately."""
_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_HANG_UP = select.POLLHUP | select.POLLERR
_DONT_WAIT = int(socket.MSG_DONTWAIT)
_NOT_CONNECTED = -1


class LocalConnectionEnded(HeronError):
    """The other end is gone, or has sent malformed bytes."""


def scratch() -> memoryview:
    """Shared by the readers of one thread. Memory is used as far as filled: an idle instance
    receives little, and has two buffers."""
    return memoryview(mmap.mmap(-1, SCRATCH_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class LocalConnection:
    """One end of a connection; after the end of the connection, messages are only queued."""

    def __init__(self, sock: socket.socket | None, buffer: memoryview) -> None:
        self._sock = sock
        self._reader = MessageReader(buffer)
        self._rest: list[bytes | memoryview] = []
        """Of the first message of `unsent`, of which the beginning has left."""
        self.unsent: deque[Frames] = deque()
        """Messages not accepted by the kernel, in order. The first may have left in part: without
        its end it has no effect.
        """
        self.is_drained = True
        """Whether the last `receive` has drained the socket."""
        self.is_up = sock is not None
        self.descriptor = _NOT_CONNECTED if sock is None else sock.fileno()

    def send(self, frames: Frames) -> bool:
        """Send a message after queued messages; whether everything was sent."""
        sock = self._sock
        if sock is not None and not self.unsent and size_of(frames) <= _JOINED_BYTES:
            data = b"".join(encoded(frames))
            try:
                written = sock.send(data, _FLAGS)
            except OSError:  # `flush` detects the error again
                written = 0
            if written == len(data):
                return True
            self._rest = [memoryview(data)[written:]]
        self.unsent.append(frames)
        return self.flush()

    def flush(self) -> bool:
        """Send waiting messages as far as the kernel accepts; returns whether all have left.

        LocalConnectionEnded if the other end is gone: all of `unsent` is still to be sent."""
        unsent = self.unsent
        while unsent:
            self._rest = self._write(self._rest or encoded(unsent[0]))
            if self._rest:
                return False
            unsent.popleft()
        return True

    def _write(self, parts: "list[bytes | memoryview] | list[bytes]") -> list[bytes | memoryview]:
        """The rest of some parts that the kernel does not take."""
        if self._sock is None:
            raise LocalConnectionEnded("not connected")
        some = parts if len(parts) <= _PARTS_MAX else [b"".join(parts)]
        try:
            written = self._sock.sendmsg(some, (), _FLAGS)
        except BlockingIOError:
            return list(some)
        except OSError as error:
            raise self._ended(str(error)) from error
        for index, part in enumerate(some):
            if written < len(part):
                return [memoryview(part)[written:], *some[index + 1 :]]
            written -= len(part)
        return []

    def receive(self) -> list[Frames]:
        """The messages completed by one read, possibly none.

        LocalConnectionEnded if the remote end is closed and all its data is received.
        """
        if self._sock is None:
            raise LocalConnectionEnded("not connected")
        buffers = self._reader.receive_buffers()
        try:
            if len(buffers) == 1:
                count = self._sock.recv_into(buffers[0], 0, _DONT_WAIT)
            else:
                count = self._sock.recvmsg_into(buffers, 0, _DONT_WAIT)[0]
        except BlockingIOError:
            self.is_drained = True
            return []
        except OSError as error:
            raise self._ended(str(error)) from error
        if not count:
            raise self._ended("the peer closed the connection")
        self.is_drained = count < sum(map(len, buffers))
        messages = self._reader.take(count)
        if self._reader.error and not messages:
            raise self._ended(self._reader.error)
        return messages

    @property
    def unfinished_bytes(self) -> int:
        """Of a message whose end has not come."""
        return self._reader.unfinished_bytes

    @property
    def error(self) -> str:
        """Why the received bytes are malformed; empty for a well-formed message."""
        return self._reader.error

    def _ended(self, reason: str) -> LocalConnectionEnded:
        """The remote end and each poll of the descriptor detect the end."""
        self.is_up = False
        self._rest = []
        if self._sock is not None:
            try:
                self._sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # closed by the remote end
                pass
        return LocalConnectionEnded(reason)

    def wait_until_writable(self, timeout_secs: float | None = None) -> None:
        """Wait until the kernel takes more, or the other end is gone."""
        waits = select.poll()
        waits.register(self.descriptor, select.POLLOUT)
        waits.poll(None if timeout_secs is None else max(1, int(timeout_secs * 1000)))

    def close(self) -> None:
        """Data accepted by the kernel still arrives. Repeatable."""
        self.is_up = False
        self.descriptor = _NOT_CONNECTED
        if self._sock is not None:
            self._sock.close()
            self._sock = None


def connected_local(path: str, name: ConnectionName, buffer: memoryview) -> LocalConnection | None:
    """A connection to the stream manager at `path`; None while not listening."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        widen(sock)
        sock.connect(path)
        sock.sendall(name.hello)  # an empty buffer accepts the hello
    except OSError:  # not started, ended, or too many pending connections
        sock.close()
        return None
    return LocalConnection(sock, buffer)


def widen(sock: socket.socket) -> None:
    """Let the kernel keep more of what is sent."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)


def listening(path: str) -> socket.socket:
    """A socket accessible only to the owner of its folder; the socket of a dead process is
    replaced."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    sock.bind(path)
    sock.listen(BACKLOG)
    return sock


BACKLOG = 1024
"""Connections that wait to be accepted: two of each instance of a container; the kernel may allow
fewer (net.core.somaxconn), and an instance that finds no place connects again."""
