"""XOR trees and their expiry, against a model that keeps every root in one dict."""

from array import array

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stream_manager.acks import Trees

BUCKETS = 3


def pairs(*numbers: int) -> "array[int]":
    return array("Q", numbers)


def test_chain_of_two_bolts() -> None:
    # spout -a-> split -b, c-> count: done when the last of the three is acked, in any order.
    trees = Trees(BUCKETS)
    a, b, c = 11, 22, 44
    trees.begin(pairs(1, a))
    assert not trees.apply(pairs(1, b))
    assert not trees.apply(pairs(1, a ^ b ^ c))
    assert trees.apply(pairs(1, c)) == pairs(1)
    assert len(trees) == 0
    assert trees.unknown == 0


def test_ack_after_the_end_is_counted_only() -> None:
    # A bolt acks a tuple whose tree has expired or failed: normal with replays, no error.
    trees = Trees(BUCKETS)
    trees.begin(pairs(1, 5))
    assert trees.fail(pairs(1)) == pairs(1)
    assert not trees.apply(pairs(1, 5))
    assert not trees.fail(pairs(1))
    assert trees.unknown == 2


def test_root_zero_is_no_root() -> None:
    # In a batch that begins trees the untracked tuples have the pair (0, 0).
    trees = Trees(BUCKETS)
    trees.begin(pairs(0, 0, 7, 1))
    assert len(trees) == 1


def test_giving_up_returns_every_root() -> None:
    trees = Trees(BUCKETS)
    trees.begin(pairs(1, 5))
    trees.rotate()
    trees.begin(pairs(2, 6))
    assert sorted(trees.clear()) == [1, 2]
    assert len(trees) == 0
    assert all(not trees.rotate() for _ in range(BUCKETS + 1))


class TreesMachine(RuleBasedStateMachine):
    """Acks, fails and rotations in any order; a root expires at rotation BUCKETS + 1 of its life,
    which is between T and T + T/BUCKETS after it began."""

    def __init__(self) -> None:
        super().__init__()
        self.trees = Trees(BUCKETS)
        self.left: dict[int, int] = {}
        self.rotations: dict[int, int] = {}
        self.next_root = 1
        self.unknown = 0

    @rule(values=st.lists(st.integers(1, 7), min_size=1, max_size=4))
    def begin(self, values: list[int]) -> None:
        numbers = []
        for value in values:
            numbers += [self.next_root, value]
            self.left[self.next_root] = value
            self.rotations[self.next_root] = 0
            self.next_root += 1
        self.trees.begin(pairs(*numbers))

    @rule(data=st.data(), value=st.integers(0, 7))
    def ack(self, data: st.DataObject, value: int) -> None:
        root = data.draw(st.integers(1, self.next_root))
        done = self.trees.apply(pairs(root, value))
        if root not in self.left:
            self.unknown += 1
            assert not done
            return
        self.left[root] ^= value
        finished = self.left[root] == 0
        assert list(done) == [root] * finished
        if finished:
            del self.left[root]

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        root = data.draw(st.integers(1, self.next_root))
        failed = self.trees.fail(pairs(root))
        assert list(failed) == [root] * (root in self.left)
        self.unknown += root not in self.left
        self.left.pop(root, None)

    @rule()
    def rotate(self) -> None:
        expired = set(self.trees.rotate())
        for root in self.left:
            self.rotations[root] += 1
        expected = {root for root in self.left if self.rotations[root] == BUCKETS + 1}
        assert expired == expected
        for root in expired:
            del self.left[root]

    @invariant()
    def agrees(self) -> None:
        assert len(self.trees) == len(self.left)
        assert self.trees.unknown == self.unknown


TestTrees = TreesMachine.TestCase
TestTrees.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
