"""Which components pause when another one is a cause of back-pressure, by mode."""

from collections.abc import Callable

from heron_core.config import DROP, SPOUT, STAGE
from heron_core.graph_walks import external_feeders
from heron_core.topology import TopologySpec

Upstream = dict[str, frozenset[str]]
"""component -> the components that are to pause when it is a cause"""


def upstream_of(topology: TopologySpec) -> Upstream:
    """Mode stage: who sends into the component pauses, or into the cycle that it is part of."""
    return external_feeders(topology.feeders)


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
