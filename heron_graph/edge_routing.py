"""The curves of edges: forwards from column to column, backwards below all nodes."""

from collections.abc import Sequence
from itertools import pairwise

from heron_graph.drawing import ARROW_LENGTH, ArrowShape, Point, Segment, point_at

BEND = 0.5
"""How far the control points of a curve reach, as a share of its width."""
LABEL_ROOM = 10.0
TURN = 22.0
"""Radius of a backward arrow's corners, and its distance from the box."""
BISECTIONS = 20


def forward_arrow(
    points: Sequence[Point], share: float, label_width: float
) -> tuple[ArrowShape, Point]:
    """A curve through `points`, level at each; and the middle of its label, `share` along the
    first curve, but clear of the boxes at both ends."""
    segments = tuple(_curve(*each) for each in pairwise(points))
    (left, _), (right, _) = points[0], points[1]
    half = label_width / 2 + LABEL_ROOM
    wanted = left + (right - left) * share
    x = min(max(wanted, left + half), right - half - ARROW_LENGTH)
    return ArrowShape(segments), (x, _height_at(segments[0], x))


def _curve(start: Point, end: Point) -> Segment:
    reach = (end[0] - start[0]) * BEND
    return (start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end)


def _height_at(segment: Segment, x: float) -> float:
    """y of a curve that only goes to the right, where it passes x."""
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if point_at(segment, middle)[0] < x else (low, middle)
    return point_at(segment, low)[1]


def backward_arrow(start: Point, end: Point, y: float) -> tuple[ArrowShape, Point]:
    """Out to the right, down, back at the height `y` below everything, up, and in from the left;
    and the middle of its level stretch."""
    right, left = start[0] + 2 * TURN, end[0] - 2 * TURN
    corners = [start, (right, start[1]), (right, y), (left, y), (left, end[1]), end]
    return ArrowShape(_rounded(corners)), ((left + right) / 2, y)


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
