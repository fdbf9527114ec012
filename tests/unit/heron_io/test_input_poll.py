"""A thread that looks for input between two tuples does not disturb the turns of other threads.

Found by live queries of a bolt at full speed: 40 ms passed until its control thread ran, as each
look of the main thread, one in a millisecond, began Python's 5 ms anew.
"""

import os
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from heron_io.input_poll import InputPoll

LOOKS = 20_000
DEADLINE_SECS = 30.0


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Of a connection."""
    near, far = socket.socketpair()
    yield near, far
    near.close()
    far.close()


@pytest.fixture
def never_taken_away() -> Iterator[None]:
    """The interpreter stays with a thread until that lets go of it."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(2 * DEADLINE_SECS)
    yield
    sys.setswitchinterval(usual)


def test_it_sees_input_and_the_end(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    poll = InputPoll()
    assert not poll.has_input(near.fileno())
    far.send(b"?")
    assert poll.has_input(near.fileno())
    near.recv(1)
    assert not poll.has_input(near.fileno())
    far.close()
    assert poll.has_input(near.fileno())


def test_without_a_connection_there_is_no_input() -> None:
    assert not InputPoll().has_input(-1)


@pytest.mark.usefixtures("never_taken_away")
def test_a_look_keeps_the_interpreter(ends: tuple[socket.socket, socket.socket]) -> None:
    read_end, write_end = os.pipe()
    ran = threading.Event()

    def other() -> None:
        os.read(read_end, 1)
        ran.set()

    thread = threading.Thread(target=other)
    thread.start()
    poll, descriptor = InputPoll(), ends[0].fileno()
    os.write(write_end, b"!")  # it lets go itself: the other thread may run by that already
    before = ran.is_set()
    for _ in range(LOOKS):
        poll.has_input(descriptor)
    after = ran.is_set()
    thread.join(DEADLINE_SECS)
    os.close(read_end)
    os.close(write_end)
    assert before == after, "the other thread ran in the middle of the looks"
    assert ran.is_set()
