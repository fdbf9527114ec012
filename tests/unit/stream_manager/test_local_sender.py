"""LocalSender keeps what is sent to an instance whose second connection is not made yet.

Found when one of twenty runs on a busy machine lost its first tuples: the instance's Hello had come
on its control connection before its data connection was greeted.
"""

import time
from collections.abc import Iterator

import pytest
import zmq

from heron_engine.stream_manager.local_sender import RETRY_LIMIT_SECS, LocalSender
from heron_io.transport import DATA, connect_local, identity, local_router

NAME = identity(DATA, 1, 7)
DEADLINE_SECS = 20.0


@pytest.fixture
def context() -> Iterator["zmq.Context[zmq.Socket[bytes]]"]:
    """A context whose sockets are closed at the end."""
    made: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    yield made
    made.destroy(linger=0)


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A short path for a socket: it may have 107 characters."""
    return str(tmp_path_factory.mktemp("s") / "s")


def test_what_is_sent_before_the_connection_arrives_in_order(
    context: "zmq.Context[zmq.Socket[bytes]]", path: str
) -> None:
    """The first tuples are there before the instance's data connection is."""
    with local_router(context, path) as router:
        sender = LocalSender(router)
        for number in range(3):
            sender.send(NAME, [b"%d" % number])
        assert sender.waiting
        with connect_local(context, path, NAME) as dealer:
            deadline = time.monotonic() + DEADLINE_SECS
            while sender.waiting:
                assert time.monotonic() < deadline
                router.poll(1)
                sender.retry(0.0)
            sender.send(NAME, [b"3"])
            assert dealer.poll(DEADLINE_SECS * 1000)
            assert [dealer.recv() for _ in range(4)] == [b"0", b"1", b"2", b"3"]


def test_what_is_sent_to_the_dead_is_dropped_after_a_while(
    context: "zmq.Context[zmq.Socket[bytes]]", path: str
) -> None:
    """An instance was killed: nobody comes under its name any more, nothing is kept for ever."""
    with local_router(context, path) as router:
        sender = LocalSender(router)
        now = time.monotonic()
        sender.send(NAME, [b"lost"])
        sender.retry(now)
        assert sender.waiting
        sender.retry(now + RETRY_LIMIT_SECS + 1.0)
        assert not sender.waiting
