"""All pages, as one application: the only module that the rest of the service loads of NiceGUI."""

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from nicegui import ui

from heron_tracker.pages import part_pages
from heron_tracker.pages.component_page import component_page
from heron_tracker.pages.found_problems import FoundProblems
from heron_tracker.pages.front_page import front_page
from heron_tracker.pages.links import PREFIX
from heron_tracker.pages.logs_page import logs_page
from heron_tracker.pages.permission import Refused
from heron_tracker.pages.profile_page import profile_page
from heron_tracker.pages.topology_page import topology_page
from heron_tracker.service import Service

RECONNECT_SECS = 10.0
"""A page that was away for so long, because of a laptop's lid or a slow network, goes on."""
UPDATE_SECS = None
"""Nothing is bound to a value that changes by itself, so nothing has to look for changes."""
TOPOLOGY = f"{PREFIX}/topology"
STYLE = Path(__file__).with_name("style.css")


def pages(service: Service, refused: Refused) -> FastAPI:
    """The application with the pages; its lifespan has to be entered before it is asked."""
    add_pages(service, refused)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(
        app,
        title="heronpy",
        dark=None,
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

    @ui.page(f"{TOPOLOGY}/{{name}}")
    def topology(request: Request, name: str) -> None:
        topology_page(service, request, name, problems, refused)

    @ui.page(f"{TOPOLOGY}/{{name}}/component/{{component}}")
    def component(request: Request, name: str, component: str) -> None:
        component_page(service, request, name, component, problems, refused)

    @ui.page(f"{TOPOLOGY}/{{name}}/logs")
    def logs(request: Request, name: str, file: str = "") -> None:
        logs_page(service, request, name, file)

    @ui.page(f"{TOPOLOGY}/{{name}}/profile")
    def profile(request: Request, name: str, instance: str = "") -> None:
        profile_page(service, request, name, instance)

    for tab, page in part_pages.PAGES.items():
        _add_part(service, tab, page)


def _add_part(service: Service, tab: str, page: Callable[[Service, Request, str], None]) -> None:
    @ui.page(f"{TOPOLOGY}/{{name}}/{tab}")
    def part(request: Request, name: str) -> None:
        page(service, request, name)
