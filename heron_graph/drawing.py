"""A laid-out graph; lengths are in pixels, x grows to the right and y downwards."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

Point = tuple[float, float]
Segment = tuple[Point, Point, Point, Point]
"""A cubic Bézier curve: start, two control points, end."""

NAME_SIZE, SMALL_SIZE, TITLE_SIZE = 15, 12, 18
CHARACTER_WIDTH = 0.56
"""Of a letter, in its font's size, on average and rather too much: fonts differ."""
LINE_HEIGHT = 1.3
ARROW_LENGTH, ARROW_WIDTH = 11.0, 8.0


class Rectangle(NamedTuple):
    """Where a node stands."""

    left: float
    top: float
    width: float
    height: float

    def covers(self, point: Point) -> bool:
        """Whether the point lies in it."""
        x, y = point
        right, bottom = self.left + self.width, self.top + self.height
        return self.left < x < right and self.top < y < bottom

    def overlaps(self, other: "Rectangle") -> bool:
        """Whether they have a common area."""
        beside = self.left >= other.left + other.width or other.left >= self.left + self.width
        apart = self.top >= other.top + other.height or other.top >= self.top + self.height
        return not (beside or apart)


@dataclass(frozen=True, slots=True)
class BoxShape:
    """A component: left, top, width, height; its name, then smaller lines."""

    x: float
    y: float
    width: float
    height: float
    name: str
    lines: tuple[str, ...]
    is_spout: bool


@dataclass(frozen=True, slots=True)
class ArrowShape:
    """A curve with a head at its end."""

    segments: tuple[Segment, ...]

    def head(self) -> tuple[Point, Point, Point]:
        """The triangle at the end; it points to where the curve comes from straight or level."""
        x, y = self.segments[-1][3]
        return (
            (x, y),
            (x - ARROW_LENGTH, y - ARROW_WIDTH / 2),
            (x - ARROW_LENGTH, y + ARROW_WIDTH / 2),
        )


@dataclass(frozen=True, slots=True)
class LabelShape:
    """Lines of text around a middle, beside their arrow."""

    x: float
    y: float
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        """Of its longest line."""
        return max(text_width(each, SMALL_SIZE) for each in self.lines)

    @property
    def height(self) -> float:
        """Of all its lines."""
        return len(self.lines) * SMALL_SIZE * LINE_HEIGHT


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole picture."""

    width: float
    height: float
    title: str
    boxes: tuple[BoxShape, ...]
    arrows: tuple[ArrowShape, ...]
    labels: tuple[LabelShape, ...]


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a font without serifs."""
    return len(text) * size * CHARACTER_WIDTH


def point_at(segment: Segment, share: float) -> Point:
    """The point of a curve at a share of 0 (start) to 1 (end)."""
    rest = 1.0 - share
    weights = (rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3)
    return (
        sum(weight * point[0] for weight, point in zip(weights, segment, strict=True)),
        sum(weight * point[1] for weight, point in zip(weights, segment, strict=True)),
    )


def sampled(segments: tuple[Segment, ...], steps: int) -> Iterator[Point]:
    """Points along curves, `steps` for each of them, the start included."""
    yield segments[0][0]
    for segment in segments:
        yield from (point_at(segment, step / steps) for step in range(1, steps + 1))
