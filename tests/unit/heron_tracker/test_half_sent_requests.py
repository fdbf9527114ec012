"""Clients that send half a request: however many there are, others are answered."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
import uvicorn

from heron_io import request_protocol
from heron_tracker.options import CONNECTIONS_MAX
from heron_tracker.server import TrackerProtocol

SECS = 60.0
HALVES = (b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhal", b"")


async def _app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@contextmanager
def serving() -> Iterator[int]:
    """A server as that of `heronpy ui` takes requests; its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    config = uvicorn.Config(
        _app, http=TrackerProtocol, limit_concurrency=CONNECTIONS_MAX, lifespan="off",
        log_config=None, ws="none", timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(SECS)
        listener.close()


def answered(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), SECS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return client.recv(12)


def test_210_half_sent_requests_lock_nobody_out() -> None:
    with serving() as port:
        held = []
        for number in range(CONNECTIONS_MAX + 10):
            client = socket.create_connection(("127.0.0.1", port), SECS)
            client.sendall(HALVES[number % len(HALVES)])
            held.append(client)
        assert answered(port) == b"HTTP/1.1 204"
        for client in held:
            client.close()


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, half: bytes) -> None:
    monkeypatch.setattr(request_protocol, "REQUEST_SECS", 0.05)
    with serving() as port, socket.create_connection(("127.0.0.1", port), SECS) as client:
        client.sendall(half)
        try:
            assert client.recv(1) == b""
        except ConnectionResetError:
            pass
