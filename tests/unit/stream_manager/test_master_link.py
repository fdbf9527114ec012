"""How a stream manager finds the topology master, and the one after it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from heron_core.errors import StateStoreError
from heron_core.state_tree import master_path
from heron_io.known_master import KnownMaster
from heron_io.security import CurveAuthenticator, Keys
from heron_io.state_store.opening import open_store
from heron_io.transport import tcp_router
from stream_manager import events, master_link
from stream_manager.master_link import MasterLink

NAME = "Topology"
NOWHERE = "tcp://127.0.0.1:9"
DEADLINE_SECS = 40.0
POLL_MS = 10
BYTES_MAX = 1 << 20


class MasterProcess:
    """The socket of a master, until it is killed."""

    def __init__(self, keys: Keys) -> None:
        self._context: zmq.Context[Any] = zmq.Context()
        self._authenticator = CurveAuthenticator(self._context, keys)
        self.router, self.address = tcp_router(
            self._context, "127.0.0.1", 0, BYTES_MAX, self._authenticator
        )
        self._poller = zmq.Poller()
        for each in (self.router, *self._authenticator.sockets):
            self._poller.register(each, zmq.POLLIN)

    def heard(self) -> list[bytes] | None:
        """A message, if one is there."""
        ready: dict[Any, int] = dict(self._poller.poll(POLL_MS))
        self._authenticator.serve(ready, time.monotonic())
        return self.router.recv_multipart() if self.router in ready else None

    def kill(self) -> None:
        """The kernel closes its sockets."""
        self._context.destroy(linger=0)


@pytest.fixture
def keys() -> Keys:
    """Of the topology."""
    return Keys.new()


@pytest.fixture
def master(keys: Keys) -> Iterator[MasterProcess]:
    """Runs."""
    made = MasterProcess(keys)
    yield made
    made.kill()


Made = Callable[[zmq.Poller], MasterLink]


@pytest.fixture
def link_with(tmp_path: Path, keys: Keys) -> Iterator[Made]:
    """Makes the link of container 1."""
    context: zmq.Context[Any] = zmq.Context()
    known = KnownMaster(str(tmp_path / "local"))
    yield lambda poller: MasterLink(context, poller, keys, f"file://{tmp_path}", NAME, known)
    context.destroy(linger=0)


def test_a_killed_master_is_left_for_the_next_one_as_soon_as_that_is_there(
    tmp_path: Path, link_with: Made, master: MasterProcess
) -> None:
    poller = zmq.Poller()
    link, store = link_with(poller), open_store(f"file://{tmp_path}")
    assert link.look(0.0) is None, "there is no master yet"
    store.put(master_path(NAME), {"address": master.address})
    assert isinstance(link.look(1.0), events.MasterConnected)
    link.send(b"hello")
    deadline = time.monotonic() + DEADLINE_SECS
    while (heard := master.heard()) is None:
        assert time.monotonic() < deadline
    assert heard[1:] == [b"hello"]

    store.put(master_path(NAME), {"address": NOWHERE})
    assert not link.looks
    assert link.look(2.0) is None, "ours still answers"
    master.kill()
    while not link.looks:
        link.received(dict(poller.poll(POLL_MS)))
        assert time.monotonic() < deadline
    assert isinstance(link.look(3.0), events.MasterReplaced)
    link.disconnect()
    assert isinstance(link.look(4.0), events.MasterConnected)
    link.disconnect()
    link.close()
    store.close()


def test_without_a_state_store_the_master_is_where_it_was_last(
    tmp_path: Path, link_with: Made, master: MasterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stream manager dies while ZooKeeper is away: its successor serves all the same.
    known = KnownMaster(str(tmp_path / "local"))
    assert known.recall() is None
    known.remember({"address": master.address})

    def away(url: str) -> object:
        raise StateStoreError("no ZooKeeper answers")

    monkeypatch.setattr(master_link, "open_store", away)
    link = link_with(zmq.Poller())
    assert isinstance(link.look(0.0), events.MasterConnected)
    link.send(b"hello")
    deadline = time.monotonic() + DEADLINE_SECS
    while master.heard() is None:
        assert time.monotonic() < deadline
    link.disconnect()
