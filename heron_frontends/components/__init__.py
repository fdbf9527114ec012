"""Spouts and bolts that are useful by themselves, in Flux files above all.

They stand for Java components that many topologies name (see components.java), and are written
as a user's would be. Settings are attributes of the class, so a Flux file sets them as properties
and Python by a subclass; a component's config goes before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_connectors.files.spout import FileSpout
    from heron_frontends.components.durations import Duration
    from heron_frontends.components.fields import Fields
    from heron_frontends.components.groupings import NGrouping
    from heron_frontends.components.random_sources import RandomIntegers, RandomWords
    from heron_frontends.components.sinks import Discard, Log, Print
    from heron_frontends.components.windows import WindowCount, WindowDuration, WindowSizes
    from heron_frontends.components.words import CountTuples, CountWords, SplitWords, TotalOfCounts

__all__ = [
    "CountTuples",
    "CountWords",
    "Discard",
    "Duration",
    "Fields",
    "FileSpout",
    "Log",
    "NGrouping",
    "Print",
    "RandomIntegers",
    "RandomWords",
    "SplitWords",
    "TotalOfCounts",
    "WindowCount",
    "WindowDuration",
    "WindowSizes",
]

_MODULES = {
    "CountTuples": ".words",
    "CountWords": ".words",
    "Discard": ".sinks",
    "Duration": ".durations",
    "Fields": ".fields",
    "FileSpout": "heron_connectors.files.spout",
    "Log": ".sinks",
    "NGrouping": ".groupings",
    "Print": ".sinks",
    "RandomIntegers": ".random_sources",
    "RandomWords": ".random_sources",
    "SplitWords": ".words",
    "TotalOfCounts": ".words",
    "WindowCount": ".windows",
    "WindowDuration": ".windows",
    "WindowSizes": ".windows",
}


def __getattr__(name: str) -> Any:
    # Whatever loads a topology imports this package; its components are needed by few.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
