"""heronpy.api.topology_context."""

from heron_api.topology_context import TopologyContext as TopologyContext
