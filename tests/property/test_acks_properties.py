"""XOR trees and their expiry, against a model that keeps every root in one dict."""

from array import array

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heron_engine.stream_manager.acks import Trees

BUCKETS = 3


def array_of(*numbers: int) -> "array[int]":
    """As they come out of a frame."""
    return array("Q", numbers)


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

    @rule(values=st.lists(st.integers(1, 7), min_size=1, max_size=4) | st.just([1] * 30))
    def begin(self, values: list[int]) -> None:
        numbers = []
        for value in values:
            numbers += [self.next_root, value]
            self.left[self.next_root] = value
            self.rotations[self.next_root] = 0
            self.next_root += 1
        self.trees.begin(array_of(*numbers))

    @rule(data=st.data(), value=st.integers(0, 7))
    def ack(self, data: st.DataObject, value: int) -> None:
        root = data.draw(st.integers(1, self.next_root))
        self.trees.apply(array_of(root, value))
        done = self.trees.take_done()
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
    def ack_several(self, data: st.DataObject) -> None:
        """All that a root waits for, mostly, as of trees of one tuple; one may come twice."""
        roots = data.draw(st.lists(st.sampled_from(sorted(self.left) or [1]), min_size=1))
        roots += sorted(self.left.keys() - set(roots)) * data.draw(st.booleans())
        pairs = [(root, self.left.get(root, 1)) for root in roots]
        if data.draw(st.booleans()):
            pairs[0] = (pairs[0][0], pairs[0][1] ^ 8)
        self.trees.apply(array_of(*(number for pair in pairs for number in pair)))
        done = self.trees.take_done()
        expected = []
        for root, value in pairs:
            if root not in self.left:
                self.unknown += 1
                continue
            self.left[root] ^= value
            if not self.left[root]:
                del self.left[root]
                expected.append(root)
        assert sorted(done) == sorted(expected)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        root = data.draw(st.integers(1, self.next_root))
        failed = self.trees.fail(array_of(root))
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

    @rule()
    def clear(self) -> None:
        assert sorted(self.trees.clear()) == sorted(self.left)
        self.left.clear()

    @invariant()
    def agrees(self) -> None:
        assert len(self.trees) == len(self.left)
        assert self.trees.unknown == self.unknown
        assert sorted(self.trees.roots()) == sorted(self.left)
        self.trees.validate()


TestTrees = TreesMachine.TestCase
TestTrees.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True)
