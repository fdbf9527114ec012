"""A topology's page: what holds it back, its graph, its components, what happened, actions."""

import asyncio

from fastapi import Request

from heron_core.errors import StateStoreError
from heron_core.operations import Operation, Way
from heron_engine.scheduler.operations import TopologyRequests
from heron_tracker.envelope import Forbidden, NotFound
from heron_tracker.model.history import Point
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.actions_panel import ActionsPanel
from heron_tracker.pages.cards import Cards, Sentence
from heron_tracker.pages.chart import Chart
from heron_tracker.pages.component_page import CHART_SECS
from heron_tracker.pages.component_view import rate_lines
from heron_tracker.pages.found_problems import FoundProblems
from heron_tracker.pages.frame import SummaryList, frame, heading, keep_fresh
from heron_tracker.pages.graph_panel import GraphPanel
from heron_tracker.pages.permission import Refused
from heron_tracker.pages.recent_points import RecentPoints
from heron_tracker.pages.tables import LiveTable
from heron_tracker.pages.topology_view import (
    COMPONENTS,
    EVENTS,
    events_table,
)
from heron_tracker.pages.topology_view import (
    topology_page as view_of,
)
from heron_tracker.requesters import client_of
from heron_tracker.service import Service

LINES_MAX = 20
"""In the chart: more cannot be told apart."""


def topology_page(
    service: Service, request: Request, name: str, problems: FoundProblems, refused: Refused
) -> None:
    """Draw it, and keep it fresh."""
    with frame(request, name, name, ""):
        sentence = Sentence(name)
        summary = SummaryList()
        cards = Cards(names_topology=False)
        reader = client_of(request, Way.PAGE)
        actions = ActionsPanel(service, name, lambda: refused(request.headers, name), reader)
        graph = GraphPanel(name)
        heading("Components")
        components = LiveTable(COMPONENTS, "No numbers have come yet", "Components")
        heading("Tuples per second in the last hour")
        rates = Chart("svg")
        heading("What happened")
        events = LiveTable(EVENTS, "Nothing worth telling yet", "Events")

    recent = RecentPoints(service)

    async def refresh() -> None:
        try:
            snapshot = service.topology(name)
        except NotFound:
            sentence.show_line(f"{name} is not running: it has ended, or was killed")
            return
        except Forbidden as error:  # the right was withdrawn while the page was open
            sentence.show_line(str(error))
            return
        operations = await asyncio.to_thread(_operations, service, name)
        timed_problems = problems.of(snapshot)
        view = view_of(snapshot, timed_problems, service.calendar())
        sentence.show(view.sentence, view.tone)
        summary.show(view.summary)
        cards.show(view.cards)
        actions.show(snapshot, operations)
        graph.show(snapshot, [each for each, _ in timed_problems])
        components.show(view.components)
        events.show(events_table(snapshot, operations))

    async def redraw() -> None:
        snapshot = service.visible(name)
        if snapshot is None:
            return
        points = await asyncio.to_thread(_history, recent, snapshot)
        rates.show(rate_lines(points, "__execute-count"))

    keep_fresh(refresh)
    keep_fresh(redraw, CHART_SECS)


def _operations(service: Service, name: str) -> dict[int, Operation]:
    """What was asked for; nothing while the state store cannot be reached."""
    try:
        return TopologyRequests(service.store, name).all()
    except StateStoreError:
        return {}


def _history(recent: RecentPoints, snapshot: TopologySnapshot) -> dict[str, list[Point]]:
    """bolt -> its points of the last hour."""
    bolts = [name for name, each in snapshot.components.items() if each.type == "bolt"]
    return {name: recent.of(snapshot, name) for name in bolts[:LINES_MAX]}
