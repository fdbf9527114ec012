"""The numbered link between a stream manager and its master, message by message."""

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire import numbered_link
from heron_core.wire.numbered_link import (
    ASK_AGAIN_SECS,
    NumberedLink,
    Packet,
    PacketHeader,
    decode_header,
)


def ends() -> tuple[NumberedLink[str], NumberedLink[str]]:
    """Both, at the beginning of a session."""
    return NumberedLink(7, 1), NumberedLink(7, 1)


def test_what_a_broken_connection_lost_is_asked_for_once_and_sent_again_in_order() -> None:
    here, there = ends()
    packets = [here.send(text) for text in ("a", "b", "c", "d")]
    assert there.take(packets[0], 0.0).message == "a"
    (request,) = there.take(packets[2], 0.0).answers
    assert there.take(packets[3], 0.0).answers == [], "asked already"
    again = here.take(request, 0.0).answers
    assert [there.take(each, 0.0).message for each in again] == ["b", "c", "d"]
    assert (here.resent, here.unacknowledged) == (3, 3)
    here.take(there.report(), 0.0)
    assert here.unacknowledged == 0


def test_a_request_that_is_lost_as_well_is_repeated() -> None:
    here, there = ends()
    here.send("lost")
    assert there.take(here.report(), 0.0).answers
    assert not there.take(here.report(), ASK_AGAIN_SECS / 2).answers
    assert there.take(here.report(), ASK_AGAIN_SECS).answers


def test_a_message_that_may_be_lost_is_delivered_without_a_number() -> None:
    here, there = ends()
    assert there.take(here.report("beat"), 0.0).message == "beat"
    assert here.unacknowledged == 0


def test_a_message_that_arrives_twice_is_handled_once() -> None:
    here, there = ends()
    packet = here.send("once")
    assert there.take(packet, 0.0).message == "once"
    assert there.take(packet, 0.0).message is None
    assert there.duplicates == 1


def test_an_end_that_forgot_its_session_is_noticed() -> None:
    # A master that was replaced by another one at the same address.
    here, there = ends()
    there.take(here.send("a"), 0.0)
    here.take(there.report(), 0.0)
    other: NumberedLink[str] = NumberedLink(7, 1)
    (request,) = other.take(here.send("b"), 0.0).answers
    here.take(request, 0.0)
    assert here.is_broken


def test_what_cannot_be_kept_any_more_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_link, "KEPT_MAX", 2)
    here, _ = ends()
    here.send("a")
    assert not here.is_full
    here.send("b")
    assert here.is_full


@pytest.mark.parametrize("data", [b"", b"x" * 32, b"\xff" + bytes(32), bytes(34)])
def test_bytes_that_are_no_header_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_header(data)


def test_a_header_survives_the_wire() -> None:
    header = PacketHeader(1 << 62, 3, 4, 5, is_numbered=True, resend=True)
    assert decode_header(header.encode()) == header
    assert Packet(header).message is None
