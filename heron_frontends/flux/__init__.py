"""Topologies in YAML, as Storm's Flux defines them, with Python classes as components.

Differences to Flux, each of which is an error with file and line rather than a surprise: an unknown
key, a ${name} without a value, an id that is used twice, a reference to what is declared later,
workerHooks, a factory for a spout or bolt, nested includes. The outputs of a component are what its
class declares. `numTasks` is the number of instances, as there are no executors apart from tasks.
Beyond Flux there are the grouping type PARTIAL_KEY (with args) and `$${name}` for the text ${name}.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_frontends.flux.loading import load_flux

__all__ = ["load_flux"]


def __getattr__(name: str) -> Any:
    """`load_flux` is imported when it is asked for: instances only need the objects."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from heron_frontends.flux.loading import load_flux

    return load_flux
