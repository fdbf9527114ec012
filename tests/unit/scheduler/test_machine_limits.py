"""A topology that this machine cannot hold is refused in one line."""

import resource

import pytest

from heron_core.errors import TopologyError
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_engine.scheduler.machine_limits import INSTANCE_BYTES_MIN, check_files, check_memory

SMALL = Resource(1.0, 1 << 28, 1 << 28)


def packing(*numbers: int) -> PackingPlan:
    """Containers with so many instances each."""
    task, containers = 0, []
    for container, number in enumerate(numbers, 1):
        instances = tuple(
            InstancePlan(task + each + 1, "count", task + each, SMALL) for each in range(number)
        )
        containers.append(ContainerPlan(container, instances, SMALL))
        task += number
    return PackingPlan("p", tuple(containers))


def test_more_instances_than_the_memory_holds_are_refused() -> None:
    check_memory(100, 100 * INSTANCE_BYTES_MIN)
    with pytest.raises(TopologyError, match=r"101 instances do not fit .* holds 100 at most"):
        check_memory(101, 100 * INSTANCE_BYTES_MIN)


def test_ulimit_n_24_is_told_before_the_start() -> None:
    plan = packing(3, 5)
    with pytest.raises(TopologyError, match=r"24 open files .* 58 are needed: .*`ulimit -n 58`"):
        check_files(plan, 24)
    check_files(plan, 58)
    check_files(plan, resource.RLIM_INFINITY)
