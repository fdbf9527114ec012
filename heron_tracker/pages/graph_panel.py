"""The graph of a topology's page."""

from collections.abc import Sequence
from html import escape

from nicegui import events, ui

from heron_core.topology import TopologySpec
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import TrackerProblem
from heron_tracker.pages.chart import Chart
from heron_tracker.pages.graph_view import (
    COLOURS,
    CRITICAL,
    GraphView,
    Positions,
    chart,
    graph_view,
    positions_of,
    size_of,
)
from heron_tracker.pages.links import component_page

CRITICAL_PATH = "critical path"


class GraphPanel:
    """Components and streams; a click leads to the component."""

    def __init__(self, topology: str) -> None:
        self._topology = topology
        self._spec: TopologySpec | None = None
        self._positions: Positions = {}
        self._shown: GraphView | None = None
        # It takes the focus, so that the keyboard scrolls a graph that is wider than the page.
        with ui.element("div").classes("graph-frame").props('tabindex="0"'):
            self._chart = Chart("svg", "graph", self._clicked, "Graph of the topology")
        self._caption = ui.label().classes("caption")
        self._legend = ui.html(sanitize=False).classes("legend")

    def _clicked(self, event: events.EChartPointClickEventArguments) -> None:
        if event.data_type == "node":
            ui.navigate.to(component_page(self._topology, event.name))

    def show(self, snapshot: TopologySnapshot, current_problems: Sequence[TrackerProblem]) -> None:
        """The graph with the newest numbers."""
        if snapshot.spec is None:
            return
        if snapshot.spec != self._spec:
            self._spec, self._positions = snapshot.spec, positions_of(snapshot.spec)
        view = graph_view(snapshot.spec, self._positions, snapshot.stats, current_problems)
        if view == self._shown:
            return
        self._shown = view
        keys = [(COLOURS[matter], matter) for matter in view.matters]
        self._legend.set_content(
            "".join(_key(*entry) for entry in [*keys, (CRITICAL, CRITICAL_PATH)])
        )
        self._caption.set_text(view.caption)
        self._chart.resize(*size_of(view))
        self._chart.show(chart(view))


def _key(colour: str, text: str) -> str:
    dot = f'<span class="dot" style="background: {colour}"></span>'
    return f'<span class="key">{dot}{escape(text)}</span>'
