"""A link takes every message once and in order, whatever connections lose, repeat or reorder."""

from random import Random
from typing import TypeVar

import pytest

from heron_core.errors import ProtocolError
from heron_core.wire import links
from heron_core.wire.frames import Frames
from heron_core.wire.links import LinkHeader, encode_link, parse_link
from heron_engine.stream_manager import events
from heron_engine.stream_manager.link import (
    ACK_BYTES,
    ACK_SECS,
    AGAIN_SECS,
    PROBE_SECS,
    TRANSITIONS,
    Arrival,
    Incoming,
    LinkState,
    Outgoing,
)
from tests.transitions_seen import arrows, transitions_seen
from tests.unit.stream_manager.manager_support import (
    NEAR,
    PEER_INCARNATION,
    SPOUT,
    batch,
    link_frame,
    manager,
    of_type,
    to_peer,
)

T = TypeVar("T")

FAR = 3
FULL = 100


def sent(link: Outgoing, messages: int, now: float = 0.0) -> list[int]:
    """Number some messages and hand them to the socket; their numbers."""
    for _ in range(messages):
        link.number([(FAR, [b"x"])], 1, now)
    return transmitted(link)


def transmitted(link: Outgoing) -> list[int]:
    """What the socket is handed now."""
    numbers = []
    while (message := link.transmit()) is not None:
        numbers.append(message.number)
    link.validate()
    return numbers


def said(acked: int = 0, **changed: int) -> LinkHeader:
    """A link frame of the peer."""
    head = parse_link([link_frame(0, acked)])
    return head._replace(**changed)


def test_what_is_acknowledged_is_kept_no_longer() -> None:
    link = Outgoing(FULL)
    assert sent(link, 3) == [1, 2, 3]
    assert link.acknowledged(said(2), 0.1) == 0
    assert [frames for _, frames in link.kept()] == [[b"x"]]
    assert sent(link, 1) == [4]


def test_a_reported_gap_sends_everything_from_there_again_once() -> None:
    link = Outgoing(FULL)
    sent(link, 5)
    assert link.acknowledged(said(2, flags=links.GAP), 1.0) == 3
    assert transmitted(link) == [3, 4, 5]
    assert link.acknowledged(said(2, flags=links.GAP), 1.0 + AGAIN_SECS / 2) == 0
    assert link.acknowledged(said(2, flags=links.GAP), 1.0 + AGAIN_SECS) == 3


def test_the_echo_of_a_probe_shows_that_the_last_messages_were_lost() -> None:
    link = Outgoing(FULL)
    sent(link, 2)
    assert link.probe(PROBE_SECS / 2) == 0
    probe = link.probe(PROBE_SECS)
    assert probe == 1
    assert link.acknowledged(said(1, echo=probe), 0.4) == 1
    assert transmitted(link) == [2]


def test_an_echo_that_acknowledges_all_sends_nothing_again() -> None:
    link = Outgoing(FULL)
    sent(link, 2)
    probe = link.probe(PROBE_SECS)
    sent(link, 1)
    assert link.acknowledged(said(2, echo=probe), 0.4) == 0
    assert transmitted(link) == []


def test_probes_become_rarer_and_begin_anew_with_an_acknowledgement() -> None:
    link = Outgoing(FULL)
    sent(link, 2)
    probed_at = [tick / 8 for tick in range(40) if link.probe(tick / 8)]
    assert probed_at == [0.375, 1.0, 2.0, 3.0, 4.0]
    link.acknowledged(said(1), 5.0)
    assert not link.probe(5.25)
    assert link.probe(5.5)


def test_a_link_that_was_probed_is_idle_when_all_has_arrived() -> None:
    link = Outgoing(FULL)
    sent(link, 1)
    link.acknowledged(said(1, echo=link.probe(PROBE_SECS)), 0.4)
    link.validate()
    assert link.state is LinkState.IDLE
    assert not link.is_overdue(100.0)


def test_a_link_is_restarted_in_any_state_and_says_what_may_be_lost() -> None:
    idle, waiting, probing = (Outgoing(FULL) for _ in range(3))
    sent(waiting, 1)
    sent(probing, 2)
    probing.probe(PROBE_SECS)
    assert [len(each.restart()) for each in (idle, waiting, probing)] == [0, 1, 2]
    with pytest.raises(AssertionError, match="a link: RESTARTED is not followed by WAITING"):
        idle.number([(0, [b"x"])], 1, 1.0)


def test_an_old_acknowledgement_changes_nothing_and_one_of_the_future_is_refused() -> None:
    link = Outgoing(FULL)
    sent(link, 3)
    link.acknowledged(said(2), 0.0)
    assert link.acknowledged(said(1, flags=links.GAP), 0.0) == 0
    with pytest.raises(ProtocolError, match="never sent"):
        link.acknowledged(said(4), 0.0)


