"""A component's page: its tasks side by side, how busy they were, latencies, errors."""

import asyncio

from fastapi import Request
from nicegui import ui

from heron_core.errors import HeronError
from heron_tracker.model.history import Point
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cards import Sentence
from heron_tracker.pages.chart import Chart
from heron_tracker.pages.component_view import (
    LATENCIES,
    TASKS,
    heat_map,
    rate_lines,
)
from heron_tracker.pages.component_view import (
    component_page as view_of,
)
from heron_tracker.pages.found_problems import FoundProblems
from heron_tracker.pages.frame import SummaryList, frame, heading, keep_fresh
from heron_tracker.pages.latency_view import latency_map, measured_kinds
from heron_tracker.pages.links import component_page as link_to
from heron_tracker.pages.permission import Refused
from heron_tracker.pages.recent_points import RecentPoints
from heron_tracker.pages.sample_panel import SamplePanel
from heron_tracker.pages.tables import LiveTable
from heron_tracker.pages.texts import plain
from heron_tracker.service import Service

CHART_SECS = 10.0
"""Between two looks at the history, which has a point every ten seconds."""


def component_page(
    service: Service, request: Request, topology: str, name: str, problems: FoundProblems,
    refused: Refused,
) -> None:  # fmt: skip
    """Draw it, and keep it fresh."""
    with frame(request, f"{name} · {topology}", topology, "", (name, link_to(topology, name))):
        sentence = Sentence(topology)
        summary = SummaryList()
        heading("Tasks")
        tasks = LiveTable(TASKS, "No numbers have come yet", "Tasks")
        heading("Latency")
        latencies = LiveTable(LATENCIES, "None was measured yet", "Latencies")
        heading("Last error")
        traceback = ui.label().classes("trace")
        heading("Busy, by task, in the last hour")
        busy = Chart("canvas")
        latency = _LatencyChart(service, topology, name)
        heading("Tuples per second in the last hour")
        rates = Chart("svg")
        heading("A sample of its tuples")
        SamplePanel(service, topology, name, lambda: refused(request.headers, topology))

    recent = RecentPoints(service)

    def refresh() -> None:
        try:
            snapshot = service.topology(topology)
        except HeronError as error:
            sentence.show_line(str(error))
            return
        stats = snapshot.components.get(name)
        if stats is None:
            sentence.show_line(f"{topology} has no numbers of component `{name}` yet")
            return
        timed_problems = problems.of(snapshot)
        view = view_of(snapshot, name, stats, timed_problems, service.calendar())
        sentence.show(view.sentence, view.tone)
        summary.show(view.summary)
        tasks.show(view.tasks)
        latencies.show(view.latencies)
        traceback.set_text(plain(view.traceback) or "none")

    async def redraw() -> None:
        snapshot = service.visible(topology)
        if snapshot is None:
            return
        points = await asyncio.to_thread(recent.of, snapshot, name)
        busy.show(heat_map(points, _names(snapshot, name), "__capacity"))
        latency.show(points)
        series = {"executed": "__execute-count", "emitted": "__emit-count"}
        lines = [rate_lines({word: points}, each)["series"][0] for word, each in series.items()]
        rates.show({**rate_lines({}, ""), "series": lines})

    keep_fresh(refresh)
    keep_fresh(redraw, CHART_SECS)


class _LatencyChart:
    """The heat map of one kind of latency, which may be chosen among those that were measured."""

    def __init__(self, service: Service, topology: str, component: str) -> None:
        self._service = service
        self._topology = topology
        self._component = component
        self._points: list[Point] = []
        heading("Latency, by task, in the last hour")
        self._kind = ui.toggle([], on_change=self._draw).props("no-caps dense")
        self._chart = Chart("canvas")

    def show(self, points: list[Point]) -> None:
        """The newest points of the history."""
        self._points = points
        kinds = measured_kinds(points)
        if kinds and kinds != self._kind.options:
            # The last is the one that tells most: of a whole tree, where there is one.
            chosen = self._kind.value if self._kind.value in kinds else kinds[-1]
            self._kind.set_options(kinds, value=chosen)
        self._draw()

    def _draw(self) -> None:
        snapshot = self._service.visible(self._topology)
        if snapshot is None or not self._kind.value:
            return
        names = _names(snapshot, self._component)
        self._chart.show(latency_map(self._points, names, str(self._kind.value)))


def _names(snapshot: TopologySnapshot, component: str) -> dict[int, str]:
    return {each.task: each.instance for each in snapshot.instances if each.component == component}
