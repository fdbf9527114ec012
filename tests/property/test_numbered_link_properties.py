"""A numbered link delivers each message once and in its order, whatever a connection loses."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from heron_core.wire.numbered_link import (
    ASK_AGAIN_SECS,
    NumberedLink,
    Packet,
    decode_header,
)

LEFT, RIGHT = 0, 1
SIDES = st.sampled_from((LEFT, RIGHT))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), SIDES),
        st.tuples(st.just("beat"), SIDES),
        st.tuples(st.just("arrive"), SIDES),
        st.tuples(st.just("twice"), SIDES),
        st.tuples(st.just("break"), st.tuples(st.integers(0, 5), st.integers(0, 5))),
    ),
    max_size=60,
)


class Pair:
    """Two ends, and what is under way between them."""

    def __init__(self) -> None:
        self.ends = [NumberedLink[int](7, 1), NumberedLink[int](7, 1)]
        self.under_way: list[deque[Packet[int]]] = [deque(), deque()]
        """from this side"""
        self.sent: list[list[int]] = [[], []]
        self.delivered: list[list[int]] = [[], []]
        """on the other side of it"""
        self.now = 0.0

    def send(self, side: int) -> None:
        number = len(self.sent[side])
        self.sent[side].append(number)
        self.under_way[side].append(self.ends[side].send(number))

    def beat(self, side: int) -> None:
        """A message that may be lost."""
        self.under_way[side].append(self.ends[side].report())

    def arrive(self, side: int) -> None:
        if self.under_way[side]:
            self._take(side, self.under_way[side].popleft())

    def twice(self, side: int) -> None:
        if self.under_way[side]:
            self._take(side, self.under_way[side][0])
            self.arrive(side)

    def _take(self, side: int, packet: Packet[int]) -> None:
        header = decode_header(packet.header.encode())
        assert header == packet.header
        taken = self.ends[1 - side].take(Packet(header, packet.message), self.now)
        if taken.message is not None:
            self.delivered[side].append(taken.message)
        self.under_way[1 - side].extend(taken.answers)

    def break_(self, lost: tuple[int, int]) -> None:
        """Both directions lose some of what was under way; the left side sees that."""
        for side, most in enumerate(lost):
            for _ in range(min(most, len(self.under_way[side]))):
                self.under_way[side].pop()
        self.under_way[LEFT].append(self.ends[LEFT].report(resend=True))

    def settle(self) -> None:
        """Heartbeats go on, and nothing is lost any more."""
        for _ in range(4):
            self.now += ASK_AGAIN_SECS
            for side in (LEFT, RIGHT):
                self.beat(side)
            while any(self.under_way):
                for side in (LEFT, RIGHT):
                    self.arrive(side)


@given(STEPS)
def test_a_broken_connection_loses_nothing_and_repeats_nothing(
    steps: list[tuple[str, object]],
) -> None:
    # Two hosts with a bad network between them: connections break at every message boundary.
    pair = Pair()
    for step, about in steps:
        getattr(pair, "break_" if step == "break" else step)(about)
        for end in pair.ends:
            end.validate()
    pair.settle()
    assert pair.delivered == pair.sent
    assert [end.unacknowledged for end in pair.ends] == [0, 0]
    assert not any(end.is_broken for end in pair.ends)
