"""A topology as the bytes of a picture."""

from heron_core.topology import TopologySpec
from heron_graph.dot import to_dot
from heron_graph.graph import graph_of
from heron_graph.layout import layout
from heron_graph.png import to_png
from heron_graph.svg import to_svg

FORMATS = ("svg", "png", "dot")


def render(topology: TopologySpec, form: str) -> bytes:
    """The picture in one of FORMATS; UsageError if what PNG needs is not installed."""
    graph = graph_of(topology)
    match form:
        case "dot":
            return to_dot(graph).encode("utf-8")
        case "png":
            return to_png(layout(graph))
        case "svg":
            return to_svg(layout(graph)).encode("utf-8")
    raise ValueError(f"no format {form!r}")
