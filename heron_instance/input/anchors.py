"""A tuple's anchor state, from which acks are made: [root, ack value] for each root in turn.

The ack value is the xor of the tuple's own edge and of all edges that were emitted anchored to it;
it is sent when the tuple is acked, and the anchor state is emptied then. Neighbours of one root
that came with one edge (RUNS) share an anchor state, which is sent when all of them are acked.
"""

from array import array
from collections.abc import Iterable
from itertools import chain, repeat

AnchorState = list[int] | None
"""None for a tuple that nobody tracks."""


class SharedAnchorState(list[int]):
    """The anchor state of several tuples, which are known by their keys."""

    __slots__ = ("left", "settled")

    left: int
    """Tuples neither acked nor failed yet."""
    settled: set[int] | None
    """Keys of those that were; None before the first, and if all of them were at once."""

    def first_settle(self, key: int) -> bool:
        """Whether this is the first ack or fail of the tuple with that key."""
        if self.settled is None:
            self.settled = set()
        if key in self.settled or not self.left:
            return False
        self.settled.add(key)
        self.left -= 1
        return True


def own_anchors(ids: "array[int]") -> list[AnchorState]:
    """An anchor state for each pair of root and edge."""
    pairs = iter(ids)
    return [[root, edge] if root else None for root, edge in zip(pairs, pairs, strict=True)]


def run_anchors(ids: "array[int]", sizes: "array[int]") -> list[AnchorState]:
    """An anchor state for each pair, shared if its run has several tuples."""
    pairs = iter(ids)
    return [
        _shared(root, edge, size) if root and size > 1 else [root, edge] if root else None
        for root, edge, size in zip(pairs, pairs, sizes, strict=True)
    ]


def each_its(anchor_states: Iterable[AnchorState], sizes: "array[int]") -> Iterable[AnchorState]:
    """The anchor state of each tuple of runs with these tracks and sizes."""
    return chain.from_iterable(map(repeat, anchor_states, sizes))


def are_untouched(anchor_states: Iterable[AnchorState]) -> bool:
    """Whether no tuple with one of these anchor states was acked or failed yet."""
    for anchor_state in anchor_states:
        if anchor_state is None:
            continue
        if not anchor_state or (
            isinstance(anchor_state, SharedAnchorState) and anchor_state.settled is not None
        ):
            return False
    return True


def _shared(root: int, edge: int, size: int) -> SharedAnchorState:
    anchor_state = SharedAnchorState((root, edge))
    anchor_state.left = size
    anchor_state.settled = None
    return anchor_state
