"""A refused SASL login is told as such, at whichever moment a call is made.

The client is kazoo's own; only the connection to a server is missing. By kazoo's rules a refusal
ends the waiting calls, replaces the queue, and closes the client, all in the connection's thread. A
call that has passed the check of the state by then joins a queue without a reader.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import KeeperState

from heron_core.errors import StateStoreError
from heron_io.state_store import zookeeper
from heron_io.state_store.zookeeper import ZooKeeperStore

REFUSED = "refuses the user and password: correct HERONPY_ZOOKEEPER_SASL"
Refuse = Callable[[], None]


class LateQueue(deque[Any]):
    """The queue read by a caller, extended only after the refusal."""

    def __init__(self, refuse: Refuse) -> None:
        super().__init__()
        self._refuse = refuse

    def append(self, item: Any, /) -> None:
        self._refuse()
        super().append(item)


class Connection:
    """Socket of a server that accepts the connection, and refuses the user on request."""

    def __init__(self, client: KazooClient, on_connect: Refuse, on_call: Refuse) -> None:
        self._client = client
        self._on_connect = on_connect
        self._on_call = on_call
        self._write_sock = self

    def start(self) -> None:
        self._client._session_callback(KeeperState.CONNECTED)
        self._on_connect()

    def send(self, data: bytes) -> None:
        """A call is in the queue, and wakes the connection's thread."""
        self._on_call()

    def stop(self, timeout_secs: float) -> bool:
        return True

    def close(self) -> None:
        pass


def refuse(client: KazooClient) -> None:
    """As ConnectionHandler._connect_attempt, and then the end of its zk_loop."""
    client._session_callback(KeeperState.AUTH_FAILED)
    client._session_callback(KeeperState.CLOSED)


def refuse_before_a_call(client: KazooClient) -> Connection:
    return Connection(client, partial(refuse, client), lambda: None)


def refuse_a_call_that_waits(client: KazooClient) -> Connection:
    return Connection(client, lambda: None, partial(refuse, client))


def refuse_as_a_call_is_taken(client: KazooClient) -> Connection:
    client._queue = LateQueue(partial(refuse, client))
    return Connection(client, lambda: None, lambda: None)


def say_nothing(client: KazooClient) -> Connection:
    return Connection(client, lambda: None, lambda: None)


def error_of(monkeypatch: pytest.MonkeyPatch, server: Callable[[KazooClient], Connection]) -> str:
    """What is said of a store whose server behaves so."""

    def made(**options: Any) -> KazooClient:
        client = KazooClient(**options)
        client._connection = server(client)
        return client

    monkeypatch.setattr(zookeeper, "KazooClient", made)
    with pytest.raises(StateStoreError) as raised:
        ZooKeeperStore("127.0.0.1:1", "/heron", operation_timeout_ms=100)
    return str(raised.value)


@pytest.mark.parametrize(
    "server", [refuse_before_a_call, refuse_a_call_that_waits, refuse_as_a_call_is_taken]
)
def test_a_wrong_password_is_told_whenever_the_server_refuses_it(
    monkeypatch: pytest.MonkeyPatch, server: Callable[[KazooClient], Connection]
) -> None:
    assert error_of(monkeypatch, server).endswith(REFUSED)


def test_a_server_that_does_not_answer_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no ZooKeeper answers" in error_of(monkeypatch, say_nothing)
