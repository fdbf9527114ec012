"""Sessions of an instance or a stream manager with the topology master: what is counted in all of
them."""

from heron_core.wire.numbered_link import NumberedLink
from heron_engine.stream_manager.master_session import MasterSession


def test_what_was_sent_again_or_lost_is_counted_over_all_sessions() -> None:
    session: MasterSession[str] = MasterSession(7)
    for number in (1, 2, 3):
        session.send("given up")
        session.send("given up as well")
        other_end: NumberedLink[str] = NumberedLink(7, number)
        again = session.take(other_end.report(resend=True), 0.0).answers
        assert [each.message for each in again] == ["given up", "given up as well"]
        assert session.statistics() == {
            "messages_resent": 2 * number,
            "messages_unsent": 2 * (number - 1),
        }
        session.renew()
        assert session.take(other_end.report(resend=True), 0.0).answers == []
    assert session.statistics() == {"messages_resent": 6, "messages_unsent": 6}


def test_a_master_at_another_address_has_another_session() -> None:
    session: MasterSession[str] = MasterSession(7)
    for address, expected in (("", 1), ("tcp://one", 1), ("tcp://one", 1), ("tcp://two", 2)):
        session.found(address)
        assert session.send("x").header.session == expected


def test_a_registration_that_is_on_its_way_is_not_sent_once_more() -> None:
    # A partition of a minute: 19 connections were opened, and 19 registrations arrived at its end.
    session: MasterSession[str] = MasterSession(7)
    session.found("tcp://one")
    assert session.begin_registration()
    session.send("register")
    session.send("heartbeat")
    for _ in range(19):
        session.found("tcp://one")
        assert not session.begin_registration()
    other_end: NumberedLink[str] = NumberedLink(7, 1)
    kept = session.take(other_end.report(resend=True), 0.0).answers
    assert [each.message for each in kept] == ["register", "heartbeat"]
    other_end.take(kept[0], 0.0)
    session.take(other_end.report(), 0.0)
    assert session.begin_registration(), "a master that is silent all the same may not know us"


def test_another_session_registers_anew() -> None:
    session: MasterSession[str] = MasterSession(7)
    session.found("tcp://one")
    for address in ("tcp://two", "tcp://three"):
        assert session.begin_registration()
        session.send("register")
        session.found(address)
    session.renew()
    assert session.begin_registration()
