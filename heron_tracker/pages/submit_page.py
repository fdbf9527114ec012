"""The page with the form of a submission."""

from fastapi import Request
from nicegui import ui

from heron_tracker.auth.access import LOGS_IN
from heron_tracker.pages.frame import frame
from heron_tracker.pages.permission import Refused
from heron_tracker.pages.submit_view import SCRIPT, submit_view


def submit_page(request: Request, refused: Refused) -> None:
    """Draw it; the right is that of the moment, and the route checks it again."""
    logs_in = bool(getattr(request.state, LOGS_IN, False))
    view = submit_view(logs_in, refused(request.headers, ""))
    with frame(request, "Submit a topology"):
        if view.note:
            ui.label(view.note).classes("note")
            return
        ui.html(view.form, sanitize=False)
        ui.add_body_html(SCRIPT)
