"""Storm's multi-lang protocol from the host's side: framing in JSON and msgpack, pipes, children.

Sources: docs/Multilang-protocol.md, JsonSerializer.java and ShellProcess.java of Apache Storm;
msgpack framing as pystorm's msgpack_serializer.py expects. The host is lean on purpose, to measure
the protocol and the children: it never blocks on a pipe, parses all messages of one read in one
call and writes the pending messages of a child in one call.
"""

import fcntl
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import msgpack

# The largest pipe of an ordinary process in Linux (/proc/sys/fs/pipe-max-size).
PIPE_BYTES = 1024 * 1024
READ_BYTES = 1024 * 1024
END = b"\nend\n"


class Codec(Protocol):
    """Framing of a child; keeps the bytes of an incomplete message."""

    def encode(self, message: dict[str, Any]) -> bytes:
        """The bytes of a message to the child."""

    def decode(self, data: bytes) -> Sequence[Any]:
        """The messages completed by `data`."""


class JsonCodec:
    """JSON text, a newline, `end`, a newline."""

    def __init__(self) -> None:
        self._partial = b""
        self._dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

    def encode(self, message: dict[str, Any]) -> bytes:
        """The bytes of a message to the child."""
        return self._dumps(message).encode() + END

    def decode(self, data: bytes) -> Sequence[Any]:
        """The complete messages, parsed as one JSON list."""
        complete, end, self._partial = (self._partial + data).rpartition(END)
        if not end:
            return ()
        # A newline inside a JSON string is escaped, so END always ends a message.
        messages: list[Any] = json.loads(b"[" + complete.replace(END, b",") + b"]")
        return messages


class MsgpackCodec:
    """Consecutive bare msgpack objects."""

    def __init__(self) -> None:
        self._unpacker = msgpack.Unpacker()
        self.encode = msgpack.Packer(autoreset=True).pack

    def decode(self, data: bytes) -> Sequence[Any]:
        """The messages completed by `data`."""
        self._unpacker.feed(data)
        return list(self._unpacker)


CODECS: dict[str, type[JsonCodec] | type[MsgpackCodec]] = {
    "json": JsonCodec,
    "msgpack": MsgpackCodec,
}


class ChildEndedError(Exception):
    """A child closed its output too early."""


class Child:
    """One pystorm process with its task id; messages are collected until `flush`."""

    def __init__(self, component: str, task: int, serializer: str) -> None:
        self.component = component
        self.task = task
        self._codec: Codec = CODECS[serializer]()
        self._encode = self._codec.encode
        self._outgoing: list[bytes] = []
        module = "benchmarks.peers.pystorm_components"
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, component, serializer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        for pipe in (self._input, self._output):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            os.set_blocking(pipe.fileno(), False)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Have the selector report when the child has written."""
        selector.register(self._output, selectors.EVENT_READ, self)

    def send(self, message: dict[str, Any]) -> None:
        """Append a message for the next flush."""
        self._outgoing.append(self._encode(message))

    def flush(self) -> bool:
        """Write as much as the pipe takes; returns whether bytes are left."""
        if not self._outgoing:
            return False
        data = b"".join(self._outgoing)
        try:
            written = os.write(self._input.fileno(), data)
        except BlockingIOError:
            written = 0
        rest = data[written:]
        self._outgoing = [rest] if rest else []
        return bool(rest)

    def receive(self) -> Sequence[Any]:
        """Messages written by the child; raises ChildEndedError after its end."""
        data = os.read(self._output.fileno(), READ_BYTES)
        if not data:
            raise ChildEndedError(f"{self.component} (task {self.task}) ended too early")
        return self._codec.decode(data)

    def close(self) -> None:
        """End the child as Storm does, by closing its input, and wait for it."""
        self._input.close()
        os.set_blocking(self._output.fileno(), True)
        self._output.read()
        self._output.close()
        self._process.wait()


def handshake(child: Child, context: dict[str, Any], directory: str) -> dict[str, Any]:
    """The first message to a child, answered with its process id."""
    own = {"taskid": child.task, "componentid": child.component}
    return {
        # With a log path pystorm logs to a file instead of through the pipe.
        "conf": {"topology.name": "word_count", "pystorm.log.path": directory},
        "pidDir": directory,
        "context": {**context, **own},
    }