def test_a_full_link_numbers_nothing_until_it_is_acknowledged() -> None:
    link = Outgoing(2)
    sent(link, 2)
    assert not link.has_capacity
    link.acknowledged(said(1), 0.0)
    assert link.has_capacity


def arrived(link: Incoming, number: int, now: float = 0.0, **changed: int) -> Arrival:
    """What becomes of a message of the peer."""
    head = parse_link([link_frame(number), *([b"x"] if number else [])])._replace(**changed)
    arrival = link.take(head, 1, now)
    link.validate()
    return arrival


def test_only_the_next_message_is_taken() -> None:
    link = Incoming()
    assert arrived(link, 1) is Arrival.NEXT
    assert arrived(link, 1) is Arrival.REPEATED
    assert arrived(link, 3) is Arrival.GAP
    assert link.is_gap
    assert arrived(link, 2) is Arrival.NEXT
    assert arrived(link, 3) is Arrival.NEXT
    assert arrived(link, 0) is Arrival.EMPTY


def test_an_acknowledgement_is_due_after_a_while_or_after_many_bytes() -> None:
    link = Incoming()
    arrived(link, 1)
    assert not link.is_due(ACK_SECS / 2)
    assert link.is_due(ACK_SECS)
    link.acknowledged()
    assert not link.is_due(10.0)
    link.take(parse_link([link_frame(2), b"x"]), ACK_BYTES, 0.0)
    assert link.is_due(0.0)


def test_a_probe_is_answered_at_once() -> None:
    link = Incoming()
    arrived(link, 0, 1.0, probe=4)
    assert link.is_due(1.0)
    assert link.echo == 4


def test_a_successor_begins_anew_and_its_predecessor_is_refused() -> None:
    link = Incoming()
    arrived(link, 1)
    assert arrived(link, 1, sender=99, generation=2) is Arrival.NEXT
    assert arrived(link, 2) is Arrival.SUPERSEDED
    assert link.refused_sender == (PEER_INCARNATION, 1)
    assert arrived(link, 2, sender=99, generation=2) is Arrival.NEXT


def test_another_process_with_the_same_generation_is_no_successor() -> None:
    link = Incoming()
    arrived(link, 1)
    assert arrived(link, 1, sender=99) is Arrival.SUPERSEDED
    assert arrived(link, 2) is Arrival.NEXT


def test_a_predecessor_that_goes_on_is_told_again_after_a_while() -> None:
    # The refusal was lost with the connection: a repeated refusal answers one message, not each.
    link = Incoming()
    arrived(link, 1, sender=99, generation=2)
    told_at = []
    for now in (10.0, 10.0 + AGAIN_SECS / 2, 10.0 + AGAIN_SECS):
        link.acknowledged()
        arrived(link, 2, now)
        if link.refused_sender is not None:
            told_at.append(now)
    assert told_at == [10.0, 10.0 + AGAIN_SECS]


@pytest.mark.parametrize("seed", range(50))
def test_whatever_connections_lose_repeat_and_reorder_all_arrives_once_in_order(seed: int) -> None:
    chance = Random(seed)
    out, into = Outgoing(20), Incoming()
    forth: list[tuple[int, int]] = []  # (number, probe)
    back: list[LinkHeader] = []
    wanted, taken, numbered, now = 60, 0, 0, 0.0
    for _ in range(5000):
        now += 0.05
        if numbered < wanted and out.has_capacity and chance.random() < 0.7:
            out.number([(FAR, [b"%d" % numbered])], 1, now)
            numbered += 1
        if chance.random() < 0.7:
            forth += [(each, 0) for each in transmitted(out)]
        if probe := out.probe(now):
            forth.append((0, probe))
        forth, back = broken(forth, chance), broken(back, chance)
        while forth and chance.random() < 0.8:
            number, probe = forth.pop(0)
            taken += arrived(into, number, now, probe=probe) is Arrival.NEXT
            assert into.received == taken
        if into.is_due(now):
            flags = links.GAP if into.is_gap else links.NONE
            back.append(said(into.received, flags=flags, echo=into.echo))
            into.acknowledged()
        while back and chance.random() < 0.8:
            out.acknowledged(back.pop(0), now)
        if taken == wanted and not out.kept():
            return
    raise AssertionError(f"{taken} of {wanted} have arrived")


def broken(under_way: list[T], chance: Random) -> list[T]:
    """Now and then some of it is lost, some repeated, some overtaken."""
    if under_way and chance.random() < 0.2:
        first = chance.randint(0, len(under_way))
        last = chance.randint(first, len(under_way))
        match chance.randrange(3):
            case 0:
                return under_way[:first] + under_way[last:]
            case 1:
                return under_way[:last] + under_way[first:]
            case _:
                return under_way[last:] + under_way[:last]
    return under_way


