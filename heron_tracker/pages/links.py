"""The addresses of the pages."""

from urllib.parse import quote, urlencode

PREFIX = "/ui"
FRONT = "/"
SUBMIT = f"{PREFIX}/submit"
OWN_FILES = "/_nicegui"
"""Scripts, styles and the websocket of the pages, all served from here."""

TABS = {
    "": "Topology",
    "containers": "Containers",
    "checkpoints": "Checkpoints",
    "logs": "Logs",
    "profile": "Profile",
    "configuration": "Configuration",
}
"""The last part of an address -> what it is called."""


def is_page(path: str) -> bool:
    """Whether the pages answer to this path, not one of the REST services."""
    return path == FRONT or any(
        path == each or path.startswith((each + "/", each + "_")) for each in (PREFIX, OWN_FILES)
    )


def topology_page(name: str, tab: str = "", **query: str) -> str:
    """The address of a topology's page."""
    path = f"{PREFIX}/topology/{quote(name, safe='')}" + (f"/{tab}" if tab else "")
    return f"{path}?{urlencode(query)}" if query else path


def component_page(topology: str, component: str) -> str:
    """The address of a component's page."""
    return f"{topology_page(topology)}/component/{quote(component, safe='')}"
