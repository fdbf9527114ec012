"""OffsetLedger against the simplest model: lists of what was read, sets of what is done."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heronpy_compat.connectors.offsets import OffsetLedger, PartitionKey

PLACES: list[PartitionKey] = [("a", 0), ("a", 1), ("b", 0)]


class Ledger(RuleBasedStateMachine):
    """Reads with gaps, acks in any order and twice, revokes; commits are looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = OffsetLedger()
        self.read: dict[PartitionKey, list[int]] = {}
        self.done: dict[PartitionKey, set[int]] = {}
        self.said: dict[PartitionKey, int] = {}

    def expected(self, place: PartitionKey) -> int:
        """The first record that is not done, or the one after the last."""
        rest = [each for each in self.read[place] if each not in self.done[place]]
        return rest[0] if rest else self.read[place][-1] + 1

    @rule(place=st.sampled_from(PLACES), gap=st.integers(0, 2))
    def take(self, place: PartitionKey, gap: int) -> None:
        read = self.read.setdefault(place, [])
        self.done.setdefault(place, set())
        read.append((read[-1] + 1 if read else 10) + gap)
        self.ledger.take(place, read[-1])

    @rule(place=st.sampled_from(PLACES), back=st.integers(0, 6))
    def ack(self, place: PartitionKey, back: int) -> None:
        read = self.read.get(place, [])
        if back < len(read):
            self.done[place].add(read[-1 - back])
            self.ledger.ack(place, read[-1 - back])
        else:
            self.ledger.ack(place, 5)  # of an earlier time, when the partition was here before

    @rule(place=st.sampled_from(PLACES))
    def revoke(self, place: PartitionKey) -> None:
        self.ledger.revoke(place)
        for each in (self.read, self.done, self.said):
            each.pop(place, None)

    @rule()
    def commits(self) -> None:
        now = {place: self.expected(place) for place in self.read}
        changed = {place: each for place, each in now.items() if self.said.get(place) != each}
        assert self.ledger.commits() == changed
        self.said = now
        assert self.ledger.commits(everything=True) == now

    @rule(place=st.sampled_from(PLACES))
    def a_commit_fails(self, place: PartitionKey) -> None:
        self.ledger.not_committed(place)
        self.said.pop(place, None)

    @invariant()
    def pending_is_what_is_not_done(self) -> None:
        for place in PLACES:
            rest = set(self.read.get(place, ())) - self.done.get(place, set())
            assert self.ledger.pending(place) == len(rest)
            position = self.read[place][-1] + 1 if place in self.read else None
            assert self.ledger.position(place) == position
        assert set(self.ledger.places) == set(self.read)


TestLedger = Ledger.TestCase


@given(st.permutations(range(6)))
def test_nothing_beyond_the_first_open_record_is_ever_committed(order: list[int]) -> None:
    ledger = OffsetLedger()
    for offset in range(6):
        ledger.take(("a", 0), offset)
    done: set[int] = set()
    for offset in order:
        ledger.ack(("a", 0), offset)
        done.add(offset)
        for committed in ledger.commits().values():
            assert set(range(committed)) <= done
    assert ledger.commits() == {}
