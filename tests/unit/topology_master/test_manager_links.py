"""The master's ends of the links with its stream managers: a process is not its connection."""

from heron_core.wire.numbered_link import NumberedLink
from heron_engine.topology_master.manager_links import (
    FORGOTTEN_AFTER_SECS,
    ManagerLinks,
    is_manager,
    sender_of,
)


def test_a_stream_manager_with_another_connection_is_the_same_one() -> None:
    # Its connection was reset: what it and the master said meanwhile arrives, once.
    manager, links = NumberedLink[str](7, 1), ManagerLinks[str]()
    arrived = links.take(b"first", manager.send("register"), 0.0)
    assert (arrived.sender, arrived.message) == (sender_of(7), "register")
    manager.send("lost on its way")
    assert links.send(arrived.sender, "plan, lost as well", is_kept=True) is not None
    arrived = links.take(b"second", manager.report(resend=True), 1.0)
    assert arrived.sender == sender_of(7)
    assert {connection for connection, _ in arrived.packets} == {b"second"}
    answers = [manager.take(each, 1.0) for _, each in arrived.packets]
    assert [each.message for each in answers if each.message] == ["plan, lost as well"]
    again = [packet for each in answers for packet in each.answers]
    assert [links.take(b"second", each, 1.0).message for each in again] == ["lost on its way"]


def test_two_processes_of_one_container_are_told_apart() -> None:
    links = ManagerLinks[str]()
    one = links.take(b"one", NumberedLink[str](7, 1).send("register"), 0.0)
    other = links.take(b"other", NumberedLink[str](8, 1).send("register"), 0.0)
    assert one.sender != other.sender
    sent = links.send(one.sender, "rejected", is_kept=True)
    assert sent is not None
    assert sent[0] == b"one"


def test_what_is_left_of_an_older_session_is_ignored() -> None:
    links = ManagerLinks[str]()
    old = NumberedLink[str](7, 1).send("old")
    assert links.take(b"c", NumberedLink[str](7, 2).send("register"), 0.0).message == "register"
    assert links.take(b"c", old, 0.0).message is None


def test_a_master_that_forgot_a_stream_manager_asks_for_what_it_does_not_have() -> None:
    links, manager = ManagerLinks[str](), NumberedLink[str](7, 1)
    links.take(b"a", manager.send("register"), 0.0)
    manager.take(links.send(sender_of(7), "plan", is_kept=True)[1], 0.0)  # type: ignore[index]
    later = FORGOTTEN_AFTER_SECS + 1.0
    links.take(b"b", NumberedLink[str](8, 1).send("register"), later)
    assert links.send(sender_of(7), "gone", is_kept=True) is None
    ((_, request),) = links.take(b"a", manager.send("late"), later).packets
    manager.take(request, later)
    assert manager.is_broken


def test_a_command_is_no_stream_manager() -> None:
    assert is_manager(sender_of(0))
    assert not is_manager(b"\0\1\2\3\4")
