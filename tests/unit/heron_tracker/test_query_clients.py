"""Questions of HTTP to topology masters share few connections."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from heron_core.errors import HeronError
from heron_io.state_store.file_store import FileStore
from heron_tracker.model.query_clients import QUERIES_AT_ONCE, QueryClients

MASTER, NEXT = ("here:1", "keys"), ("there:2", "keys")


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[QueryClients]:
    """Without a master: connections are made with the first command."""
    context = zmq.Context[Any]()
    with FileStore(str(tmp_path)) as store:
        yield QueryClients(store, context)
    context.term()


def test_a_question_takes_the_connection_of_the_one_before(clients: QueryClients) -> None:
    with clients.borrowed("words", MASTER) as first:
        pass
    with clients.borrowed("words", MASTER) as again:
        with clients.borrowed("words", MASTER) as beside:
            assert beside is not again
        assert again is first
    assert clients.idle == ["words", "words"]


def test_a_master_that_moved_gets_a_connection_of_its_own(clients: QueryClients) -> None:
    with clients.borrowed("words", MASTER) as old:
        pass
    with clients.borrowed("words", NEXT) as new:
        assert new is not old
        assert clients.idle == []


@pytest.mark.parametrize(("error", "idle"), [(HeronError("refused"), 1), (zmq.ZMQError(), 0)])
def test_a_broken_connection_is_not_used_again(
    clients: QueryClients, error: Exception, idle: int
) -> None:
    with pytest.raises(type(error)), clients.borrowed("words", MASTER):
        raise error
    assert len(clients.idle) == idle


def test_idle_connections_are_few_and_those_of_a_gone_topology_end(clients: QueryClients) -> None:
    for number in range(QUERIES_AT_ONCE + 3):
        with clients.borrowed(f"topology-{number}", MASTER):
            pass
    assert clients.idle == [f"topology-{number}" for number in range(3, QUERIES_AT_ONCE + 3)]
    clients.forget("topology-7")
    assert "topology-7" not in clients.idle
    assert len(clients.idle) == QUERIES_AT_ONCE - 1
