"""Labels of nodes on YARN: the names of partitions, one for each node. Pure.

The only label of a node of YARN is the name of a partition. So topologies name partitions by one
label of ours, `partition`: `topology.node.labels: {partition: gpu}` for all containers,
`topology.component.constraints: {train: {partition: gpu}}` for the instances of a component. Each
request of the application master has the partition of the container; the queue decides for others
(default-node-label-expression).
"""

from collections.abc import Collection, Mapping

from heron_core import config as keys
from heron_core.errors import TopologyError, UsageError, shown
from heron_core.placement import Labels, container_labels, topology_labels
from heron_core.plans import MASTER_CONTAINER, PackingPlan
from heron_core.topology import TopologySpec

PARTITION = "partition"
EVERY = "*"
"""In a queue's accessible labels."""


def partitions(topology: TopologySpec, packing: PackingPlan) -> dict[int, str]:
    """container -> partition, the topology master's as well, without unconstrained containers.
    TopologyError for a label other than `partition`."""
    labels = {
        MASTER_CONTAINER: topology_labels(topology.config),
        **container_labels(topology, packing),
    }
    found = {number: _partition(of) for number, of in labels.items()}
    return {number: name for number, name in found.items() if name}


def _partition(labels: Labels) -> str:
    for label, value in labels:
        if label != PARTITION:
            raise TopologyError(
                f"the label {shown(label)} ({keys.NODE_LABELS}, {keys.CONSTRAINTS}) does not exist "
                f"on YARN, whose nodes have the name of a partition alone: use {PARTITION}: NAME"
            )
        if not value:
            raise TopologyError(f"{PARTITION} is empty ({keys.CONSTRAINTS}): name a partition")
        return value
    return ""


def check_partitions(
    wanted: Collection[str],
    nodes: Mapping[str, int],
    accessible: Collection[str],
    queue: str,
) -> None:
    """UsageError for a partition unknown to YARN, without nodes, or closed to the queue. `nodes`:
    partition -> number of nodes."""
    for name in sorted(wanted):
        if name not in nodes:
            known = ", ".join(sorted(nodes)) or "none: yarn.node-labels.enabled"
            raise UsageError(
                f"YARN has no partition {name!r} (its partitions: {known}): make it by `yarn "
                f"rmadmin -addToClusterNodeLabels {name}`, or correct {keys.CONSTRAINTS}"
            )
        if not nodes[name]:
            raise UsageError(
                f"no node of YARN is in the partition {name}: `yarn rmadmin -replaceLabelsOnNode "
                f"HOST={name}` brings one there"
            )
        if name not in accessible and EVERY not in accessible:
            raise UsageError(
                f"the queue {queue} of YARN has no access to the partition {name}: set its "
                "accessible-node-labels, or yarn: queue"
            )
