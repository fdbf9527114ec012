"""The servers' loop: who gets in, when the timer is due, how it ends."""

import os
import time
from collections.abc import Callable, Iterator

import pytest
import zmq

from heron_core.exit_codes import ExitCode
from heron_io.processes import SupervisorLink
from heron_io.security import Keys
from heron_io.server_loop import ServerEnd, ServerLoop
from heron_io.transport import connect_dealer

KEYS = Keys.new()
WAIT_SECS = 20.0


@pytest.fixture
def loop() -> Iterator[ServerLoop]:
    made = ServerLoop(KEYS, None, timer_secs=1.0)
    yield made
    made.close(linger_ms=0)


def polled_until(loop: ServerLoop, condition: Callable[[dict[object, int]], bool]) -> bool:
    """Whether it holds after one of the polls until the deadline."""
    deadline = time.monotonic() + WAIT_SECS
    while time.monotonic() < deadline:
        if condition(loop.poll(0.05)):
            return True
    return False


def test_who_has_the_key_is_heard_and_others_are_counted(loop: ServerLoop) -> None:
    router, address = loop.tcp_router("127.0.0.1", 0, 1000)
    with zmq.Context() as context:
        friend = connect_dealer(context, address, 0, KEYS)
        friend.send(b"hello")
        received: list[list[bytes]] = []

        def is_heard(ready: dict[object, int]) -> bool:
            received.extend(loop.received(router, ready, 10))
            return bool(received)

        assert polled_until(loop, is_heard)
        assert received[0][1] == b"hello"
        assert loop.connections["refused"] == 0
        stranger = connect_dealer(context, address, 0, Keys.new())
        assert polled_until(loop, lambda ready: loop.connections["refused"] > 0)
        for each in (friend, stranger):
            each.close(linger=0)


def test_it_ends_with_its_parent() -> None:
    """A supervisor is killed: its end of the lifeline is closed, whatever killed it."""
    theirs, ours = os.pipe()
    loop = ServerLoop(KEYS, SupervisorLink(theirs), timer_secs=1.0)
    assert loop.poll(0.0) == {}
    assert loop.end is None
    os.close(ours)
    loop.poll(WAIT_SECS)
    loop.stop("SIGTERM", 0)
    assert loop.close(linger_ms=0) == ServerEnd("the parent process is gone", ExitCode.ORPHANED)
    os.close(theirs)


def test_whoever_stops_it_need_not_wait_for_its_timer(loop: ServerLoop) -> None:
    loop.stop("SIGTERM")
    assert loop.poll(10 * WAIT_SECS)


def test_a_timer_that_is_to_come_sooner_does(loop: ServerLoop) -> None:
    assert loop.is_timer_due(100.0)
    loop.timer_secs = 0.5
    assert loop.until_timer_secs(100.25) == 0.25
    assert loop.is_timer_due(100.5)


def test_the_timer_is_due_at_once_and_then_after_its_interval(loop: ServerLoop) -> None:
    assert loop.is_timer_due(100.0)
    assert not loop.is_timer_due(100.9)
    assert loop.until_timer_secs(100.75) == 0.25
    assert loop.is_timer_due(101.0)
    assert loop.until_timer_secs(500.0) == 0.0


def test_a_rest_is_over_when_the_server_is_to_end(loop: ServerLoop) -> None:
    loop.stop("SIGTERM")
    began = time.monotonic()
    loop.rest(WAIT_SECS)
    assert time.monotonic() - began < WAIT_SECS
