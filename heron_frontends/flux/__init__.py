"""Topologies in YAML, as Storm's Flux defines them, with Python classes as components.

Differences to Flux, each an error with file and line: an unknown key, a ${name} without a value, a
duplicate id, a reference to a later declaration, workerHooks, a factory for a spout or bolt, nested
includes. A component has the outputs declared by its class. `numTasks` is the number of instances,
because executors and tasks coincide. Extensions to Flux: the grouping type PARTIAL_KEY (with args)
and `$${name}` for the text ${name}.
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
