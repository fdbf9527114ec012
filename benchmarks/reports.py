"""Reports of a benchmark's components to the benchmark: JSON over a unix socket.

The topology's config names the socket (`benchmark.reports`). A report is one connection: its sender
writes one JSON object and closes. A component reports a handful of times in its life, never in the
path of every tuple. Only the standard library is used, because measured processes import the
module.
"""

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

SOCKET_KEY = "benchmark.reports"
"""Config key: path of the socket."""
COUNT_KEY = "benchmark.count"
"""Config key: how many tuples the spout emits."""
CHUNK_BYTES = 1 << 20
ACCEPT_BACKLOG = 256
"""Connections that may wait: more than any benchmark has instances."""


def report(config: Mapping[str, Any], kind: str, **fields: Any) -> None:
    """Send one report with its time (CLOCK_MONOTONIC seconds); OSError without a listener."""
    record = {"kind": kind, "at": time.monotonic(), **fields}
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(str(config[SOCKET_KEY]))
        sender.sendall(json.dumps(record).encode())


def tracked(config: Mapping[str, Any]) -> bool:
    """Whether the topology runs with acks."""
    return config.get("topology.reliability.mode") == "ATLEAST_ONCE"


class Listener:
    """Where the reports arrive."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen(ACCEPT_BACKLOG)

    def receive(self, timeout_seconds: float) -> dict[str, Any] | None:
        """The next report, or None after the timeout."""
        self._socket.settimeout(timeout_seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            return None
        with connection:
            record: dict[str, Any] = json.loads(_read_all(connection))
            return record

    def close(self) -> None:
        """Take no more."""
        self._socket.close()


def _read_all(connection: socket.socket) -> bytes:
    chunks = []
    while chunk := connection.recv(CHUNK_BYTES):
        chunks.append(chunk)
    return b"".join(chunks)
