"""What acks are worked out from: a tuple's track, [root, ack value] for each of its roots in turn.

The ack value is the xor of the tuple's own edge and of all edges that were emitted anchored to it;
it is told when the tuple is acked, and the track is emptied then. Neighbours of one root that came
with one edge (frames: RUNS) share a track: what it holds is told when all of them are acked.
"""

from array import array
from collections.abc import Iterable
from itertools import chain, repeat

Track = list[int] | None
"""None for a tuple that nobody tracks."""


class SharedTrack(list[int]):
    """The track of several tuples, which are known by their keys."""

    __slots__ = ("left", "settled")

    left: int
    """Tuples neither acked nor failed yet."""
    settled: set[int] | None
    """Keys of those that were; None before the first, and if all of them were at once."""

    def settles(self, key: int) -> bool:
        """Whether this is the first ack or fail of the tuple with that key."""
        if self.settled is None:
            self.settled = set()
        if key in self.settled or not self.left:
            return False
        self.settled.add(key)
        self.left -= 1
        return True


def own_tracks(ids: "array[int]") -> list[Track]:
    """A track for each pair of root and edge."""
    pairs = iter(ids)
    return [[root, edge] if root else None for root, edge in zip(pairs, pairs, strict=True)]


def run_tracks(ids: "array[int]", sizes: "array[int]") -> list[Track]:
    """A track for each pair, shared if its run has several tuples."""
    pairs = iter(ids)
    return [
        _shared(root, edge, size) if root and size > 1 else [root, edge] if root else None
        for root, edge, size in zip(pairs, pairs, sizes, strict=True)
    ]


def each_its(tracks: Iterable[Track], sizes: "array[int]") -> Iterable[Track]:
    """The track of each tuple of runs with these tracks and sizes."""
    return chain.from_iterable(map(repeat, tracks, sizes))


def are_untouched(tracks: Iterable[Track]) -> bool:
    """Whether no tuple with one of these tracks was acked or failed yet."""
    for track in tracks:
        if track is None:
            continue
        if not track or (isinstance(track, SharedTrack) and track.settled is not None):
            return False
    return True


def _shared(root: int, edge: int, size: int) -> SharedTrack:
    track = SharedTrack((root, edge))
    track.left = size
    track.settled = None
    return track
