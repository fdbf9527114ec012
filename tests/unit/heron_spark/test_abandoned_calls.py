"""Whether the worker that a host answers is gone while another one waits, on real sockets."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_spark.worker.abandoned_calls import ABANDONED_SECS, Attendance, CallPatience


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    """A host's socket."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "host"))
        made.listen()
        yield made


def worker(listening: socket.socket) -> socket.socket:
    """One that comes."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(listening.getsockname())
    return made


def test_a_call_is_abandoned_if_its_worker_is_gone_and_another_one_waits(
    listening: socket.socket,
) -> None:
    attendance, first = Attendance(listening), worker(listening)
    first.sendall(b"a batch that the host reads later")
    connection, _ = listening.accept()
    with connection, attendance.answering(connection):
        assert not attendance.is_abandoned()
        second = worker(listening)
        assert not attendance.is_abandoned(), "the first one is still there"
        first.close()
        assert attendance.is_abandoned()
    assert not attendance.is_abandoned(), "no worker is answered"
    second.close()


def test_a_call_whose_worker_is_gone_goes_on_as_long_as_no_other_one_waits(
    listening: socket.socket,
) -> None:
    attendance, only = Attendance(listening), worker(listening)
    connection, _ = listening.accept()
    only.close()
    with connection, attendance.answering(connection):
        assert not attendance.is_abandoned()
        with worker(listening):
            assert attendance.is_abandoned()


def test_a_call_has_some_seconds_and_the_next_one_has_them_again() -> None:
    patience = CallPatience(ABANDONED_SECS)
    assert not patience.is_over(True, 10.0)
    assert not patience.is_over(True, 10.0 + ABANDONED_SECS - 0.1)
    assert not patience.is_over(False, 10.0 + ABANDONED_SECS)
    assert not patience.is_over(True, 11.0 + ABANDONED_SECS)
    assert patience.is_over(True, 11.0 + 2 * ABANDONED_SECS)
