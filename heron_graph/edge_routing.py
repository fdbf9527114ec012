"""The curves of edges: forwards from column to column, backwards below all nodes."""

from collections.abc import Sequence
from itertools import pairwise

from heron_graph.drawing import ArrowShape, Point, Segment

BEND = 0.5
"""How far the control points of a curve reach, as a share of its width."""
TURN = 22.0
"""Radius of a backward arrow's corners, and its distance from the box."""


def forward_arrow(points: Sequence[Point]) -> tuple[ArrowShape, Segment]:
    """A curve through `points`, level at each; and its first piece, where its label stands."""
    segments = tuple(_curve(*each) for each in pairwise(points))
    return ArrowShape(segments), segments[0]


def _curve(start: Point, end: Point) -> Segment:
    reach = (end[0] - start[0]) * BEND
    return (start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end)


def backward_arrow(start: Point, end: Point, y: float) -> tuple[ArrowShape, Segment]:
    """Out to the right, down, back at the height `y` below everything, up, and in from the left;
    and its level stretch, where its label stands."""
    right, left = start[0] + 2 * TURN, end[0] - 2 * TURN
    corners = [start, (right, start[1]), (right, y), (left, y), (left, end[1]), end]
    return ArrowShape(_rounded(corners)), _straight((right, y), (left, y))


def _rounded(corners: Sequence[Point]) -> tuple[Segment, ...]:
    """Straight lines between corners that are turned round."""
    segments: list[Segment] = []
    at = corners[0]
    for corner, following in pairwise(corners[1:]):
        before, after = _towards(corner, at), _towards(corner, following)
        segments += [_straight(at, before), (before, corner, corner, after)]
        at = after
    return (*segments, _straight(at, corners[-1]))


def _towards(corner: Point, other: Point) -> Point:
    """The point TURN away from a corner; the lines are level or upright."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(dx), abs(dy)) or 1.0
    reach = min(TURN, length / 2) / length
    return (corner[0] + dx * reach, corner[1] + dy * reach)


def _straight(start: Point, end: Point) -> Segment:
    return (start, start, end, end)
