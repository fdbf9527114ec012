"""Two stream managers want to serve one container: the one that lives stays."""

import pytest

from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.membership import Membership, RegisteredStreamManager

TAKEOVER_SECS = 3.0


def offered(membership: Membership, sender: bytes, now: float) -> list[events.Instruction]:
    """What a registration for container 1 leads to."""
    registration = messages.RegisterStreamManager(
        container=1, incarnation=int(sender), address="tcp://1", host="here", pid=7, epoch=0
    )
    out: list[events.Instruction] = []
    membership.offer(RegisteredStreamManager(sender, registration, now), out)
    return out


@pytest.fixture
def membership() -> Membership:
    """Container 1 is served by the process "1"; "2" registers for it at 100 s."""
    made = Membership(TAKEOVER_SECS)
    offered(made, b"1", 0.0)
    assert events.Send(b"1", messages.Ping()) in offered(made, b"2", 100.0)
    return made


def test_a_stream_manager_that_is_asked_has_some_seconds_to_answer(membership: Membership) -> None:
    assert membership.take_over(100.0 + TAKEOVER_SECS - 0.1, []) is None
    assert membership.registered[1].sender == b"1"
    out: list[events.Instruction] = []
    membership.pong(b"1", 1, out)
    (rejected,) = out
    assert isinstance(rejected, events.Send)
    assert (rejected.receiver, type(rejected.message)) == (b"2", messages.RegistrationRejected)
    assert membership.take_over(100.0 + 2 * TAKEOVER_SECS, []) is None


def test_the_other_one_takes_over_from_a_stream_manager_that_does_not_answer(
    membership: Membership,
) -> None:
    now = 100.0 + TAKEOVER_SECS
    taken = membership.take_over(now, [])
    assert taken is not None
    assert taken.sender == membership.registered[1].sender == b"2"
    assert membership.registered[1].since == now
    assert not membership.has_candidates


def test_a_stream_manager_is_silent_if_it_was_not_heard_of_for_longer(
    membership: Membership,
) -> None:
    assert membership.silent(5.0, 5.0) == set()
    assert membership.silent(5.0, 5.1) == {1}
