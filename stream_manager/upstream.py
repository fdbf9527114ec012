"""Which components pause when another one is a cause of back-pressure, by mode."""

from collections.abc import Callable

from heron_core.config import DROP, SPOUT, STAGE
from heron_core.topology import TopologySpec

Upstream = dict[str, frozenset[str]]
"""component -> the components that are to pause when it is a cause"""


def upstream_of(topology: TopologySpec) -> Upstream:
    """Mode stage: who sends into the component pauses."""
    fed_by = {each.name: topology.producers_of(each.name) for each in topology.components}
    above = {name: _ancestors(name, fed_by) for name in fed_by}
    return {name: _feeders(name, fed_by, above) for name in fed_by}


def _feeders(name: str, fed_by: dict[str, set[str]], above: dict[str, set[str]]) -> frozenset[str]:
    """Who sends into `name`, or into the cycle that it is part of, from outside of the cycle."""
    cycle = {name} | {other for other in above[name] if name in above[other]}
    return frozenset(source for member in cycle for source in fed_by[member]) - cycle


def _ancestors(name: str, fed_by: dict[str, set[str]]) -> set[str]:
    """The components that `name` gets tuples from, directly or not."""
    ancestors: set[str] = set()
    ahead = list(fed_by[name])
    while ahead:
        component = ahead.pop()
        if component not in ancestors:
            ancestors.add(component)
            ahead.extend(fed_by[component])
    return ancestors


def spouts_of(topology: TopologySpec) -> Upstream:
    """Mode spout: all spouts pause, Heron's way, which slows every branch for the slowest."""
    spouts = frozenset(each.name for each in topology.components if each.is_spout)
    return {each.name: spouts for each in topology.components}


def _nobody(topology: TopologySpec) -> Upstream:
    """Mode drop: what finds a queue full is lost instead."""
    return {}


PAUSED_BY_MODE: dict[str, Callable[[TopologySpec], Upstream]] = {
    STAGE: upstream_of,
    SPOUT: spouts_of,
    DROP: _nobody,
}
