"""An instance registers with a new stream manager at once, however late the listener started.

Found when a host woke up and its stream manager was killed: a bolt at rest was registered with its
next report, ten seconds later, and the restore waited. The first connection was older than the
thread's watch for connections, so the second was taken for the first.
"""

import os
import select
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from heron_core.instance_report import NOTHING_REPORTED
from heron_core.query_counts import QueryCounts
from heron_core.wire import message_codec
from heron_core.wire.local_stream import CONTROL, DATA, ConnectionName
from heron_core.wire.messages import BoltFinished, Resync, SpoutFinished
from heron_instance import control_thread
from heron_instance.control_thread import ControlThread
from heron_instance.events import Connected, ControlReceived
from heron_io.local_channels import ControlChannel, DataChannel
from heron_io.local_listener import LocalListener

NAME = ConnectionName(CONTROL, 1, 7)
DEADLINE_SECS = 30.0
YIELDS = 2000
"""Long enough for a main thread that does not wait to come back first."""


class RestingCore:
    """Has nothing to report for as long as the test lasts."""

    @property
    def next_heartbeat(self) -> float:
        return time.monotonic() + 2 * DEADLINE_SECS

    def __init__(self) -> None:
        self.resynced = threading.Event()
        self.connected = threading.Event()
        self.identity = SimpleNamespace(task=1)
        self.queries = SimpleNamespace(counts=QueryCounts())
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


@pytest.fixture
def data(path: str) -> Iterator[DataChannel]:
    """The main thread's, unused there."""
    data = DataChannel(path, ConnectionName(DATA, 1, 7))
    yield data
    data.close()


def thread_of(
    core: Any, path: str, data: DataChannel, control: ControlChannel | None = None
) -> ControlThread:
    """The control thread of an instance with this core; closes `control` at its end."""
    return ControlThread(core, data, control or ControlChannel(path, NAME), lambda: None, "words")


def said(listener: LocalListener) -> bytes:
    """The next control message."""
    end = time.monotonic() + DEADLINE_SECS
    while time.monotonic() < end:
        select.select([listener.fileno()], [], [], 0.1)
        for name, frames in listener.received():
            if name == NAME:
                return frames[0]
    raise AssertionError("nothing came")


def test_a_second_stream_manager_is_told_though_the_first_was_connected_early(
    path: str, data: DataChannel
) -> None:
    core: Any = RestingCore()
    first = LocalListener(path)
    thread = thread_of(core, path, data)
    first.close()
    thread.start()
    second = LocalListener(path)
    assert core.resynced.wait(DEADLINE_SECS)
    thread.finish(DEADLINE_SECS)
    assert not thread.is_alive()
    assert said(second)
    second.close()


def test_what_another_thread_says_is_sent_at_once(path: str, data: DataChannel) -> None:
    # The main thread of a bolt at rest says that it has finished, ten seconds before a report.
    core: Any = RestingCore()
    listener = LocalListener(path)
    thread = thread_of(core, path, data)
    thread.start()
    assert core.connected.wait(DEADLINE_SECS)
    thread.send(BoltFinished(1))
    assert message_codec.decode(said(listener)) == BoltFinished(1)
    thread.finish(DEADLINE_SECS)
    assert not thread.is_alive()
    listener.close()


def ask(listener: LocalListener) -> None:
    """A control message to the instance, once it is connected."""
    end = time.monotonic() + DEADLINE_SECS
    data = [message_codec.encode(Resync())]
    while not listener.send(NAME, data):
        assert time.monotonic() < end, "it does not connect"
        select.select([listener.fileno()], [], [], 0.1)
        list(listener.received())


def test_the_main_thread_takes_what_has_come_and_answers_without_the_other_thread(
    path: str, data: DataChannel
) -> None:
    # Python lets the control thread run 5 ms after its input has come, where user code is busy.
    core: Any = RestingCore()
    listener = LocalListener(path)
    control = ControlChannel(path, NAME)
    thread = thread_of(core, path, data, control)
    thread.poll()
    assert not core.resynced.is_set()
    ask(listener)
    thread.poll()
    assert core.resynced.is_set(), "no other thread has begun"
    thread.send_now(BoltFinished(1))
    assert message_codec.decode(said(listener)) == BoltFinished(1)
    control.close()
    listener.close()


def test_who_finds_the_control_thread_at_work_leaves_it_the_rest(
    path: str, data: DataChannel
) -> None:
    core: Any = RestingCore()
    listener = LocalListener(path)
    control = ControlChannel(path, NAME)
    thread = thread_of(core, path, data, control)

    def meanwhile(event: Any, _: float) -> list[Any]:
        core.resynced.set()
        thread.poll()
        thread.send_now(BoltFinished(1))
        return []

    core.handle = meanwhile
    ask(listener)
    thread.poll()
    assert core.resynced.is_set()
    thread.send_now(SpoutFinished(1, True))
    in_order: list[Any] = []
    end = time.monotonic() + DEADLINE_SECS
    while len(in_order) < 2 and time.monotonic() < end:
        select.select([listener.fileno()], [], [], 0.1)
        in_order += [message_codec.decode(frames[0]) for _, frames in listener.received()]
    assert in_order == [BoltFinished(1), SpoutFinished(1, True)]
    control.close()
    listener.close()


def test_the_main_thread_lets_the_control_thread_finish_what_it_has_begun(
    path: str, data: DataChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A query that the control thread has taken waited until the main thread let go of the
    # interpreter by chance.
    monkeypatch.setattr(control_thread, "TURN_WAIT_SECS", DEADLINE_SECS)
    core: Any = RestingCore()
    listener = LocalListener(path)
    thread = thread_of(core, path, data)
    has_begun, is_finished = threading.Event(), threading.Event()

    def slowly(event: Any, _: float) -> list[Any]:
        if isinstance(event, ControlReceived):
            has_begun.set()
            for _ in range(YIELDS):
                os.sched_yield()
            is_finished.set()
        return []

    core.handle = slowly
    thread.start()
    ask(listener)
    assert has_begun.wait(DEADLINE_SECS)
    thread.poll()
    assert is_finished.is_set()
    thread.finish(DEADLINE_SECS)
    assert not thread.is_alive()
    listener.close()
