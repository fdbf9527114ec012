"""Packing again: a topology that runs gets more or fewer instances, or containers.

What runs stays where it is as far as possible, with its task id, because whatever moves is started
anew. The last instances of a component go (the highest indexes), new ones get task ids above the
highest; containers come and go at the highest numbers. Without a number of containers none gets
more instances than the fullest has, or had at its submit (Heron: RoundRobinPacking.repack), so none
outgrows what a cluster gave it; one that is left empty goes. With one the instances are spread
evenly over so many.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from scheduler.packing import first_fit, round_robin
from scheduler.packing.resources import Placed

Placing = dict[int, list[Placed]]
"""container -> what runs in it"""


def dealt_again(
    topology: TopologySpec,
    current: PackingPlan,
    parallelism: Mapping[str, int],
    containers: int | None,
) -> PackingPlan:
    """By round robin. TopologyError if there are not so many instances."""
    placing, added = _changed(current, parallelism)
    total = sum(map(len, placing.values())) + len(added)
    if containers is None:
        plans = (current, round_robin.pack(topology))  # the spec has the numbers of its submit
        most = max(len(each.instances) for plan in plans for each in plan.containers)
        for each in added:
            container = _emptiest(placing)
            if len(placing[container]) >= most:
                container = max(placing) + 1
            placing.setdefault(container, []).append(each)
    else:
        if not 1 <= containers <= total:
            raise TopologyError(
                f"{containers} containers for {total} instances: use {_range(total)}"
            )
        _spread(placing, added, containers)
    return _plan(current, round_robin.sized(topology, placing))


def fitted_again(
    topology: TopologySpec,
    current: PackingPlan,
    parallelism: Mapping[str, int],
    containers: int | None,
) -> PackingPlan:
    """By first fit decreasing. TopologyError for a number of containers, which it finds itself."""
    if containers is not None:
        raise TopologyError(
            "first_fit_decreasing finds the number of containers itself: leave --container-number "
            "out, or use topology.packing.algorithm: round_robin"
        )
    placing, added = _changed(current, parallelism)
    return _plan(current, first_fit.fitted(topology, placing, added))


def _changed(current: PackingPlan, parallelism: Mapping[str, int]) -> tuple[Placing, list[Placed]]:
    """What stays where it is, and what is new."""
    placing = {
        container.id: [
            Placed(each.component, each.index, each.task)
            for each in container.instances
            if each.index < parallelism.get(each.component, each.index + 1)
        ]
        for container in current.containers
    }
    task = max(current.instances)
    added = []
    for component, number in parallelism.items():
        first = 1 + max(current.instances[each].index for each in current.tasks_of[component])
        for index in range(first, number):
            task += 1
            added.append(Placed(component, index, task))
    return placing, added


def _spread(placing: Placing, added: Iterable[Placed], containers: int) -> None:
    """Evenly over so many containers; as little as possible moves."""
    homeless = list(added)
    while len(placing) > containers:
        homeless = placing.pop(max(placing)) + homeless
    while len(placing) < containers:
        placing[max(placing) + 1] = []
    for each in homeless:
        placing[_emptiest(placing)].append(each)
    while len(placing[_fullest(placing)]) > len(placing[_emptiest(placing)]) + 1:
        full = placing[_fullest(placing)]
        # The newest moves: what has run longest has gathered most.
        moving = max(full, key=lambda each: each.task)
        full.remove(moving)
        placing[_emptiest(placing)].append(moving)


def _emptiest(placing: Placing) -> int:
    return min(placing, key=lambda each: (len(placing[each]), each))


def _fullest(placing: Placing) -> int:
    return max(placing, key=lambda each: (len(placing[each]), -each))


def _range(total: int) -> str:
    return f"1 to {total}" if total > 1 else "1"


def _plan(current: PackingPlan, sized: PackingPlan) -> PackingPlan:
    """The new plan; a container with the same instances keeps its size, whatever the others do."""
    known = {each.id: each for each in current.containers}
    containers = []
    for each in sized.containers:
        before = known.get(each.id)
        same = before is not None and {x.task for x in before.instances} == {
            x.task for x in each.instances
        }
        containers.append(before if before is not None and same else each)
    return replace(sized, containers=tuple(containers))
