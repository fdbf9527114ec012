"""From a graph to a drawing: rectangles, ports, curves and labels."""

from heron_graph.coordinates import (
    BETWEEN_BOXES,
    MARGIN,
    PORT,
    Rectangles,
    rectangles_of,
)
from heron_graph.drawing import (
    TITLE_SIZE,
    BoxShape,
    Drawing,
    LabelShape,
    Point,
    Rectangle,
    text_width,
)
from heron_graph.edge_routing import backward_arrow, forward_arrow
from heron_graph.graph import ComponentNode, Graph
from heron_graph.label_placement import GAP, placed_labels
from heron_graph.layers import Layers, Pair, layers_of


def layout(graph: Graph) -> Drawing:
    """The graph with a place for everything in it."""
    layers = layers_of(graph)
    labels = {(edge.source, edge.target): edge.lines for edge in graph.edges}
    rectangles = rectangles_of(graph, layers, labels)
    boxes = tuple(_box(node, rectangles[node.name]) for node in graph.nodes)
    ports = _Ports(layers, rectangles)
    arrows = {
        pair: forward_arrow([ports.source(pair), *_waypoints(path, rectangles), ports.target(pair)])
        for pair, path in layers.paths.items()
    }
    bottom = max(box.y + box.height for box in boxes)
    spacing = max((_height(lines) for lines in labels.values()), default=0.0) + 2 * GAP
    for pair in layers.backward:
        bottom += max(BETWEEN_BOXES, spacing)
        arrows[pair] = backward_arrow(ports.source(pair), ports.target(pair), bottom)
    shown = placed_labels(arrows, labels, [rectangles[node.name] for node in graph.nodes])
    bottom = max([bottom, *(each.y + each.height / 2 for each in shown)])
    width = max(x + w for x, _, w, _ in rectangles.values()) + MARGIN
    title = text_width(graph.name, TITLE_SIZE) + 2 * MARGIN
    curves = tuple(arrow for arrow, _ in arrows.values())
    return Drawing(max(width, title), bottom + MARGIN / 2, graph.name, boxes, curves, tuple(shown))


def _height(lines: tuple[str, ...]) -> float:
    return LabelShape(0, 0, lines).height


def _box(node: ComponentNode, rectangle: Rectangle) -> BoxShape:
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
        for (name, side), own_ends in ends.items():
            self._spread(name, side, [pair for _, pair in sorted(own_ends)])

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


def _waypoints(path: tuple[str, ...], rectangles: Rectangles) -> list[Point]:
    """Both ends of the level stretch through each column between."""
    found: list[Point] = []
    for name in path[1:-1]:
        x, y, width, height = rectangles[name]
        found += [(x, y + height / 2), (x + width, y + height / 2)]
    return found
