"""Imports before the first fork of what some components of ours import: instances share it.

Only modules that start neither a thread nor a connection: a fork would lose these.
"""

import logging
from importlib import import_module

from heron_core.topology import TopologySpec

SHARED = ("heronpy_compat.beam.",)
"""Beginnings of class paths. Beam takes two seconds of CPU, and 150 MB, to import."""

log = logging.getLogger(__name__)


def import_heavy(topology: TopologySpec) -> None:
    """Import the modules of the components' classes.

    What cannot be imported is left to the instances, which report it with their component.
    """
    for module in sorted({each.class_path.rpartition(".")[0] for each in topology.components}):
        if not module.startswith(SHARED):
            continue
        try:
            import_module(module)
        except Exception as error:
            log.warning("%s is not imported before the instances are forked: %s", module, error)
