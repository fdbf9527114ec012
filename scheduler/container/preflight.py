"""`python -m scheduler.container.preflight`: whether the engine can run a topology.

The topology is read from stdin. The output is one JSON object: the engine's version and protocol
and, for a matching protocol, a reason why the topology cannot run, if any. All imports of
containers are tried, including the classes of all components.
"""

import importlib
import json
import sys
from collections.abc import Sequence

from heron_core.errors import HeronError
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.version import PROTOCOL, VERSION

SERVICES = (
    "heron_engine.stream_manager.server",
    "heron_engine.topology_master.server",
    "heron_instance.server",
)


def main(words: Sequence[str] | None = None) -> int:
    """Answer, and end."""
    (asked,) = sys.argv[1:] if words is None else words
    answer = {"version": VERSION, "protocol": PROTOCOL, "error": ""}
    if int(asked) == PROTOCOL:
        answer["error"] = _trouble(sys.stdin.read())
    print(json.dumps(answer))
    return 0


def _trouble(text: str) -> str:
    """Reason why the topology cannot run, in one line; empty if possible."""
    try:
        for service in SERVICES:
            importlib.import_module(service)
        load_classes(topology_from_json(json.loads(text)))
    except HeronError as error:
        return str(error)
    except Exception as error:  # user code is imported, and may raise anything
        return f"{type(error).__name__}: {error}"
    return ""


def load_classes(topology: TopologySpec) -> None:
    """Import the classes of all components, as their instances do."""
    from heron_api.class_loading import load_class
    from heron_engine.scheduler.container.executor import make_importable

    make_importable(topology)
    for each in topology.components:
        load_class(each.class_path)


if __name__ == "__main__":
    sys.exit(main())
