"""The pages of a topology that are tables alone: containers, checkpoints, configuration."""

from collections.abc import Callable, Sequence

from fastapi import Request

from heron_core.errors import HeronError
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cards import Sentence
from heron_tracker.pages.cells import PageColumn
from heron_tracker.pages.checkpoints_view import ALIGNMENT, CLOCKS, checkpoints_page
from heron_tracker.pages.configuration_view import CONFIG, PLAN, STREAMS, configuration_page
from heron_tracker.pages.containers_view import CONTAINERS, PROCESSES, containers_page
from heron_tracker.pages.frame import SummaryList, frame, heading, keep_fresh
from heron_tracker.pages.network_view import NETWORK
from heron_tracker.pages.overview_view import standing
from heron_tracker.pages.tables import LiveTable
from heron_tracker.service import Service


def _table(title: str, columns: Sequence[PageColumn], empty: str) -> LiveTable:
    heading(title)
    return LiveTable(columns, empty, title)


def _fresh(
    service: Service, name: str, sentence: Sentence, show: Callable[[TopologySnapshot], None]
) -> None:
    """Keep a page of a topology fresh; one that has ended says so."""

    def refresh() -> None:
        try:
            snapshot = service.topology(name)
        except HeronError as error:
            sentence.show_line(str(error))
            return
        show(snapshot)

    keep_fresh(refresh)


def containers(service: Service, request: Request, name: str) -> None:
    """Containers and hosts."""
    with frame(request, f"Containers · {name}", name, "containers"):
        sentence = Sentence(name)
        summary = SummaryList()
        table = _table("Containers", CONTAINERS, "There is no packing plan yet")
        processes = _table("Instances", PROCESSES, "No numbers have come yet")
        network = _table("Between containers", NETWORK, "Nothing has been sent")
    newest: TopologySnapshot | None = None
    previous: TopologySnapshot | None = None

    def show(snapshot: TopologySnapshot) -> None:
        nonlocal newest, previous
        if newest is None or snapshot.stats_at != newest.stats_at:
            newest, previous = snapshot, newest
        view = containers_page(snapshot, previous)
        current_problems = service.collector.problems(name)
        sentence.show(
            standing(snapshot, current_problems), "warning" if current_problems else "good"
        )
        summary.show(view.summary)
        table.show(view.containers)
        processes.show(view.processes)
        network.show(view.network)

    _fresh(service, name, sentence, show)


def checkpoints(service: Service, request: Request, name: str) -> None:
    """Checkpoints, clocks and watermarks."""
    with frame(request, f"Checkpoints · {name}", name, "checkpoints"):
        sentence = Sentence(name)
        summary = SummaryList()
        alignment = _table("Alignment of the newest", ALIGNMENT, "None waited for a millisecond")
        clocks = _table("Clocks", CLOCKS, "No component knows event time")

    def show(snapshot: TopologySnapshot) -> None:
        view = checkpoints_page(snapshot, service.calendar())
        sentence.show(view.sentence, view.tone)
        summary.show(view.summary)
        alignment.show(view.alignment)
        clocks.show(view.clocks)

    _fresh(service, name, sentence, show)


def configuration(service: Service, request: Request, name: str) -> None:
    """Configuration and plan."""
    with frame(request, f"Configuration · {name}", name, "configuration"):
        sentence = Sentence(name)
        summary = SummaryList()
        streams = _table("Streams", STREAMS, "None")
        plan = _table("Packing plan", PLAN, "There is no packing plan yet")
        config = _table("Configuration", CONFIG, "Everything is as it is by default")

    def show(snapshot: TopologySnapshot) -> None:
        view = configuration_page(snapshot)
        sentence.show(f"`{name}` as it was submitted", "quiet")
        summary.show(view.summary)
        streams.show(view.streams)
        plan.show(view.plan)
        config.show(view.config)

    _fresh(service, name, sentence, show)


PAGES = {"containers": containers, "checkpoints": checkpoints, "configuration": configuration}
"""The last part of an address -> what draws the page."""
