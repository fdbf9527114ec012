"""The page of a name that is not there: one line with the names that are near it."""

from fastapi import Request
from nicegui import ui

from heron_core.errors import HeronError
from heron_core.validation import choices
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cards import Sentence
from heron_tracker.pages.frame import frame, keep_fresh
from heron_tracker.service import Service


def missing_page(service: Service, request: Request, name: str, component: str = "") -> bool:
    """Draw it if there is no topology, or no component, of that name; whether that is so.

    A topology that appears later, because its submit was not yet over, replaces it.
    """
    if not why_missing(service, name, component):
        return False
    with frame(request, f"{component or name} is not there"):
        sentence = Sentence()

    def refresh() -> None:
        why = why_missing(service, name, component)
        if why:
            sentence.show_line(why)
        else:
            ui.navigate.reload()

    keep_fresh(refresh)
    return True


def why_missing(service: Service, name: str, component: str) -> str:
    """The line; empty if all is there."""
    try:
        snapshot = service.topology(name)
    except HeronError as error:
        return str(error)
    names = component_names(snapshot)
    # Without a plan and without numbers the components are not known yet.
    if not component or not names or component in names:
        return ""
    return f"{name} has no component {component!r:.200}: {choices('components', component, names)}"


def component_names(snapshot: TopologySnapshot) -> list[str]:
    """By the plan, and those that have numbers."""
    planned = [each.name for each in snapshot.spec.components] if snapshot.spec else []
    return list(dict.fromkeys([*planned, *snapshot.components]))
