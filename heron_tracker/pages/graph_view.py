"""A topology's graph: nodes as large as their throughput, edges as wide as their flow, coloured by
what is wrong, as options of ECharts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from heron_core.number_text import milliseconds, rate, share
from heron_core.stats import ComponentStats, TopologyStats
from heron_core.topology import TopologySpec
from heron_graph.coordinates import rectangles_of
from heron_graph.graph import graph_of
from heron_graph.layers import layers_of
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem
from heron_tracker.pages.flows import Edge, critical_path, edges_of, flows

NODE_SMALLEST, NODE_LARGEST = 26.0, 62.0
EDGE_THINNEST, EDGE_WIDEST = 1.5, 9.0
PAUSED, RUNS, SOURCE = "paused", "runs well", "spout"
COLOURS: Mapping[str, str] = {
    ProblemKind.CANNOT_START: "#c62828",
    ProblemKind.DOWN: "#c62828",
    ProblemKind.CRASHED: "#c62828",
    ProblemKind.STUCK: "#8e24aa",
    ProblemKind.FAILING: "#e53935",
    ProblemKind.BOTTLENECK: "#ef6c00",
    ProblemKind.SKEWED: "#f9a825",
    ProblemKind.LOST: "#ef6c00",
    PAUSED: "#78909c",
    SOURCE: "#2e7d5b",
    RUNS: "#3f74c4",
}
"""What is the matter with a component -> its colour, on light and dark ground."""
SPAN_LEAST = 200.0
"""Of both axes, in the drawing's pixels."""
MARGIN_BESIDE, MARGIN_BELOW = 0.18, 0.3
"""Beyond the outermost nodes, in parts of the whole: for their names."""
LABEL_PIXELS, NAME_PIXELS = 125, 72
"""Between two columns of nodes: for a label with numbers; for a name alone, which is cut there."""
ROW_PIXELS, HEIGHT_LEAST = 75, 272
"""For a node with its label, below each other; the height of a graph with few rows."""
NARROW_SHARE = 0.6
"""Of the size of a node, where only names are shown."""
CRITICAL = "#d81b60"
PLAIN = "#90a4ae"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A component."""

    name: str
    x: float
    y: float
    size: float
    matter: str
    """State of the component: a kind of problem, paused, or empty."""
    lines: tuple[str, ...]
    """Text below the name."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """The streams from one component to another."""

    source: str
    target: str
    width: float
    text: str
    is_critical: bool


@dataclass(frozen=True, slots=True)
class GraphView:
    """Content of the drawing."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    caption: str
    """The critical path in words."""

    @property
    def columns(self) -> int:
        """Of nodes, side by side."""
        return len({each.x for each in self.nodes})

    @property
    def rows(self) -> int:
        """Of nodes, in the longest column."""
        return max(Counter(each.x for each in self.nodes).values(), default=1)

    @property
    def matters(self) -> tuple[str, ...]:
        """Legend of the colours used, each once."""
        return tuple(dict.fromkeys(each.matter for each in self.nodes))


Positions = Mapping[str, tuple[float, float]]


def positions_of(spec: TopologySpec) -> Positions:
    """The middles of the components, as the topology is drawn by `heronpy visualize`."""
    graph = graph_of(spec)
    labels = {(each.source, each.target): each.lines for each in graph.edges}
    return {
        name: (x + width / 2, y + height / 2)
        for name, (x, y, width, height) in rectangles_of(graph, layers_of(graph), labels).items()
    }


def graph_view(
    spec: TopologySpec,
    positions: Positions,
    stats: TopologyStats | None,
    current_problems: Sequence[TrackerProblem],
) -> GraphView:
    """The graph with the newest numbers; without any, only its form."""
    components = stats.components if stats is not None else {}
    paused = _paused_by(stats)
    sizes = _scaled(
        {name: _throughput(each) for name, each in components.items()}, NODE_SMALLEST, NODE_LARGEST
    )
    nodes = [
        GraphNode(
            component.name,
            *positions[component.name],
            sizes.get(component.name, NODE_SMALLEST),
            _matter(component.name, component.is_spout, current_problems, paused),
            _lines(components.get(component.name), paused.get(component.name, ())),
        )
        for component in spec.components
    ]
    path, stay = critical_path(spec, components) if stay_is_known(components) else ((), 0.0)
    return GraphView(tuple(nodes), _edges(spec, components, path), _caption(path, stay))


def stay_is_known(components: Mapping[str, ComponentStats]) -> bool:
    """Whether a latency was measured anywhere."""
    return any(each.latency.execute.mean_ms is not None for each in components.values())


def _caption(path: Sequence[str], stay: float) -> str:
    if len(path) < 2 or stay <= 0:
        return ""
    return f"Critical path: {' → '.join(path)}, {milliseconds(stay)} for a tuple"


def _edges(
    spec: TopologySpec, components: Mapping[str, ComponentStats], path: Sequence[str]
) -> tuple[GraphEdge, ...]:
    found = flows(spec, components)
    widths = _scaled(found, EDGE_THINNEST, EDGE_WIDEST)
    critical: set[Edge] = set(pairwise(path))
    return tuple(
        GraphEdge(*edge, widths[edge], rate(found[edge]) if found[edge] else "", edge in critical)
        for edge in edges_of(spec)
    )


