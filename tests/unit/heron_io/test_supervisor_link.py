"""A child's connection with its supervisor: real pipes, which have room for 64 KiB."""

import os
from collections.abc import Iterator

import pytest

from heron_core.supervision import (
    HEARTBEAT,
    STATUS_PIPE_BYTES,
    PlanNotice,
    StatusReader,
    encode_message,
)
from heron_io.processes import SupervisorLink, start_heartbeat_thread

SMALL = {"packing": "small"}
LARGE = {"packing": "x" * 3 * STATUS_PIPE_BYTES}
"""More than a pipe holds: the plan of some thousand instances."""


class Pipe:
    """Both ends of a status pipe."""

    def __init__(self) -> None:
        self.readable, writable = os.pipe2(os.O_NONBLOCK)
        self.link = SupervisorLink(lifeline=-1, status_pipe=writable)
        self.reader = StatusReader()

    def read(self) -> list[PlanNotice]:
        """One read, as a supervisor does."""
        try:
            return self.reader.feed(os.read(self.readable, STATUS_PIPE_BYTES))
        except BlockingIOError:
            return []

    def close(self) -> None:
        """Give the file descriptors back."""
        assert self.link.status_pipe is not None
        os.close(self.readable)
        os.close(self.link.status_pipe)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe of its own."""
    made = Pipe()
    yield made
    made.close()


def test_a_process_that_sends_many_heartbeats_writes_few(pipe: Pipe) -> None:
    for _ in range(1000):
        pipe.link.heartbeat()
    assert len(os.read(pipe.readable, STATUS_PIPE_BYTES)) <= 2 * len(HEARTBEAT)


def test_a_small_message_is_there_at_once(pipe: Pipe) -> None:
    pipe.link.send(SMALL)
    assert pipe.read() == [PlanNotice(SMALL)]


def test_a_large_message_comes_with_later_heartbeats(pipe: Pipe) -> None:
    # The stream manager must not wait for its executor, which may be stopped.
    pipe.link.send(LARGE)
    pipe.link.send(SMALL)
    notices: list[PlanNotice] = []
    for _ in range(len(encode_message(LARGE)) // STATUS_PIPE_BYTES + 2):
        notices += pipe.read()
        pipe.link.heartbeat()
    assert notices == [PlanNotice(LARGE), PlanNotice(SMALL)]


def test_nothing_stands_in_the_middle_of_a_message(pipe: Pipe) -> None:
    # A reason that would be taken for a part of the plan is not said.
    pipe.link.send(LARGE)
    pipe.link.report("no database")
    pipe.link.request_reload()
    while pipe.read() == []:
        pipe.link.heartbeat()
    pipe.link.report("no memory")
    pipe.read()
    assert pipe.reader.reason == "no memory"


def test_a_supervisor_that_does_not_read_stops_nobody(pipe: Pipe) -> None:
    for _ in range(5):
        pipe.link.send(LARGE)
        pipe.link.report("x")
    assert len(os.read(pipe.readable, 2 * STATUS_PIPE_BYTES)) <= STATUS_PIPE_BYTES


def test_another_thread_takes_the_heartbeats_over(pipe: Pipe) -> None:
    lifeline, parents_end = os.pipe()
    pipe.link.lifeline = lifeline
    stop = start_heartbeat_thread(pipe.link)
    stop()
    os.close(parents_end)  # what would end the process if the thread were still there
    assert os.read(pipe.readable, STATUS_PIPE_BYTES) == HEARTBEAT
    os.close(lifeline)


def test_without_a_supervisor_nothing_is_said() -> None:
    link = SupervisorLink(lifeline=-1)
    link.heartbeat()
    link.send(LARGE)
    link.report("nobody hears it")
