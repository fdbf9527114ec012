"""All pages, as one application: the only module of NiceGUI code that the service loads."""

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import ui

from heron_tracker.pages import part_pages
from heron_tracker.pages.component_page import component_page
from heron_tracker.pages.found_problems import FoundProblems
from heron_tracker.pages.front_page import front_page
from heron_tracker.pages.links import PREFIX, SUBMIT
from heron_tracker.pages.logs_page import logs_page
from heron_tracker.pages.missing_page import missing_page
from heron_tracker.pages.permission import Refused
from heron_tracker.pages.profile_page import profile_page
from heron_tracker.pages.submit_page import submit_page
from heron_tracker.pages.topology_page import topology_page
from heron_tracker.service import Service

RECONNECT_SECS = 10.0
"""A page that was away for so long, because of a laptop's lid or a slow network, goes on."""
UPDATE_SECS = None
"""Pages bind no values, so NiceGUI needs no loop over bindings."""
TOPOLOGY = f"{PREFIX}/topology"
STYLE = Path(__file__).with_name("style.css")


def pages(service: Service, refused: Refused) -> FastAPI:
    """The application with the pages; enter its lifespan before the first request."""
    add_pages(service, refused)
    # Quasar's bar has no name for screen readers, and runs while the websocket is opened.
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        app,
        title="heronpy",
        dark=None,
        language="en-US",
        binding_refresh_interval=UPDATE_SECS,
        reconnect_timeout=RECONNECT_SECS,
        show_welcome_message=False,
        tailwind=False,
    )
    return app


def add_pages(service: Service, refused: Refused) -> None:
    """Register all pages."""
    problems = FoundProblems(service)
    ui.add_css(STYLE.read_text("utf-8"), shared=True)

    @ui.page("/")
    def front(request: Request) -> None:
        front_page(service, request, problems)

    @ui.page(SUBMIT)
    def submit(request: Request) -> None:
        submit_page(request, refused)

    @ui.page(f"{TOPOLOGY}/{{name}}")
    def topology(request: Request, name: str) -> None:
        if not missing_page(service, request, name):
            topology_page(service, request, name, problems, refused)

    @ui.page(f"{TOPOLOGY}/{{name}}/component/{{component}}")
    def component(request: Request, name: str, component: str) -> None:
        if not missing_page(service, request, name, component):
            component_page(service, request, name, component, problems, refused)

    @ui.page(f"{TOPOLOGY}/{{name}}/logs")
    def logs(request: Request, name: str, file: str = "") -> None:
        if not missing_page(service, request, name):
            logs_page(service, request, name, file)

    @ui.page(f"{TOPOLOGY}/{{name}}/profile")
    def profile(request: Request, name: str, instance: str = "") -> None:
        if not missing_page(service, request, name):
            profile_page(service, request, name, instance)

    for tab, page in part_pages.PAGES.items():
        _add_part(service, tab, page)


def _add_part(service: Service, tab: str, page: Callable[[Service, Request, str], None]) -> None:
    @ui.page(f"{TOPOLOGY}/{{name}}/{tab}")
    def part(request: Request, name: str) -> None:
        if not missing_page(service, request, name):
            page(service, request, name)