def _scaled(values: Mapping[Any, float], least: float, most: float) -> dict[Any, float]:
    """By the square root, so that areas compare."""
    largest = max(values.values(), default=0.0)
    if largest <= 0:
        return dict.fromkeys(values, least)
    return {
        key: least + (most - least) * (max(value, 0.0) / largest) ** 0.5
        for key, value in values.items()
    }


def _throughput(component: ComponentStats) -> float:
    is_spout = component.type == "spout"
    return component.emitted_per_sec if is_spout else component.executed_per_sec


def _paused_by(stats: TopologyStats | None) -> dict[str, tuple[str, ...]]:
    """component paused now -> instances that cause the pause."""
    causes_by_component: dict[str, dict[str, None]] = {}
    for each in stats.paused.values() if stats is not None else ():
        if each.because_of:
            causes = causes_by_component.setdefault(each.component, {})
            causes.update(dict.fromkeys(each.because_of))
    return {name: tuple(causes) for name, causes in causes_by_component.items()}


def _matter(
    name: str, is_spout: bool, found: Sequence[TrackerProblem], paused: Mapping[str, Sequence[str]]
) -> str:
    for problem in found:
        if problem.component == name:
            return problem.kind.value
    if name in paused:
        return PAUSED
    return SOURCE if is_spout else RUNS


def _lines(component: ComponentStats | None, paused: Sequence[str]) -> tuple[str, ...]:
    if component is None:
        return ()
    busy = f", {share(component.capacity)} busy" if component.type == "bolt" else ""
    first = f"{rate(_throughput(component))}{busy}"
    return (first, f"paused by {paused[0]}") if paused else (first,)


def chart(view: GraphView) -> dict[str, Any]:
    """The options of ECharts; the style sheet gives texts their colour, light or dark.

    Where labels with numbers would overlap, on a phone or in a long graph, names are shown alone:
    the table below the graph has the numbers.
    """
    nodes = [_node(node) for node in view.nodes]
    full = {"edgeLabel": {"show": True}, "data": nodes}
    narrow = {"edgeLabel": {"show": False}, "data": [_narrow_node(node) for node in view.nodes]}
    return {
        "animation": False,
        "tooltip": {"show": False},
        "grid": {"left": 10, "right": 10, "top": 10, "bottom": 10},
        "xAxis": _axis([node.x for node in view.nodes], SPAN_LEAST, MARGIN_BESIDE),
        "yAxis": {**_axis([node.y for node in view.nodes], SPAN_LEAST, MARGIN_BELOW),
                  "inverse": True},
        "series": [
            {
                "type": "graph",
                "coordinateSystem": "cartesian2d",
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 10,
                "label": {"show": True, "position": "bottom", "lineHeight": 16},
                "edgeLabel": {"show": True, "fontSize": 11, "formatter": "{c}",
                              "verticalAlign": "bottom", "padding": [0, 0, 8, 0]},
                "data": nodes,
                "links": [_link(edge) for edge in view.edges],
            }
        ],
        "media": [
            {"option": {"series": [full]}},
            {"query": {"maxWidth": _width(view, LABEL_PIXELS)}, "option": {"series": [narrow]}},
        ],
    }  # fmt: skip


def _width(view: GraphView, column_pixels: int) -> int:
    """Pixels of a graph whose columns are so far from each other."""
    return round(column_pixels * (view.columns - 1) * (1 + 2 * MARGIN_BESIDE))


def size_of(view: GraphView) -> tuple[int, int]:
    """The least width and the height, in pixels, in which names do not overlap."""
    return _width(view, NAME_PIXELS), max(HEIGHT_LEAST, view.rows * ROW_PIXELS)


def _axis(values: Sequence[float], least: float, margin: float) -> dict[str, Any]:
    """Hidden, over the values and a margin at both ends: one line of nodes has a span, too."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    half = max((high - low) * (0.5 + margin), least / 2)
    middle = (low + high) / 2
    return {"type": "value", "show": False, "min": middle - half, "max": middle + half}


def _node(node: GraphNode) -> dict[str, Any]:
    return {
        "name": node.name, "value": [round(node.x, 1), round(node.y, 1)],
        "symbolSize": round(node.size, 1), "symbol": "circle",
        "itemStyle": {"color": COLOURS.get(node.matter, PLAIN)},
        "label": {"formatter": "\n".join((node.name, *node.lines))},
    }  # fmt: skip


def _narrow_node(node: GraphNode) -> dict[str, Any]:
    """The same, smaller, with its name alone."""
    label = {"formatter": node.name, "width": NAME_PIXELS, "overflow": "truncate"}
    return {**_node(node), "symbolSize": round(node.size * NARROW_SHARE, 1), "label": label}


def _link(edge: GraphEdge) -> dict[str, Any]:
    return {
        "source": edge.source, "target": edge.target, "value": edge.text,
        "lineStyle": {
            "width": round(edge.width, 1), "curveness": 0.08, "opacity": 0.9,
            "color": CRITICAL if edge.is_critical else PLAIN,
        },
    }  # fmt: skip
