"""From the columns of a topology to a drawing: sizes, places, curves and labels."""

from collections.abc import Mapping
from itertools import pairwise

from heron_graph.graph import Box, Graph
from heron_graph.layers import Layers, Pair, layers_of
from heron_graph.routes import Lane, backward_arrow, forward_arrow
from heron_graph.shapes import (
    LINE_HEIGHT,
    NAME_SIZE,
    SMALL_SIZE,
    TITLE_SIZE,
    ArrowShape,
    BoxShape,
    Drawing,
    LabelShape,
    Point,
    text_width,
)

MARGIN = 48.0
TITLE_HEIGHT = 40.0
PADDING = 16.0
BETWEEN_BOXES = 52.0
BETWEEN_LABELS = 6.0
PORT = 18.0
"""Between the ends of two arrows at the same side of a box."""
GAP_LEAST = 90.0
GAP_BESIDE_LABEL = 64.0
WAYPOINT_HEIGHT = 32.0
PASSES = 6
"""Of moving boxes towards their neighbours; they hardly move after three."""
NEAR, FAR = 0.3, 0.7
"""Where on an arrow its label stands: away from the end that it shares with other arrows."""

Places = dict[str, tuple[float, float, float, float]]
"""Node -> left, top, width, height."""


def drawn(graph: Graph) -> Drawing:
    """The drawing of a graph."""
    layers = layers_of(graph)
    labels = {(each.source, each.target): each.lines for each in graph.arrows}
    places = _places(graph, layers, labels)
    boxes = tuple(_box(each, places[each.name]) for each in graph.boxes)
    ports = _Ports(layers, places)
    arrows, shown = _forward(layers, labels, places, ports)
    bottom = max(
        [each.y + each.height for each in boxes] + [each.y + each.height / 2 for each in shown]
    )
    for pair in layers.backward:
        lane = Lane(places[pair[0]], places[pair[1]], bottom + BETWEEN_BOXES)
        arrow, middle = backward_arrow(lane, ports.source(pair), ports.target(pair))
        label = LabelShape(*middle, labels[pair])
        arrows.append(arrow)
        shown.append(label)
        bottom = middle[1] + label.height / 2
    width = max(x + w for x, _, w, _ in places.values()) + MARGIN
    title = text_width(graph.name, TITLE_SIZE) + 2 * MARGIN
    return Drawing(
        max(width, title), bottom + MARGIN / 2, graph.name, boxes, tuple(arrows), tuple(shown)
    )


def _box(box: Box, place: tuple[float, float, float, float]) -> BoxShape:
    return BoxShape(*place, box.name, box.lines, box.is_spout)


def _places(graph: Graph, layers: Layers, labels: Mapping[Pair, tuple[str, ...]]) -> Places:
    """Where every node stands, waypoints included."""
    sizes = {each.name: _size(each, layers) for each in graph.boxes}
    widths = [
        max((sizes[name][0] for name in column if name in sizes), default=0.0)
        for column in layers.columns
    ]
    lefts = [MARGIN]
    for at, width in enumerate(widths[:-1]):
        lefts.append(lefts[-1] + width + _gap_after(set(layers.columns[at]), layers, labels))
    tops = _tops(layers, sizes)
    places: Places = {}
    for left, width, column in zip(lefts, widths, layers.columns, strict=True):
        for name in column:
            own_width, height = sizes.get(name, (width, WAYPOINT_HEIGHT))
            places[name] = (left + (width - own_width) / 2, tops[name], own_width, height)
    return places


def _size(box: Box, layers: Layers) -> tuple[float, float]:
    texts = [
        text_width(box.name, NAME_SIZE),
        *(text_width(each, SMALL_SIZE) for each in box.lines),
    ]
    height = (NAME_SIZE + len(box.lines) * SMALL_SIZE) * LINE_HEIGHT + PADDING
    ends = (*layers.paths, *layers.backward)
    ports = max(sum(pair[side] == box.name for pair in ends) for side in (0, 1))
    return max(texts) + 2 * PADDING, max(height, (ports + 1) * PORT)


def _gap_after(column: set[str], layers: Layers, labels: Mapping[Pair, tuple[str, ...]]) -> float:
    """Room for the widest label of the arrows that start in a column."""
    starting = [pair for pair, path in layers.paths.items() if path[0] in column]
    widest = max((LabelShape(0, 0, labels[pair]).width for pair in starting), default=0.0)
    return max(GAP_LEAST, widest + GAP_BESIDE_LABEL)


def _tops(layers: Layers, sizes: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """node -> its top: near the middle of its neighbours, none on another."""
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
                name: sum(middles[each] for each in found) / len(found) if found else middles[name]
                for name in column
                for found in [neighbours[name]]
            }
            middles.update(_apart(column, wanted, heights))
    tops = {name: middle - heights[name] / 2 for name, middle in middles.items()}
    shift = MARGIN + TITLE_HEIGHT - min(tops.values())
    return {name: top + shift for name, top in tops.items()}


def _apart(
    column: tuple[str, ...], wanted: Mapping[str, float], heights: Mapping[str, float]
) -> dict[str, float]:
    """Middles in the column's order without overlaps, on average where they are wanted."""
    found: dict[str, float] = {}
    edge = float("-inf")
    for name in column:
        found[name] = max(wanted[name], edge + heights[name] / 2)
        edge = found[name] + heights[name] / 2 + BETWEEN_BOXES
    shift = sum(wanted[name] - found[name] for name in column) / max(1, len(column))
    return {name: middle + shift for name, middle in found.items()}


class _Ports:
    """Where arrows touch a box: spread over its side, in the order of their other ends."""

    def __init__(self, layers: Layers, places: Places) -> None:
        self._places = places
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
        _, y, _, height = self._places[name]
        return y + height / 2

    def _spread(self, name: str, side: int, pairs: list[Pair]) -> None:
        x, _, width, _ = self._places[name]
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
    layers: Layers, labels: Mapping[Pair, tuple[str, ...]], places: Places, ports: _Ports
) -> tuple[list[ArrowShape], list[LabelShape]]:
    arrows, by_column = [], dict[int, list[LabelShape]]()
    column_of = {name: at for at, column in enumerate(layers.columns) for name in column}
    for pair, path in layers.paths.items():
        starts = sum(each[0] == pair[0] for each in layers.paths)
        ends = sum(each[1] == pair[1] for each in layers.paths)
        size = LabelShape(0, 0, labels[pair])
        arrow, middle = forward_arrow(
            [ports.source(pair), *_waypoints(path, places), ports.target(pair)],
            FAR if starts >= ends else NEAR,
            size.width,
        )
        arrows.append(arrow)
        by_column.setdefault(column_of[pair[0]], []).append(LabelShape(*middle, labels[pair]))
    shown = [label for found in by_column.values() for label in _labels_apart(found)]
    return arrows, shown


def _waypoints(path: tuple[str, ...], places: Places) -> list[Point]:
    """Both ends of the level stretch through each column between."""
    found: list[Point] = []
    for name in path[1:-1]:
        x, y, width, height = places[name]
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
