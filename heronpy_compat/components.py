"""Ready-made spouts and bolts under their documented path: see heron_frontends.components."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Late: whatever makes components from these stands above this package.
    return getattr(import_module("heron_frontends.components"), name)