# --- in the stream manager ------------------------------------------------------------------------


def numbers(out: list[events.Instruction]) -> list[int]:
    return [each.number for each in of_type(events.ToPeer, out)]


def heads(out: list[events.Instruction]) -> list[LinkHeader]:
    return [parse_link(each.frames) for each in of_type(events.ToPeer, out)]


def delivered(out: list[events.Instruction]) -> list[Frames]:
    return [each.frames for each in of_type(events.ToLocal, out)]


def test_a_connection_that_loses_messages_delivers_them_again_in_order() -> None:
    made = manager()
    first, second, third = (batch(FAR, size) for size in (1, 2, 3))
    for each in (first, second, third):
        made.data(each)
    out = made.handle(events.FromPeer([link_frame(0, 1, links.GAP)]))
    assert to_peer(out) == [[(FAR, second)], [(FAR, third)]]
    assert numbers(out) == [2, 3]
    assert made.core.state.counters["resent"] == 2


def test_a_message_that_comes_twice_or_too_early_is_not_delivered() -> None:
    made = manager()
    near = batch(NEAR, source=SPOUT)
    message = [link_frame(1), *near]
    assert delivered(made.handle(events.FromPeer(message))) == [near]
    made.consumed(NEAR, 1)
    assert delivered(made.handle(events.FromPeer(message))) == []
    assert delivered(made.handle(events.FromPeer([link_frame(3), *near]))) == []
    counters = made.core.state.counters
    assert (counters["repeated"], counters["gaps"]) == (1, 1)


def test_acknowledgements_ride_on_messages_or_leave_alone_a_little_later() -> None:
    made = manager()
    made.peer(batch(NEAR))
    (head,) = heads(made.data(batch(FAR)))
    assert (head.number, head.acked, head.acked_sender) == (1, 1, PEER_INCARNATION)
    made.peer(batch(NEAR))
    made.now += ACK_SECS
    (head,) = heads(made.handle(events.StreamManagerTimer()))
    assert (head.number, head.acked) == (0, 2)


def test_a_link_that_is_not_acknowledged_is_probed() -> None:
    made = manager()
    made.data(batch(FAR))
    made.now += PROBE_SECS
    (head,) = heads(made.handle(events.StreamManagerTimer()))
    assert (head.number, head.probe) == (0, 1)


def test_a_peer_that_answers_as_another_process_restarts_the_link_and_loss_is_counted() -> None:
    made = manager()
    made.data(batch(FAR))
    made.handle(events.FromPeer([link_frame(0, 1)]))
    made.data(batch(FAR))
    other = link_frame(0, 1, links.GAP, generation=2, sender=99)
    made.handle(events.FromPeer([other]))
    assert made.core.state.counters["lost"] == 1
    assert numbers(made.data(batch(FAR))) == [1]


def test_a_stream_manager_that_was_replaced_and_came_back_restarts_its_links() -> None:
    # Another one had our place for a while: the peer refuses the numbers of before.
    made = manager()
    made.data(batch(FAR))
    refusal = [link_frame(0, 0, links.REFUSED)]
    assert heads(made.handle(events.FromPeer(refusal))) == []
    assert made.core.state.counters["lost"] == 0, "there is no later plan that names us"
    made.plan(2)
    made.handle(events.FromPeer(refusal))
    (head,) = heads(made.data(batch(FAR, epoch=2)))
    assert (head.number, head.generation) == (1, 2)


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b""],
        [link_frame(1)],
        [link_frame(0), b"x"],
        [link_frame(1)[:-1], b"x"],
        [b"x" * len(link_frame(1)), b"x"],
    ],
)
def test_a_message_without_a_sound_link_frame_is_refused(frames: Frames) -> None:
    with pytest.raises(ProtocolError):
        parse_link(frames)


def test_a_link_frame_is_decoded_as_it_was_encoded() -> None:
    head = LinkHeader(links.GAP, 7, 1, 2, 3, 4, 1 << 63, 1 << 40, (1 << 64) - 1, 9)
    assert parse_link([encode_link(head), b"x"]) == head


def test_each_arrow_of_the_drawing_is_taken() -> None:
    with transitions_seen() as seen:
        test_probes_become_rarer_and_begin_anew_with_an_acknowledgement()
        test_a_reported_gap_sends_everything_from_there_again_once()
        test_a_link_that_was_probed_is_idle_when_all_has_arrived()
        test_a_link_is_restarted_in_any_state_and_says_what_may_be_lost()
        test_a_peer_that_answers_as_another_process_restarts_the_link_and_loss_is_counted()
    assert seen == arrows(TRANSITIONS)
