"""From a graph to a drawing: rectangles, ports, curves and labels."""

from heron_graph.coordinates import (
    BETWEEN_BOXES,
    MARGIN,
    PORT,
    Labels,
    Rectangles,
    rectangles_of,
)
from heron_graph.drawing import (
    TITLE_SIZE,
    ArrowShape,
    BoxShape,
    Drawing,
    LabelShape,
    Point,
    Rectangle,
    text_width,
)
from heron_graph.edge_routing import backward_arrow, forward_arrow
from heron_graph.graph import Graph, Node
from heron_graph.layers import Layers, Pair, layers_of

BETWEEN_LABELS = 6.0
NEAR, FAR = 0.3, 0.7
"""Where on an arrow its label stands: away from the end that it shares with other arrows."""


def layout(graph: Graph) -> Drawing:
    """The graph with a place for everything in it."""
    layers = layers_of(graph)
    labels = {(each.source, each.target): each.lines for each in graph.edges}
    rectangles = rectangles_of(graph, layers, labels)
    boxes = tuple(_box(each, rectangles[each.name]) for each in graph.nodes)
    ports = _Ports(layers, rectangles)
    arrows, shown = _forward(layers, labels, rectangles, ports)
    bottom = max(
        [each.y + each.height for each in boxes] + [each.y + each.height / 2 for each in shown]
    )
    for pair in layers.backward:
        arrow, middle = backward_arrow(
            ports.source(pair), ports.target(pair), bottom + BETWEEN_BOXES
        )
        label = LabelShape(*middle, labels[pair])
        arrows.append(arrow)
        shown.append(label)
        bottom = middle[1] + label.height / 2
    width = max(x + w for x, _, w, _ in rectangles.values()) + MARGIN
    title = text_width(graph.name, TITLE_SIZE) + 2 * MARGIN
    return Drawing(
        max(width, title), bottom + MARGIN / 2, graph.name, boxes, tuple(arrows), tuple(shown)
    )


def _box(node: Node, rectangle: Rectangle) -> BoxShape:
    return BoxShape(*rectangle, node.name, node.lines, node.is_spout)


class _Ports:
    """Where arrows touch a box: spread over its side, in the order of their other ends."""

    def __init__(self, layers: Layers, rectangles: Rectangles) -> None:
        self._rectangles = rectangles
        self._points: dict[tuple[Pair, int], Point] = {}
        ends: dict[tuple[str, int], list[tuple[float, Pair]]] = {}
        for pair, path in layers.paths.items():
            for side, other in ((0, path[1]), (1, path[-2])):
                ends.setdefault((pair[side], side), []).append((self._middle(other), pair))
        for pair in layers.backward:  # they come from below and go there
            for side in (0, 1):
                ends.setdefault((pair[side], side), []).append((float("inf"), pair))
        for (name, side), found in ends.items():
            self._spread(name, side, [pair for _, pair in sorted(found)])

    def _middle(self, name: str) -> float:
        _, y, _, height = self._rectangles[name]
        return y + height / 2

    def _spread(self, name: str, side: int, pairs: list[Pair]) -> None:
        x, _, width, _ = self._rectangles[name]
        first = self._middle(name) - (len(pairs) - 1) * PORT / 2
        for at, pair in enumerate(pairs):
            self._points[pair, side] = (x if side else x + width, first + at * PORT)

    def source(self, pair: Pair) -> Point:
        """Where the arrow leaves its source."""
        return self._points[pair, 0]

    def target(self, pair: Pair) -> Point:
        """Where the arrow ends."""
        return self._points[pair, 1]


def _forward(
    layers: Layers, labels: Labels, rectangles: Rectangles, ports: _Ports
) -> tuple[list[ArrowShape], list[LabelShape]]:
    arrows, by_column = [], dict[int, list[LabelShape]]()
    column_of = {name: at for at, column in enumerate(layers.columns) for name in column}
    for pair, path in layers.paths.items():
        starts = sum(each[0] == pair[0] for each in layers.paths)
        ends = sum(each[1] == pair[1] for each in layers.paths)
        size = LabelShape(0, 0, labels[pair])
        arrow, middle = forward_arrow(
            [ports.source(pair), *_waypoints(path, rectangles), ports.target(pair)],
            FAR if starts >= ends else NEAR,
            size.width,
        )
        arrows.append(arrow)
        by_column.setdefault(column_of[pair[0]], []).append(LabelShape(*middle, labels[pair]))
    shown = [label for found in by_column.values() for label in _labels_apart(found)]
    return arrows, shown


def _waypoints(path: tuple[str, ...], rectangles: Rectangles) -> list[Point]:
    """Both ends of the level stretch through each column between."""
    found: list[Point] = []
    for name in path[1:-1]:
        x, y, width, height = rectangles[name]
        found += [(x, y + height / 2), (x + width, y + height / 2)]
    return found


def _labels_apart(labels: list[LabelShape]) -> list[LabelShape]:
    """Labels between the same two columns, moved down where one would cover another."""
    found: list[LabelShape] = []
    for each in sorted(labels, key=lambda label: label.y):
        top = each.y - each.height / 2
        for other in found:
            apart = abs(each.x - other.x) >= (each.width + other.width) / 2
            if not apart:
                top = max(top, other.y + other.height / 2 + BETWEEN_LABELS)
        found.append(LabelShape(each.x, top + each.height / 2, each.lines))
    return found
