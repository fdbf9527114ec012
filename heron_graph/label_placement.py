"""Placement of labels: beside their arrows, clear of boxes, arrows and other labels.

Each label takes the cheapest of several positions along its arrow, above and below the arrow;
labels placed earlier count as occupied.
"""

from collections.abc import Iterator, Mapping, Sequence

from heron_graph.drawing import ArrowShape, LabelShape, Point, Rectangle, Segment, point_at, sampled
from heron_graph.layers import Pair

GAP = 3.0
"""Distance of a label from its arrow, in pixels."""
STEPS = 60
"""Sampled points of a curve: a few pixels apart."""
SHARES = tuple(share / 20 for share in range(1, 20))
"""Positions along an arrow, as shares of its length."""
COVERED = 1000.0
"""Cost of covering a box or a label: above the cost of crossing any number of an arrow's points."""

Labelled = Mapping[Pair, tuple[ArrowShape, Segment]]
"""Edge -> its arrow, and the segment for its label."""


def placed_labels(
    arrows: Labelled, texts: Mapping[Pair, tuple[str, ...]], boxes: Sequence[Rectangle]
) -> list[LabelShape]:
    """A label for each arrow, in their order."""
    points = [point for arrow, _ in arrows.values() for point in sampled(arrow.segments, STEPS)]
    taken = list(boxes)
    labels: list[LabelShape] = []
    for pair, (_, segment) in arrows.items():
        label, _ = min(
            _candidates(segment, texts[pair]),
            key=lambda candidate: _cost(candidate[0], points, taken) + candidate[1],
        )
        labels.append(label)
        taken.append(_rectangle(label))
    return labels


def _candidates(segment: Segment, lines: tuple[str, ...]) -> list[tuple[LabelShape, float]]:
    """The label at each position, with the cost of the distance from the middle."""
    size = LabelShape(0, 0, lines)
    curve = list(sampled((segment,), STEPS))
    return [
        (LabelShape(*middle, lines), abs(share - 0.5))
        for share in SHARES
        for middle in _beside(point_at(segment, share)[0], curve, size)
    ]


def _beside(x: float, curve: Sequence[Point], size: LabelShape) -> Iterator[Point]:
    """Positions of a label above and below the part of the curve within the label's width around
    x."""
    heights = [y for at, y in curve if abs(at - x) <= size.width / 2]
    away = size.height / 2 + GAP
    yield x, min(heights) - away
    yield x, max(heights) + away


def _cost(label: LabelShape, points: Sequence[Point], taken: Sequence[Rectangle]) -> float:
    own = _rectangle(label)
    crossed = sum(own.covers(each) for each in points)
    return crossed + COVERED * sum(own.overlaps(each) for each in taken)


def _rectangle(label: LabelShape) -> Rectangle:
    return Rectangle(
        label.x - label.width / 2, label.y - label.height / 2, label.width, label.height
    )
