"""Whether there can be pages, and what to say where there cannot; it imports nothing of them."""

import importlib.util

LIBRARY = "nicegui"
NOT_INSTALLED = (
    "the pages need the package nicegui: pip install 'heronpy-topologies[ui]'. "
    "Everything else works without it"
)


def are_installed() -> bool:
    """Nothing is imported."""
    return importlib.util.find_spec(LIBRARY) is not None
