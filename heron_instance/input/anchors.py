"""A tuple's anchor state, from which acks are made: [root, ack value] for each root in turn.

The ack value is the xor of the tuple's own edge and of all edges that were emitted anchored to it;
it is sent when the tuple is acked, and the anchor state is emptied then. Neighbours of one root
that came with one edge (RUNS) share an anchor state, which is sent when all of them are acked.
"""

from heron_core.native import SharedAnchorState, own_anchors

AnchorState = list[int] | None
"""None for a tuple that nobody tracks."""

__all__ = ["AnchorState", "SharedAnchorState", "own_anchors"]
