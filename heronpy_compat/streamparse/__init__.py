"""streamparse, as far as topologies are written in it; `import streamparse` may be answered by us.

    from streamparse import Bolt, Grouping, Spout, Topology

A name is imported when it is first asked for, so `import streamparse` itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heronpy_compat.streamparse.version import VERSION, __version__

if TYPE_CHECKING:
    from heronpy_compat.streamparse import bolt, cli, component, dsl, spout, storm
    from heronpy_compat.streamparse.dsl import Grouping, Stream, Topology
    from heronpy_compat.streamparse.storm import (
        BatchingBolt,
        Bolt,
        JavaBolt,
        JavaSpout,
        ReliableSpout,
        ShellBolt,
        ShellSpout,
        Spout,
        StormHandler,
        TicklessBatchingBolt,
        Tuple,
    )

__all__ = [
    "VERSION",
    "BatchingBolt",
    "Bolt",
    "Grouping",
    "JavaBolt",
    "JavaSpout",
    "ReliableSpout",
    "ShellBolt",
    "ShellSpout",
    "Spout",
    "StormHandler",
    "Stream",
    "TicklessBatchingBolt",
    "Topology",
    "Tuple",
    "__version__",
    "bolt",
    "cli",
    "component",
    "dsl",
    "spout",
    "storm",
]

_MODULES = ("bolt", "cli", "component", "dsl", "spout", "storm", "thrift", "util")
_HOME = {"Grouping": "dsl", "Stream": "dsl", "Topology": "dsl"}
"""name -> module; what is not here is in storm"""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'storm')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
