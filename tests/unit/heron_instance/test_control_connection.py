"""An instance tells a new stream manager at once who it is, however late it began to listen.

Found when a host woke up and its stream manager was killed: a bolt at rest was taken up with its
next report, ten seconds later, and the restore waited for it. Its first connection had been made
before the thread watched for connections, so that the second one was taken for the first.
"""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from heron_core.instance_report import NOTHING_REPORTED
from heron_core.wire import message_codec
from heron_core.wire.messages import BoltFinished, Resync
from heron_instance.control_thread import ControlThread
from heron_instance.events import Connected, ControlReceived
from heron_io.transport import CONTROL, identity, local_router, watch_local

NAME = identity(CONTROL, 1, 7)
DEADLINE_SECS = 30.0


class RestingCore:
    """Has nothing to report for as long as the test lasts."""

    @property
    def next_heartbeat(self) -> float:
        return time.monotonic() + 2 * DEADLINE_SECS

    def __init__(self) -> None:
        self.resynced = threading.Event()
        self.connected = threading.Event()
        self.identity = SimpleNamespace(task=1)
        self.control = SimpleNamespace(traces=list, report=lambda _: NOTHING_REPORTED, pace=None)

    def handle(self, event: Any, _: float) -> list[Any]:
        if isinstance(event, ControlReceived) and isinstance(event.message, Resync):
            self.resynced.set()
        if isinstance(event, Connected):
            self.connected.set()
        return []


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A short path for a socket: it may have 107 characters."""
    return str(tmp_path_factory.mktemp("s") / "s")


def test_a_second_stream_manager_is_told_though_the_first_was_connected_early(path: str) -> None:
    routers: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    own: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    core: Any = RestingCore()
    with local_router(routers, path) as first:
        dealer = watch_local(own, path, NAME)
        dealer.send(b"here I am")
        assert first.poll(int(DEADLINE_SECS * 1000)), "there is no connection"
    thread = ControlThread(core, own, dealer, lambda: None)
    thread.start()
    with local_router(routers, path) as second:
        assert core.resynced.wait(DEADLINE_SECS)
        thread.finish(DEADLINE_SECS)
        assert not thread.is_alive()
        assert second.poll(int(DEADLINE_SECS * 1000))
    routers.term()


def test_what_another_thread_says_is_sent_at_once(path: str) -> None:
    # The main thread of a bolt at rest says that it has finished, ten seconds before a report.
    routers: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    own: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    core: Any = RestingCore()
    with local_router(routers, path) as router:
        thread = ControlThread(core, own, watch_local(own, path, NAME), lambda: None)
        thread.start()
        assert core.connected.wait(DEADLINE_SECS)
        thread.send(BoltFinished(1))
        assert router.poll(int(DEADLINE_SECS * 1000))
        assert message_codec.decode(router.recv_multipart()[-1]) == BoltFinished(1)
        thread.finish(DEADLINE_SECS)
        assert not thread.is_alive()
    routers.term()
