"""OffsetLedger against the simplest model: lists of what was read, sets of what is done."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heron_connectors.kafka.offsets import OffsetLedger, PartitionKey

PLACES: list[PartitionKey] = [("a", 0), ("a", 1), ("b", 0)]


class Ledger(RuleBasedStateMachine):
    """Reads with gaps, acks in any order and twice, revokes; commits are looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = OffsetLedger()
        self.read: dict[PartitionKey, list[int]] = {}
        self.done: dict[PartitionKey, set[int]] = {}
        self.said: dict[PartitionKey, int] = {}

    def expected(self, partition_key: PartitionKey) -> int:
        """The first record that is not done, or the one after the last."""
        rest = [each for each in self.read[partition_key] if each not in self.done[partition_key]]
        return rest[0] if rest else self.read[partition_key][-1] + 1

    @rule(partition_key=st.sampled_from(PLACES), gap=st.integers(0, 2))
    def take(self, partition_key: PartitionKey, gap: int) -> None:
        read = self.read.setdefault(partition_key, [])
        self.done.setdefault(partition_key, set())
        read.append((read[-1] + 1 if read else 10) + gap)
        self.ledger.take(partition_key, read[-1])

    @rule(partition_key=st.sampled_from(PLACES), back=st.integers(0, 6))
    def ack(self, partition_key: PartitionKey, back: int) -> None:
        read = self.read.get(partition_key, [])
        if back < len(read):
            self.done[partition_key].add(read[-1 - back])
            self.ledger.ack(partition_key, read[-1 - back])
        else:
            self.ledger.ack(
                partition_key, 5
            )  # of an earlier time, when the partition was here before

    @rule(partition_key=st.sampled_from(PLACES))
    def revoke(self, partition_key: PartitionKey) -> None:
        self.ledger.revoke(partition_key)
        for each in (self.read, self.done, self.said):
            each.pop(partition_key, None)

    @rule()
    def commits(self) -> None:
        now = {partition_key: self.expected(partition_key) for partition_key in self.read}
        changed = {
            partition_key: each
            for partition_key, each in now.items()
            if self.said.get(partition_key) != each
        }
        assert self.ledger.commits() == changed
        self.said = now
        assert self.ledger.commits(everything=True) == now

    @rule(partition_key=st.sampled_from(PLACES))
    def a_commit_fails(self, partition_key: PartitionKey) -> None:
        self.ledger.not_committed(partition_key)
        self.said.pop(partition_key, None)

    @invariant()
    def pending_is_what_is_not_done(self) -> None:
        for partition_key in PLACES:
            rest = set(self.read.get(partition_key, ())) - self.done.get(partition_key, set())
            assert self.ledger.pending(partition_key) == len(rest)
            position = self.read[partition_key][-1] + 1 if partition_key in self.read else None
            assert self.ledger.position(partition_key) == position
        assert set(self.ledger.partition_keys) == set(self.read)


TestLedger = Ledger.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=40)


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
