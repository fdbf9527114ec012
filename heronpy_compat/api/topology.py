"""heronpy.api.topology."""

from heron_api.topology import Topology as Topology
from heron_api.topology import TopologyBuilder as TopologyBuilder
from heron_api.topology import TopologyType as TopologyType
