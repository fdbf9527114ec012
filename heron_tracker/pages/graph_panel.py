"""The graph of a topology's page."""

from collections.abc import Sequence

from nicegui import events, ui

from heron_core.topology import TopologySpec
from heron_tracker.pages.graph_view import (
    COLOURS,
    CRITICAL,
    GraphView,
    Positions,
    chart,
    graph_view,
    positions_of,
)
from heron_tracker.pages.links import component_page
from heron_tracker.problems import Problem
from heron_tracker.snapshot import TopologySnapshot


class GraphPanel:
    """Components and streams; a click leads to the component."""

    def __init__(self, topology: str) -> None:
        self._topology = topology
        self._spec: TopologySpec | None = None
        self._positions: Positions = {}
        self._shown: GraphView | None = None
        self._chart = ui.echart({}, on_point_click=self._clicked, renderer="svg").classes("graph")
        self._chart.props('role="img" aria-label="Graph of the topology"')
        self._caption = ui.label().classes("caption")
        self._legend = ui.element("div").classes("legend")

    def _clicked(self, event: events.EChartPointClickEventArguments) -> None:
        if event.data_type == "node":
            ui.navigate.to(component_page(self._topology, event.name))

    def show(self, snapshot: TopologySnapshot, found: Sequence[Problem]) -> None:
        """The graph with the newest numbers."""
        if snapshot.spec is None:
            return
        if snapshot.spec != self._spec:
            self._spec, self._positions = snapshot.spec, positions_of(snapshot.spec)
        view = graph_view(snapshot.spec, self._positions, snapshot.stats, found)
        if view == self._shown:
            return
        if self._shown is None or view.matters != self._shown.matters:
            self._draw_legend(view)
        self._shown = view
        self._caption.set_text(view.caption)
        self._chart.options.update(chart(view))
        self._chart.update()

    def _draw_legend(self, view: GraphView) -> None:
        self._legend.clear()
        with self._legend:
            for matter in view.matters:
                _key(COLOURS[matter], matter)
            _key(CRITICAL, "critical path")


def _key(colour: str, text: str) -> None:
    with ui.element("span").classes("key"):
        ui.element("span").classes("dot").style(f"background: {colour}")
        ui.label(text)
