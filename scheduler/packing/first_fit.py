"""First fit decreasing: as few containers as the instances need, the biggest placed first.

Heron's FirstFitDecreasingPacking.java with AbstractPacking.java: a container holds at most
topology.container.max.instances, and their resources plus the padding within its size, which is
that many default instances unless set. The number of containers is a result, topology.stmgrs is
not read. Heron rounds a container's cores to the nearest whole number, at times below what its
instances need; here they are the exact sum. Ties follow the declaration.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from msgspec import Struct, field

from heron_core import config as keys
from heron_core.config.readers import byte_count, core_count
from heron_core.errors import TopologyError
from heron_core.placement import Labels, component_labels
from heron_core.plans import GIB, ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import resources
from heron_engine.scheduler.packing.resources import Placed

# PackingUtils.java
PADDING = Resource(cpu=1.0, ram_bytes=GIB, disk_bytes=GIB)
INSTANCE_CPU_MIN = 0.1  # MinCpuConstraint.java

_ORDERS: Mapping[str, Callable[[Resource], tuple[float, float]]] = {
    keys.RAM_FIRST: lambda resource: (-resource.ram_bytes, -resource.cpu),
    keys.CPU_FIRST: lambda resource: (-resource.cpu, -resource.ram_bytes),
}


class _Limits(Struct, frozen=True):
    """Capacity of one container: instances, and resources including padding."""

    capacity: Resource
    instances_max: int
    padding_least: Resource
    padding_percentage: int

    @property
    def padding(self) -> Resource:
        """The larger of the amount and the percentage of the container (finalizePadding)."""
        whole, least, percentage = self.capacity, self.padding_least, self.padding_percentage
        return Resource(
            max(least.cpu, whole.cpu * percentage / 100),
            max(least.ram_bytes, whole.ram_bytes * percentage // 100),
            max(least.disk_bytes, whole.disk_bytes * percentage // 100),
        )


class _Container(Struct):
    """A container being filled."""

    labels: Labels
    used: Resource
    instances: list[InstancePlan] = field(default_factory=list)

    def fits(self, resource: Resource, limits: _Limits) -> bool:
        """Whether an instance of the size fits."""
        has_slot = len(self.instances) < limits.instances_max
        return has_slot and _within(self.used + resource, limits.capacity)

    def add(self, instance: InstancePlan) -> None:
        """Put the instance in."""
        self.instances.append(instance)
        self.used += instance.resource

    def plan(self, number: int) -> ContainerPlan:
        """The finished container."""
        ordered = sorted(self.instances, key=lambda each: each.task)
        return ContainerPlan(number, tuple(ordered), self.used)


def pack(topology: TopologySpec) -> PackingPlan:
    """Place each instance in the first container with capacity, opening a new one if necessary."""
    resources.check_instances(topology)
    first = resources.first_tasks(topology)
    instances = [
        Placed(each.name, index, first[each.name] + index)
        for each in topology.components
        for index in range(each.parallelism)
    ]
    return packed_first_fit(topology, {}, instances)


def packed_first_fit(
    topology: TopologySpec, placed: Mapping[int, Sequence[Placed]], added: Iterable[Placed]
) -> PackingPlan:
    """`placed` (container -> its instances) stay where they are, `added` come along, the biggest
    first. Containers without any are left out."""
    config = keys.with_fallbacks(topology.config)
    limits = _limits(config)
    sizes = _sizes(topology)
    for name, size in sizes.items():
        _check_size(name, size, limits)
    order = _ORDERS[keys.value_of(config, keys.FFD_SORTING_STRATEGY)]
    labels = component_labels(topology)
    containers: dict[int, _Container] = {}
    for number, instances in sorted(placed.items()):
        for instance in instances:
            empty = _Container(labels[instance.component], limits.padding)
            containers.setdefault(number, empty).add(_sized(instance, sizes))
    for addition in sorted(added, key=lambda each: order(sizes[each.component])):
        _assign(_sized(addition, sizes), containers, limits, labels[addition.component])
    return PackingPlan(
        topology.name, tuple(each.plan(number) for number, each in sorted(containers.items()))
    )


def _sized(placed: Placed, sizes: Mapping[str, Resource]) -> InstancePlan:
    return InstancePlan(placed.task, placed.component, placed.index, sizes[placed.component])


def _assign(
    instance: InstancePlan, containers: dict[int, _Container], limits: _Limits, labels: Labels
) -> None:
    for container in containers.values():
        if container.labels == labels and container.fits(instance.resource, limits):
            container.add(instance)
            return
    container = _Container(labels, limits.padding)
    container.add(instance)
    containers[max(containers, default=0) + 1] = container


def _limits(config: Mapping[str, Any]) -> _Limits:
    most = keys.value_of(config, keys.CONTAINER_MAX_INSTANCES)
    percentage = keys.value_of(config, keys.CONTAINER_PADDING_PERCENTAGE)
    default = resources.INSTANCE_DEFAULT
    cpu = core_count(config, keys.CONTAINER_CPU)
    ram = byte_count(config, keys.CONTAINER_RAM)
    disk = byte_count(config, keys.CONTAINER_DISK)
    capacity = Resource(
        default.cpu * most if cpu is None else cpu,
        default.ram_bytes * most if ram is None else ram,
        default.disk_bytes * most if disk is None else disk,
    )
    return _Limits(capacity, most, _padding_least(config), percentage)


def _padding_least(config: Mapping[str, Any]) -> Resource:
    cpu = core_count(config, keys.CONTAINER_CPU_PADDING, zero=True)
    ram = byte_count(config, keys.CONTAINER_RAM_PADDING, 0)
    return Resource(
        PADDING.cpu if cpu is None else cpu,
        PADDING.ram_bytes if ram is None else ram,
        PADDING.disk_bytes,
    )


def _sizes(topology: TopologySpec) -> dict[str, Resource]:
    cpu = resources.component_cores(topology, keys.CPU_MAP)
    ram = resources.component_bytes(topology, keys.RAM_MAP)
    disk = resources.component_bytes(topology, keys.DISK_MAP)
    default = resources.INSTANCE_DEFAULT
    return {
        name: Resource(
            cpu.get(name, default.cpu),
            ram.get(name, default.ram_bytes),
            disk.get(name, default.disk_bytes),
        )
        for name in topology.by_name
    }


def _check_size(component: str, size: Resource, limits: _Limits) -> None:
    """TopologyError if not even an empty container holds the instance, or it is too small."""
    resources.check_instance_ram(component, size.ram_bytes)
    if size.cpu < INSTANCE_CPU_MIN:
        raise TopologyError(
            f"an instance of {component} gets {size.cpu} cores: give it at least "
            f"{INSTANCE_CPU_MIN} ({keys.CPU_MAP})"
        )
    if _within(size + limits.padding, limits.capacity):
        return
    least, capacity = _least_container(size, limits), limits.capacity
    for key, need, limit in (
        (keys.CONTAINER_CPU, least.cpu, capacity.cpu),
        (keys.CONTAINER_RAM, least.ram_bytes, capacity.ram_bytes),
        (keys.CONTAINER_DISK, least.disk_bytes, capacity.disk_bytes),
    ):
        if need > limit:
            raise TopologyError(
                f"an instance of {component} does not fit: set {key} to at least {need}, "
                f"not {limit}, or ask for less"
            )


def _least_container(size: Resource, limits: _Limits) -> Resource:
    """The smallest container for an instance of the size, padding included."""
    amount, hundredths = limits.padding_least, 100 - limits.padding_percentage
    return Resource(
        max(size.cpu + amount.cpu, ceil(size.cpu * 10_000 / hundredths) / 100),
        max(size.ram_bytes + amount.ram_bytes, -(-size.ram_bytes * 100 // hundredths)),
        max(size.disk_bytes + amount.disk_bytes, -(-size.disk_bytes * 100 // hundredths)),
    )


def _within(used: Resource, capacity: Resource) -> bool:
    return (
        used.cpu <= capacity.cpu
        and used.ram_bytes <= capacity.ram_bytes
        and used.disk_bytes <= capacity.disk_bytes
    )
