"""Whether a topology has to hear of time that passes while its input is silent."""

from heron_api.class_loading import load_class
from heron_core import config as keys
from heron_core.topology import ComponentSpec, TopologySpec

TIMELESS = frozenset({"heron_api.bolt.bolt", "heronpy_compat.pystorm.bolt"})
"""Modules of base classes whose `process_tick` does nothing, unless the config asks for ticks."""


def wants_ticks(topology: TopologySpec) -> bool:
    """Whether the config asks for ticks, or a bolt may by itself: windows and timers do, when they
    are initialized, and so may whatever defines `process_tick`."""
    configs = (topology.config, *(each.config for each in topology.components))
    return any(map(keys.tick_interval_secs, configs)) or any(map(_takes_ticks, topology.components))


def _takes_ticks(component: ComponentSpec) -> bool:
    if component.is_spout:
        return False
    takes = getattr(load_class(component.class_path), "process_tick", None)
    return takes is not None and takes.__module__ not in TIMELESS
