"""Coordinates of the nodes: columns side by side, nodes of a column below each other."""

from collections.abc import Mapping
from itertools import pairwise

from heron_graph.drawing import (
    LINE_HEIGHT,
    NAME_SIZE,
    SMALL_SIZE,
    LabelShape,
    Rectangle,
    text_width,
)
from heron_graph.graph import ComponentNode, Graph
from heron_graph.layers import Layers, Pair

MARGIN = 48.0
TITLE_HEIGHT = 40.0
PADDING = 16.0
BETWEEN_BOXES = 52.0
PORT = 18.0
"""Distance between the ends of two arrows at a side of a box, in pixels."""
GAP_LEAST = 90.0
GAP_BESIDE_LABEL = 64.0
WAYPOINT_HEIGHT = 32.0
PASSES = 6
"""Rounds of moving boxes towards their neighbours; after three rounds boxes hardly move."""

Rectangles = dict[str, Rectangle]
"""Name of a node or waypoint -> rectangle."""
Labels = Mapping[Pair, tuple[str, ...]]
"""Edge -> lines of text."""


def rectangles_of(graph: Graph, layers: Layers, labels: Labels) -> Rectangles:
    """Where every node stands, waypoints included."""
    sizes = {node.name: _size(node, layers) for node in graph.nodes}
    widths = [
        max((sizes[name][0] for name in column if name in sizes), default=0.0)
        for column in layers.columns
    ]
    lefts = [MARGIN]
    for at, width in enumerate(widths[:-1]):
        lefts.append(lefts[-1] + width + _gap_after(set(layers.columns[at]), layers, labels))
    tops = _tops(layers, sizes)
    rectangles: Rectangles = {}
    for left, width, column in zip(lefts, widths, layers.columns, strict=True):
        for name in column:
            own_width, height = sizes.get(name, (width, WAYPOINT_HEIGHT))
            rectangles[name] = Rectangle(
                left + (width - own_width) / 2, tops[name], own_width, height
            )
    return rectangles


def _size(box: ComponentNode, layers: Layers) -> tuple[float, float]:
    texts = [
        text_width(box.name, NAME_SIZE),
        *(text_width(each, SMALL_SIZE) for each in box.lines),
    ]
    height = (NAME_SIZE + len(box.lines) * SMALL_SIZE) * LINE_HEIGHT + PADDING
    ends = (*layers.paths, *layers.backward)
    ports = max(sum(pair[side] == box.name for pair in ends) for side in (0, 1))
    return max(texts) + 2 * PADDING, max(height, (ports + 1) * PORT)


def _gap_after(column: set[str], layers: Layers, labels: Labels) -> float:
    """Room for the widest label of the arrows that start in a column."""
    starting = [pair for pair, path in layers.paths.items() if path[0] in column]
    widest = max((LabelShape(0, 0, labels[pair]).width for pair in starting), default=0.0)
    return max(GAP_LEAST, widest + GAP_BESIDE_LABEL)


def _tops(layers: Layers, sizes: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """node -> top: near the middle of the neighbours, without overlaps."""
    heights = {
        name: sizes.get(name, (0.0, WAYPOINT_HEIGHT))[1] for c in layers.columns for name in c
    }
    before: dict[str, list[str]] = {name: [] for name in heights}
    after: dict[str, list[str]] = {name: [] for name in heights}
    for path in layers.paths.values():
        for source, target in pairwise(path):
            after[source].append(target)
            before[target].append(source)
    middles: dict[str, float] = {}
    for column in layers.columns:
        middles.update(_apart(column, dict.fromkeys(column, 0.0), heights))
    for number in range(PASSES):
        neighbours, order = (
            (after, layers.columns[::-1]) if number % 2 else (before, layers.columns)
        )
        for column in order:
            wanted = {
                name: sum(middles[neighbour] for neighbour in around) / len(around)
                if around
                else middles[name]
                for name in column
                for around in [neighbours[name]]
            }
            middles.update(_apart(column, wanted, heights))
    tops = {name: middle - heights[name] / 2 for name, middle in middles.items()}
    shift = MARGIN + TITLE_HEIGHT - min(tops.values())
    return {name: top + shift for name, top in tops.items()}


def _apart(
    column: tuple[str, ...], wanted: Mapping[str, float], heights: Mapping[str, float]
) -> dict[str, float]:
    """Middles in the column's order without overlaps, on average at the wanted positions."""
    tops: dict[str, float] = {}
    edge = float("-inf")
    for name in column:
        tops[name] = max(wanted[name], edge + heights[name] / 2)
        edge = tops[name] + heights[name] / 2 + BETWEEN_BOXES
    shift = sum(wanted[name] - tops[name] for name in column) / max(1, len(column))
    return {name: middle + shift for name, middle in tops.items()}
