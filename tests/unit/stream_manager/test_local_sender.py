"""LocalSender keeps messages to an instance before its second connection.

Found when one of twenty runs on a busy machine lost its first tuples: the instance's Hello had come
on its control connection before the data connection.
"""

import time
from collections.abc import Iterator

import pytest

from heron_core.wire.local_stream import DATA, ConnectionName
from heron_engine.stream_manager.local_sender import RETRY_LIMIT_SECS, LocalSender
from heron_io.local_channels import DataChannel
from heron_io.local_listener import LocalListener

NAME = ConnectionName(DATA, 1, 7)
DEADLINE_SECS = 20.0


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A short path for a socket: it may have 107 characters."""
    return str(tmp_path_factory.mktemp("s") / "s")


@pytest.fixture
def listener(path: str) -> Iterator[LocalListener]:
    """A stream manager's."""
    listener = LocalListener(path)
    yield listener
    listener.close()


def test_what_is_sent_before_the_connection_arrives_in_order(
    listener: LocalListener, path: str
) -> None:
    """The first tuples are ready before the instance's data connection."""
    sender = LocalSender(listener)
    for number in range(3):
        sender.send(NAME, [b"%d" % number])
    assert sender.waiting
    channel = DataChannel(path, NAME)
    deadline = time.monotonic() + DEADLINE_SECS
    while sender.waiting:
        assert time.monotonic() < deadline
        assert not list(listener.received())
        sender.retry(0.0)
    sender.send(NAME, [b"3"])
    assert [channel.receive() for _ in range(4)] == [[b"0"], [b"1"], [b"2"], [b"3"]]
    channel.close()


def test_what_is_sent_to_the_dead_is_dropped_after_a_while(listener: LocalListener) -> None:
    """An instance was killed: its name stays unused, and messages are not kept for ever."""
    sender = LocalSender(listener)
    now = time.monotonic()
    sender.send(NAME, [b"lost"])
    sender.retry(now)
    assert sender.waiting
    sender.retry(now + RETRY_LIMIT_SECS + 1.0)
    assert not sender.waiting
