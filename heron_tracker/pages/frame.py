"""What all pages have in common: head, light and dark, keyboard, and how they stay fresh."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Generic, TypeVar

from fastapi import Request
from nicegui import events, ui

from heron_tracker.auth.access import COOKIE, LOGOUT, LOGS_IN
from heron_tracker.pages.links import FRONT, TABS, topology_page

FRESH_SECS = 2.0
"""Between two pushes: masters are not asked more often."""
THEME_COOKIE = "heronpy_theme"
THEMES: dict[str, bool | None] = {"system": None, "dark": True, "light": False}
_ICONS = {"system": "brightness_auto", "dark": "dark_mode", "light": "light_mode"}
PRIMARY = "#2f6fd0"
"""Of buttons and fields: it can be read on light and dark ground."""
LOG_OUT = f'<form method="post" action="{LOGOUT}"><button class="log-out">Log out</button></form>'
"""A form, because only a POST ends a session: a link of another site cannot."""
COOKIE_SECS = 365 * 24 * 3600


@contextmanager
def frame(
    request: Request,
    title: str,
    topology: str = "",
    tab: str | None = None,
    below: tuple[str, str] | None = None,
) -> Iterator[None]:
    """The page's body: `topology` and `tab` are the current position, `below` the name and
    address of the page."""
    ui.page_title(f"{title} · heronpy")
    ui.colors(primary=PRIMARY)
    with ui.header().classes("head"):
        ui.link("heronpy", FRONT).classes("brand")
        if topology:
            ui.link(topology, topology_page(topology)).classes("crumb")
        if below is not None:
            ui.link(*below).classes("crumb")
        ui.space()
        if getattr(request.state, LOGS_IN, False) and COOKIE in request.cookies:
            ui.html(LOG_OUT, sanitize=False)
        _theme_button(request)
    if topology:
        _tabs(topology, tab)
    _shortcuts(topology)
    with ui.element("div").classes("content").props('id="content"'):
        ui.html(escape(title), sanitize=False, tag="h1").classes("page-title")
        yield


def heading(text: str) -> None:
    """Of a part of the page."""
    ui.html(escape(text), sanitize=False, tag="h2").classes("heading")


def _tabs(topology: str, current: str | None) -> None:
    links = [
        f'<a href="{escape(topology_page(topology, tab))}" '
        + ('class="tab current" aria-current="page"' if tab == current else 'class="tab"')
        + f">{escape(label)}</a>"
        for tab, label in TABS.items()
    ]
    nav = ui.html("".join(links), sanitize=False, tag="nav").classes("tabs")
    nav.props('aria-label="Pages of the topology"')


def _theme_button(request: Request) -> None:
    theme = request.cookies.get(THEME_COOKIE, "system")
    theme = theme if theme in THEMES else "system"
    dark = ui.dark_mode(THEMES[theme])
    names = list(THEMES)

    def change() -> None:
        nonlocal theme
        theme = names[(names.index(theme) + 1) % len(names)]
        dark.set_value(THEMES[theme])
        button.props(f"icon={_ICONS[theme]}")
        cookie = f"{THEME_COOKIE}={theme}; path=/; max-age={COOKIE_SECS}; samesite=strict"
        ui.run_javascript(f"document.cookie = '{cookie}'")

    button = ui.button(on_click=change).props(
        f'flat round color=white icon={_ICONS[theme]} aria-label="Light or dark"'
    )


def _shortcuts(topology: str) -> None:
    """Keyboard shortcuts. o: all topologies; 1, 2, …: pages of the topology."""

    def pressed(event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt:
            return
        tabs = list(TABS)
        if event.key == "o":
            ui.navigate.to(FRONT)
        elif topology and event.key.number is not None and 1 <= event.key.number <= len(tabs):
            ui.navigate.to(topology_page(topology, tabs[event.key.number - 1]))

    ui.keyboard(on_key=pressed)


def keep_fresh(
    refresh: Callable[[], None] | Callable[[], Awaitable[None]], secs: float = FRESH_SECS
) -> None:
    """Call `refresh` at once, and while the page is open."""
    ui.timer(secs, refresh, immediate=True)


Value = TypeVar("Value")


class ShownPart(Generic[Value]):
    """A part of a page, redrawn only when its content has changed."""

    def __init__(self, draw: Callable[[Value], None]) -> None:
        self._draw = draw
        self._value: Value | None = None
        self._at = ui.element("div").classes("part")

    def show(self, value: Value) -> None:
        """Draw the part, unless unchanged."""
        if value == self._value:
            return
        self._value = value
        self._at.clear()
        with self._at:
            self._draw(value)


class SummaryList:
    """Names and values, side by side as far as there is room; one element, because the service pays
    for each."""

    def __init__(self) -> None:
        self._at = ui.html(sanitize=False, tag="dl").classes("summary")

    def show(self, summary: Sequence[tuple[str, str]]) -> None:
        """The newest values."""
        self._at.set_content(
            "".join(
                f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                for name, value in summary
            )
        )
