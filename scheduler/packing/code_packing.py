"""The packing plan of a running topology with changed code.

An affected component gets new task ids, above all existing ones, in place of its old ones; so a
new process is never confused with an old one, and saved state is redistributed as after any
update. All other components are unchanged.
"""

from collections.abc import Mapping

from heron_core.code_change import CodeChange
from heron_core.config.names import FIRST_FIT_DECREASING
from heron_core.plans import ContainerPlan, PackingPlan
from heron_core.records import replace
from heron_engine.scheduler.packing import (
    algorithm_name,
    first_fit,
    round_robin,
)
from heron_engine.scheduler.packing.groups import add_to_emptiest
from heron_engine.scheduler.packing.resources import Placed


def pack_code(current: PackingPlan, change: CodeChange) -> PackingPlan:
    """The plan by which the changed code runs. TopologyError for what does not fit."""
    task = max(current.instances)
    successors: dict[int, int] = {}
    """task -> its replacement"""
    for name in (
        component.name
        for component in change.topology.components
        if component.name in change.renewed
    ):
        for old in sorted(current.tasks_of[name], key=lambda each: current.instances[each].index):
            task += 1
            successors[old] = task
    placed = _stay(current, change, successors)
    added = []
    for component in (change.topology.by_name[name] for name in change.added):
        for index in range(component.parallelism):
            task += 1
            added.append(Placed(component.name, index, task))
    plan = _sized(current, change, placed, added)
    containers = tuple(_unmoved(container, current) for container in plan.containers)
    return replace(plan, containers=containers, changed=change.topology)


def _stay(
    current: PackingPlan, change: CodeChange, successors: Mapping[int, int]
) -> dict[int, list[Placed]]:
    return {
        container.id: [
            Placed(instance.component, instance.index, successors.get(instance.task, instance.task))
            for instance in container.instances
            if instance.component not in change.removed
        ]
        for container in current.containers
    }


def _sized(
    current: PackingPlan,
    change: CodeChange,
    placed: dict[int, list[Placed]],
    added: list[Placed],
) -> PackingPlan:
    if algorithm_name(change.topology.config) == FIRST_FIT_DECREASING:
        return first_fit.packed_first_fit(change.topology, placed, added)
    add_to_emptiest(change.topology, current, placed, added)
    return round_robin.sized(change.topology, placed)


def _unmoved(container: ContainerPlan, current: PackingPlan) -> ContainerPlan:
    """A continuing instance keeps its resources."""
    instances = tuple(current.instances.get(each.task, each) for each in container.instances)
    return replace(container, instances=instances)
