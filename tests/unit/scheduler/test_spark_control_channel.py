"""Driver and tasks: who is let in, what is sent, and that the end is noticed."""

import json
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from heron_engine.scheduler.backends.spark.control_channel import (
    LINE_BYTES_MAX,
    ChannelServer,
    JsonLineSocket,
    TaskMessage,
    connect,
    proof,
)

HELLO = {"container": 2, "host": "far"}
WAIT_SECS = 5.0


Connected = Callable[[], JsonLineSocket]


@pytest.fixture
def server() -> Iterator[ChannelServer]:
    """The driver's end."""
    made = ChannelServer("127.0.0.1")
    yield made
    made.close()


@pytest.fixture
def connected(server: ChannelServer) -> Iterator[Connected]:
    """Makes a task's end whose hello was told."""
    found: list[JsonLineSocket] = []

    def connect_one() -> JsonLineSocket:
        task = threading.Thread(
            target=lambda: found.append(connect(server.address, server.secret, HELLO))
        )
        task.start()
        told = served(server)
        task.join()
        assert told[0].data is not None
        assert told == [TaskMessage(2, {**HELLO, "proof": told[0].data["proof"]})]
        return found[-1]

    yield connect_one
    for each in found:
        each.sock.close()


def served(server: ChannelServer) -> list[TaskMessage]:
    """The next things told."""
    for _ in range(100):
        if found := server.serve(WAIT_SECS / 100):
            return found
    raise AssertionError("nothing was told")


def closed(server: ChannelServer, sock: socket.socket) -> bool:
    """Whether the driver has closed a connection."""
    sock.settimeout(0.01)
    for _ in range(500):
        server.serve(0.01)
        try:
            if not sock.recv(65536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def test_hello_comes_first_then_what_the_task_says(
    server: ChannelServer, connected: Connected
) -> None:
    task = connected()
    task.send({"ended": 4})
    assert served(server) == [TaskMessage(2, {"ended": 4})]


def test_an_order_to_end_reaches_the_task(server: ChannelServer, connected: Connected) -> None:
    task = connected()
    server.end_all()
    assert task.receive() == [{"end": True}]


def test_an_order_to_one_task(server: ChannelServer, connected: Connected) -> None:
    """Whether there is somebody to hear it is known at once."""
    task = connected()
    assert server.send(2, {"restart": True})
    assert task.receive() == [{"restart": True}]
    assert not server.send(3, {"restart": True})


def test_the_end_of_a_task_is_told(server: ChannelServer, connected: Connected) -> None:
    task = connected()
    task.sock.close()
    assert served(server) == [TaskMessage(2, None)]


def test_the_end_of_the_driver_is_noticed(server: ChannelServer, connected: Connected) -> None:
    task = connected()
    server.close()
    assert task.receive() is None


def test_a_later_attempt_replaces_an_earlier(server: ChannelServer, connected: Connected) -> None:
    """Whose task was abandoned elsewhere is told so by the end of its line."""
    first = connected()
    second = connected()
    assert first.receive() is None
    server.end_all()
    assert second.receive() == [{"end": True}]


def wrong_proof(nonce: str) -> bytes:
    return json.dumps({**HELLO, "proof": proof("wrong", nonce)}).encode() + b"\n"


@pytest.mark.parametrize(
    "answer",
    [
        wrong_proof,
        lambda nonce: b'{"container": 2}\n',
        lambda nonce: b'{"container": "2", "proof": 7}\n',
        lambda nonce: b"GET / HTTP/1.1\r\n\r\n",
        lambda nonce: b"[]\n",
        lambda nonce: b"x" * (2 * LINE_BYTES_MAX),
    ],
)
def test_strangers_are_not_let_in(server: ChannelServer, answer: Callable[[str], bytes]) -> None:
    with socket.create_connection(server.address, WAIT_SECS) as stranger:
        server.serve(WAIT_SECS)
        nonce = json.loads(stranger.recv(1000))["nonce"]
        stranger.sendall(answer(nonce))
        assert closed(server, stranger)


def test_a_proof_serves_once(server: ChannelServer) -> None:
    """What was overheard on one connection opens no other."""
    with (
        socket.create_connection(server.address, WAIT_SECS) as first,
        socket.create_connection(server.address, WAIT_SECS) as second,
    ):
        server.serve(WAIT_SECS)
        server.serve(0.1)
        nonce = json.loads(first.recv(1000))["nonce"]
        overheard = json.dumps({**HELLO, "proof": proof(server.secret, nonce)}).encode() + b"\n"
        second.sendall(overheard)
        assert closed(server, second)


def test_nobody_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()
    with pytest.raises(OSError, match="refused"):
        connect(address, "secret", HELLO)
