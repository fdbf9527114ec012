"""Labels required of the nodes of a component, and so of a container. Pure.

`topology.node.labels` holds for all containers, `topology.component.constraints` for the instances
of single components, and decides where both name a label. Only components with equal labels share a
container (heron_engine.scheduler.packing.groups): a container is on one node.
"""

from collections.abc import Mapping
from typing import Any

from heron_core import config as keys
from heron_core.errors import TopologyError, shown
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec

Labels = tuple[tuple[str, str], ...]
"""(label, value), sorted by label: equal constraints are equal tuples."""


def topology_labels(config: Mapping[str, Any]) -> Labels:
    """The labels that the nodes of all containers need, the topology master's as well."""
    return _sorted(keys.value_of(config, keys.NODE_LABELS))


def component_labels(topology: TopologySpec) -> dict[str, Labels]:
    """component -> labels required of its nodes. TopologyError for constraints of an unknown
    component."""
    common = keys.value_of(topology.config, keys.NODE_LABELS)
    own = keys.value_of(topology.config, keys.CONSTRAINTS)
    for name in own:
        if name not in topology.by_name:
            names = ", ".join(topology.by_name)
            raise TopologyError(
                f"{keys.CONSTRAINTS} names the component {shown(name)}: the topology has {names}"
            )
    return {name: _sorted({**common, **own.get(name, {})}) for name in topology.by_name}


def machine_labels(text: str) -> dict[str, str]:
    """Labels of a machine, from `LABEL=value,LABEL=value`. TopologyError for any other text."""
    pairs = [each.strip().partition("=") for each in text.split(",") if each.strip()]
    if wrong := [label for label, equals, value in pairs if not (label and equals and value)]:
        raise TopologyError(f"{shown(wrong[0])} is not a label: use LABEL=value,LABEL=value")
    return {label: value for label, _, value in pairs}


def unmet_labels(topology: TopologySpec, machine: Mapping[str, str]) -> dict[str, Labels]:
    """component -> labels that a machine lacks, for a topology that runs on one machine."""
    unmet = {
        name: tuple((label, value) for label, value in labels if machine.get(label) != value)
        for name, labels in component_labels(topology).items()
    }
    return {name: labels for name, labels in unmet.items() if labels}


def container_labels(topology: TopologySpec, packing: PackingPlan) -> dict[int, Labels]:
    """container -> labels required of its node. TopologyError if its components disagree."""
    of_component = component_labels(packing.topology_of(topology))
    labels: dict[int, Labels] = {}
    for container in packing.containers:
        names = dict.fromkeys(instance.component for instance in container.instances)
        wanted = {of_component[name]: name for name in names}
        if len(wanted) > 1:
            raise TopologyError(
                f"container {container.id} has {' and '.join(wanted.values())}, whose "
                f"{keys.CONSTRAINTS} differ: submit the topology again"
            )
        labels[container.id] = next(iter(wanted), topology_labels(topology.config))
    return labels


def _sorted(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
