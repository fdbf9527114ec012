"""Anchor state of a tuple, the base of acks: [root, ack value] for each root in turn.

The ack value is the xor of the tuple's own edge and the edges of all tuples anchored to it. The
ack sends the value and empties the anchor state. Adjacent tuples of one root with one edge
(RUNS) share an anchor state, sent when all of them are acked.
"""

from collections.abc import Sequence
from itertools import compress, count, islice
from operator import attrgetter, is_not
from typing import Any

from heron_core.native import SharedAnchorState, fold_at_once, own_anchors

AnchorState = list[int] | None
"""None for an untracked tuple."""
Anchors = dict[int, tuple[list[int], int]]
"""Result of `anchors_of`."""

__all__ = [
    "AnchorState", "Anchors", "SharedAnchorState", "anchors_of", "fold_whole_runs", "is_settled",
    "own_anchors",
]  # fmt: skip

_roots_of, _key_of = attrgetter("roots"), attrgetter("tuple_key")


def fold_whole_runs(acked: list[Any], acks: dict[int, int]) -> list[Any]:
    """Xor complete runs of acked tuples into `acks`; returns the remaining tuples. Each tuple of a
    run must be present once, in sequence. A flush within a batch settles most tuples by this
    path."""
    if len(set(map(_key_of, acked))) < len(acked):  # a tuple was acked twice
        return acked
    states = list(map(_roots_of, acked))
    starts = [0, *compress(count(1), map(is_not, states, islice(states, 1, None)))]
    ends = [*islice(starts, 1, None), len(acked)]
    whole: list[AnchorState] = []
    others: list[Any] = []
    for start, end in zip(starts, ends, strict=True):
        if _is_whole(states[start], end - start):
            whole.append(states[start])
        else:
            others += acked[start:end]
    fold_at_once(whole, acks)
    return others


def _is_whole(anchor_state: AnchorState, tuples: int) -> bool:
    """Whether the tuples are a complete run of one root, all of them unsettled."""
    return (
        isinstance(anchor_state, SharedAnchorState)
        and len(anchor_state) == 2
        and anchor_state.is_untouched
        and anchor_state.left == tuples
    )


def is_settled(tup: Any) -> bool:
    """Whether a tuple was acked or failed. A failed row of a shared root settles only the row."""
    state = tup.roots
    if isinstance(state, SharedAnchorState):
        return not state.left or state.has_settled(tup.tuple_key)
    return bool(state == [])


def anchors_of(anchors: Sequence[Any]) -> Anchors:
    """root -> the anchor state and position that count its new edges; a root shared by two anchors
    is counted once."""
    found: dict[int, tuple[list[int], int]] = {}
    for anchor in anchors:
        anchor_state: list[int] = anchor.roots or []
        for at in range(0, len(anchor_state), 2):
            found.setdefault(anchor_state[at], (anchor_state, at + 1))
    return found
