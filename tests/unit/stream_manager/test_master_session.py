"""Sessions of an instance or a stream manager with the topology master: what is counted in all of
them."""

from heron_core.wire.numbered_link import NumberedLink
from heron_engine.stream_manager.master_session import MasterSession


def test_what_was_sent_again_or_given_up_is_counted_over_all_sessions() -> None:
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
