"""The front page: all topologies."""

from fastapi import Request
from nicegui import ui

from heron_tracker.pages.cards import Cards, Sentence
from heron_tracker.pages.found_problems import FoundProblems
from heron_tracker.pages.frame import frame, keep_fresh
from heron_tracker.pages.links import SUBMIT
from heron_tracker.pages.overview_view import COLUMNS, overview
from heron_tracker.pages.tables import LiveTable
from heron_tracker.service import Service


def front_page(service: Service, request: Request, problems: FoundProblems) -> None:
    """Draw it, and keep it fresh."""
    with frame(request, "Topologies"):
        ui.link("Submit a topology", SUBMIT).classes("submit-link")
        sentence = Sentence()
        cards = Cards(names_topology=True)
        table = LiveTable(COLUMNS, "No topology is running", "All topologies")

    def refresh() -> None:
        topologies = [(snapshot, problems.of(snapshot)) for snapshot in service.all()]
        for snapshot, _ in topologies:  # it counts as looked at
            service.collector.snapshot(snapshot.name)
        view = overview(topologies, service.calendar())
        sentence.show(view.sentence, view.tone)
        cards.show(view.cards)
        table.show(view.table)

    keep_fresh(refresh)
