"""Repacking: a running topology gets more or fewer instances, or containers.

Running instances stay in place as far as possible, with their task ids, because a moved instance
is restarted. The last instances of a component are removed (the highest indexes), new ones get
task ids above the highest; containers are added and removed at the highest numbers. Without a
requested number of containers none gets more instances than the fullest has, or had at its
submit (Heron: RoundRobinPacking.repack), so none outgrows its allocation; an empty container is
removed. With a requested number the instances are spread evenly.
"""

from collections.abc import Iterable, Mapping, Sequence, Set

from heron_core.config import check_instances
from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.storm_settings import check_limits
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import first_fit, round_robin
from heron_engine.scheduler.packing.groups import (
    Assignment,
    add_to_emptiest,
    by_labels,
    labels_of_containers,
    shares,
)
from heron_engine.scheduler.packing.resources import Placed


def repack_round_robin(
    topology: TopologySpec,
    current: PackingPlan,
    parallelism: Mapping[str, int],
    containers: int | None,
    grow: bool = False,
) -> PackingPlan:
    """By round robin. TopologyError if there are not so many instances."""
    assignment, added = _changed(topology, current, parallelism)
    total = sum(map(len, assignment.values())) + len(added)
    if containers is None:
        plans = (current, round_robin.pack(topology))  # the spec has the numbers of its submit
        most = max(len(container.instances) for plan in plans for container in plan.containers)
        add_to_emptiest(topology, current, assignment, added, None if grow else most)
    else:
        if not 1 <= containers <= total:
            raise TopologyError(
                f"{containers} containers for {total} instances: use {_range(total)}"
            )
        assignment = _spread_groups(topology, current, assignment, added, containers)
    return _plan(current, round_robin.sized(topology, assignment))


def repack_first_fit(
    topology: TopologySpec,
    current: PackingPlan,
    parallelism: Mapping[str, int],
    containers: int | None,
    grow: bool = False,
) -> PackingPlan:
    """By first fit decreasing. TopologyError for a given number of containers, which the
    algorithm determines."""
    if containers is not None:
        raise TopologyError(
            "first_fit_decreasing finds the number of containers itself: leave --container-number "
            "out, or use topology.packing.algorithm: round_robin"
        )
    assignment, added = _changed(topology, current, parallelism)
    return _plan(current, first_fit.packed_first_fit(topology, assignment, added))


def _changed(
    topology: TopologySpec, current: PackingPlan, parallelism: Mapping[str, int]
) -> tuple[Assignment, list[Placed]]:
    """Unmoved and new instances; TopologyError above the limits."""
    numbers = {name: len(tasks) for name, tasks in current.tasks_of.items()} | dict(parallelism)
    check_instances(topology.config, sum(numbers.values()))
    check_limits(topology, parallelism)
    assignment = {
        container.id: [
            Placed(instance.component, instance.index, instance.task)
            for instance in container.instances
            if instance.index < parallelism.get(instance.component, instance.index + 1)
        ]
        for container in current.containers
    }
    task = max(current.instances)
    added = []
    for component, number in parallelism.items():
        first = 1 + max(current.instances[task].index for task in current.tasks_of[component])
        for index in range(first, number):
            task += 1
            added.append(Placed(component, index, task))
    return assignment, added


def _spread_groups(
    topology: TopologySpec,
    current: PackingPlan,
    assignment: Assignment,
    added: Sequence[Placed],
    containers: int,
) -> Assignment:
    """Each group of components with equal constraints over its share of the containers."""
    placed = [instance for instances in assignment.values() for instance in instances]
    groups = by_labels(topology, [*placed, *added])
    new = by_labels(topology, added)
    of_container = labels_of_containers(topology, current)
    given = shares([len(group) for group in groups.values()], containers, "--container-number")
    first = next(iter(groups))
    spread: Assignment = {}
    for labels, number in zip(groups, given, strict=True):
        own = {
            container: instances
            for container, instances in assignment.items()
            if of_container.get(container, first) == labels
        }
        others = (assignment.keys() - own.keys()) | spread.keys()
        _spread(own, new.get(labels, []), number, others)
        spread |= own
    return spread


def _spread(
    assignment: Assignment, added: Iterable[Placed], containers: int, others: Set[int]
) -> None:
    """Evenly over so many containers; as little as possible moves. `others`: the containers of the
    other groups, whose numbers are taken."""
    homeless = list(added)
    while len(assignment) > containers:
        homeless = assignment.pop(max(assignment)) + homeless
    while len(assignment) < containers:
        assignment[max((*assignment, *others)) + 1] = []
    for instance in homeless:
        assignment[_emptiest(assignment)].append(instance)
    while len(assignment[_fullest(assignment)]) > len(assignment[_emptiest(assignment)]) + 1:
        full = assignment[_fullest(assignment)]
        # The newest moves: what has run longest has gathered most.
        moving = max(full, key=lambda each: each.task)
        full.remove(moving)
        assignment[_emptiest(assignment)].append(moving)


def _emptiest(assignment: Assignment) -> int:
    return min(assignment, key=lambda each: (len(assignment[each]), each))


def _fullest(assignment: Assignment) -> int:
    return max(assignment, key=lambda each: (len(assignment[each]), -each))


def _range(total: int) -> str:
    return f"1 to {total}" if total > 1 else "1"


def _plan(current: PackingPlan, sized: PackingPlan) -> PackingPlan:
    """The new plan; a container with unchanged instances keeps its size."""
    known = {container.id: container for container in current.containers}
    containers = []
    for container in sized.containers:
        before = known.get(container.id)
        same = before is not None and {x.task for x in before.instances} == {
            x.task for x in container.instances
        }
        containers.append(before if before is not None and same else container)
    return replace(sized, containers=tuple(containers), changed=current.changed)
