"""Components that may share a container: their nodes need equal labels. Pure.

A topology without constraints is one group, packed as usual.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from heron_core.errors import TopologyError
from heron_core.placement import Labels, component_labels
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing.resources import Placed

Item = TypeVar("Item")
Assignment = dict[int, list[Placed]]
"""container -> its instances"""


def grouped(items: Iterable[Item], labels_of: Callable[[Item], Labels]) -> dict[Labels, list[Item]]:
    """The groups, in the order of their first items."""
    groups: dict[Labels, list[Item]] = {}
    for each in items:
        groups.setdefault(labels_of(each), []).append(each)
    return groups


def by_labels(topology: TopologySpec, instances: Iterable[Placed]) -> dict[Labels, list[Placed]]:
    """Instances by node labels."""
    of_component = component_labels(topology)
    return grouped(instances, lambda each: of_component[each.component])


def labels_of_containers(topology: TopologySpec, current: PackingPlan) -> dict[int, Labels]:
    """container -> group, for the containers of a running plan. A container without remaining
    components fits any group, and is left out.
    """
    of_component = component_labels(topology)
    labels: dict[int, Labels] = {}
    for container in current.containers:
        for instance in container.instances:
            if instance.component in of_component:
                labels[container.id] = of_component[instance.component]
    return labels


def shares(sizes: Sequence[int], containers: int, set_by: str) -> list[int]:
    """Number of `containers` for each group of instances: at least one, at most one per instance;
    the next container always goes to the group with the most instances per container.

    TopologyError, with the key `set_by`, if there are fewer containers than groups.
    """
    if containers < len(sizes):
        raise TopologyError(
            f"{set_by} is {containers}, and {len(sizes)} groups of components with different "
            f"constraints share no container: use at least {len(sizes)}"
        )
    given = [1] * len(sizes)
    for _ in range(min(containers, sum(sizes)) - len(sizes)):
        neediest = max(
            (at for at, size in enumerate(sizes) if given[at] < size),
            key=lambda at: (sizes[at] / given[at], -at),
        )
        given[neediest] += 1
    return given


def add_to_emptiest(
    topology: TopologySpec,
    current: PackingPlan,
    assignment: Assignment,
    added: Iterable[Placed],
    most: int | None = None,
) -> None:
    """Put each new instance into the emptiest container of its group. A new container is used if
    the group lacks a container with fewer than `most` instances (None: unlimited).
    """
    of_component = component_labels(topology)
    of_container = labels_of_containers(topology, current)
    for instance in added:
        labels = of_component[instance.component]
        own = [each for each in assignment if of_container.setdefault(each, labels) == labels]
        container = min(own, key=lambda each: (len(assignment[each]), each), default=None)
        if container is None or (most is not None and len(assignment[container]) >= most):
            container = max(assignment) + 1
            of_container[container] = labels
        assignment.setdefault(container, []).append(instance)
