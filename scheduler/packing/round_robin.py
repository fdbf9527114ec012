"""Round robin: topology.stmgrs containers, the instances assigned out like cards.

Heron's RoundRobinPacking.java. Components with the most memory in the rammap are assigned first, so
that the big ones spread. The size of an instance is its entry of the rammap or cpumap; otherwise,
with a configured container size, an even share of the rest after padding and mapped instances;
otherwise the default. As in Heron's documentation, and unlike its last code, the default does not
grow in a container with fewer instances. New here: the diskmap counts, and ties follow the
declaration.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.config import (
    EFFECTIVELY_ONCE,
    RELIABILITY_MODE,
    STMGRS,
    STORM_WORKERS,
    whole_number,
    with_defaults,
)
from heron_core.config.readers import byte_count, core_count
from heron_core.errors import TopologyError
from heron_core.plans import GIB, ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.topology import TopologySpec
from heron_engine.scheduler.packing import resources
from heron_engine.scheduler.packing.groups import by_labels, shares
from heron_engine.scheduler.packing.resources import Placed

DAEMON_RAM_BYTES = GIB
CPU_PADDING = 1.0
DISK_PADDING_BYTES = 12 * GIB  # logs and core dumps, says Heron


class _Measure(Struct, frozen=True):
    """One kind of resource: its keys and their values. Cores or bytes."""

    key: str
    map_key: str
    wanted: Mapping[str, float]
    default: float
    padding: float
    container: float | None
    whole: bool

    def shares(self, container_id: int, instances: Sequence[Placed]) -> list[float]:
        """What each of a container's instances gets."""
        names = [each.component for each in instances]
        unsized = sum(name not in self.wanted for name in names)
        used = sum(self.wanted.get(name, 0) for name in names)
        share = self._share(container_id, used, unsized)
        return [self.wanted.get(name, share) for name in names]

    def total(self, shares: Sequence[float]) -> float:
        """Resources of the container, padding included, within its configured size."""
        needed = sum(shares) + self.padding
        return needed if self.container is None else min(needed, self.container)

    def _share(self, container_id: int, used: float, unsized: int) -> float:
        if self.container is None:
            return self.default
        if used > self.container:
            raise TopologyError(
                f"{self.map_key} asks for {used} in container {container_id}, but {self.key} is "
                f"{self.container}: set it to at least {used + self.padding}, or ask for less"
            )
        # Heron lets instances in the map use the padding rather than reject them.
        padding = self.padding if used + self.padding <= self.container else 0
        left = self.container - used - padding
        if unsized and left <= 0:
            raise TopologyError(
                f"{self.key} is {self.container}, which is too small for {unsized} more "
                f"instances in container {container_id}: raise the key above "
                f"{used + self.padding}"
            )
        if not unsized:
            return self.default
        return left // unsized if self.whole else left / unsized


def pack(topology: TopologySpec) -> PackingPlan:
    """Deal the instances to topology.stmgrs containers; within a group of components with equal
    constraints (without any: in all), sizes differ by one instance at most."""
    config = with_defaults(topology.config)
    containers = _container_count(topology, config)
    first = resources.first_tasks(topology)
    wanted = resources.component_bytes(topology, keys.RAM_MAP)
    instances = [
        Placed(name, index, first[name] + index) for name, index in _biggest_first(topology, wanted)
    ]
    groups = list(by_labels(topology, instances).values())
    if not {STMGRS, STORM_WORKERS} & topology.config.keys():
        containers = max(containers, len(groups))
    given = shares([len(group) for group in groups], containers, STMGRS)
    hands = [
        hand for group, number in zip(groups, given, strict=True) for hand in _deal(group, number)
    ]
    return sized(topology, dict(enumerate(hands, 1)))


def sized(topology: TopologySpec, assigned: Mapping[int, Sequence[Placed]]) -> PackingPlan:
    """The plan with resources of each instance and container; `assigned`: container -> its
    instances. Empty containers are left out. TopologyError for a size that is too small."""
    config = with_defaults(topology.config)
    filled = {number: instances for number, instances in sorted(assigned.items()) if instances}
    ram, cpu = _ram(topology, config), _cpu(topology, config)
    disk = _Disk.read(topology, config, filled)
    return PackingPlan(
        topology.name,
        tuple(
            _container(number, instances, cpu, ram, disk) for number, instances in filled.items()
        ),
    )


def _container_count(topology: TopologySpec, config: Mapping[str, Any]) -> int:
    count = resources.check_instances(topology)
    set_by = STMGRS
    if STMGRS not in topology.config and STORM_WORKERS in topology.config:
        set_by = STORM_WORKERS
    containers = whole_number({set_by: config[STMGRS]}, set_by, 1)
    if containers > count:
        instances, choices = ("instances", f"1 to {count}") if count > 1 else ("instance", "1")
        raise TopologyError(
            f"{set_by} is {containers} but the topology has only {count} {instances}: use {choices}"
        )
    return containers


def _biggest_first(topology: TopologySpec, wanted: Mapping[str, float]) -> list[tuple[str, int]]:
    """(component, index) of every instance."""
    # sorted() is stable, so equals stay in order of declaration.
    ordered = sorted(topology.components, key=lambda each: -wanted.get(each.name, 0))
    return [(each.name, index) for each in ordered for index in range(each.parallelism)]


def _deal(instances: Sequence[Placed], containers: int) -> list[Sequence[Placed]]:
    return [instances[start::containers] for start in range(containers)]


def _container(
    number: int,
    instances: Sequence[Placed],
    cpu: _Measure,
    ram: _Measure,
    disk: "_Disk",
) -> ContainerPlan:
    cores, memory = cpu.shares(number, instances), ram.shares(number, instances)
    plans = []
    for instance, core, ram_bytes in zip(instances, cores, memory, strict=True):
        resources.check_instance_ram(instance.component, int(ram_bytes))
        resource = Resource(float(core), int(ram_bytes), disk.of(instance.component))
        plans.append(InstancePlan(instance.task, instance.component, instance.index, resource))
    # A container's cores are the configured ones, used or not; its memory is the required one.
    total_cores = cpu.total(cores) if cpu.container is None else cpu.container
    total = Resource(float(total_cores), int(ram.total(memory)), disk.container_bytes)
    return ContainerPlan(number, tuple(sorted(plans, key=lambda plan: plan.task)), total)


def _cpu(topology: TopologySpec, config: Mapping[str, Any]) -> _Measure:
    padding = core_count(config, keys.CONTAINER_CPU_PADDING, zero=True)
    return _Measure(
        key=keys.CONTAINER_CPU,
        map_key=keys.CPU_MAP,
        wanted=resources.component_cores(topology, keys.CPU_MAP),
        default=resources.INSTANCE_DEFAULT.cpu,
        padding=CPU_PADDING if padding is None else padding,
        container=core_count(config, keys.CONTAINER_CPU),
        whole=False,
    )


def _ram(topology: TopologySpec, config: Mapping[str, Any]) -> _Measure:
    return _Measure(
        key=keys.CONTAINER_RAM,
        map_key=keys.RAM_MAP,
        wanted=resources.component_bytes(topology, keys.RAM_MAP),
        default=resources.INSTANCE_DEFAULT.ram_bytes,
        padding=_ram_padding(config),
        container=byte_count(config, keys.CONTAINER_RAM),
        whole=True,
    )


def _ram_padding(config: Mapping[str, Any]) -> int:
    """The padding that is set, else the sum of Heron's daemons."""
    padding = byte_count(config, keys.CONTAINER_RAM_PADDING, 0)
    if padding is not None:
        return padding
    stateful = config[RELIABILITY_MODE] == EFFECTIVELY_ONCE
    defaults = {
        keys.STMGR_RAM: DAEMON_RAM_BYTES,
        keys.METRICSMGR_RAM: DAEMON_RAM_BYTES,
        keys.CHECKPOINTMGR_RAM: DAEMON_RAM_BYTES if stateful else 0,
    }
    amounts = {key: byte_count(config, key, 0) for key in defaults}
    return sum(defaults[key] if amount is None else amount for key, amount in amounts.items())


class _Disk(Struct, frozen=True):
    """Disk is equal for all containers: the configured size, or the fullest container's need."""

    wanted: Mapping[str, int]
    default_bytes: int
    container_bytes: int

    def of(self, component: str) -> int:
        """Bytes for an instance of `component`."""
        return self.wanted.get(component, self.default_bytes)

    @staticmethod
    def read(
        topology: TopologySpec, config: Mapping[str, Any], assigned: Mapping[int, Sequence[Placed]]
    ) -> "_Disk":
        """From the config, and how the instances were assigned."""
        wanted = resources.component_bytes(topology, keys.DISK_MAP)
        default = resources.INSTANCE_DEFAULT.disk_bytes
        limit = byte_count(config, keys.CONTAINER_DISK)
        if limit is None:
            fullest = max(
                sum(wanted.get(placed.component, default) for placed in instances_there)
                for instances_there in assigned.values()
            )
            return _Disk(wanted, default, fullest + DISK_PADDING_BYTES)
        # Heron lets the default exceed a small container; an even share of it is never more.
        for number, instances in assigned.items():
            names = [instance.component for instance in instances]
            used = sum(wanted.get(name, 0) for name in names)
            if used > limit:
                raise TopologyError(
                    f"{keys.DISK_MAP} asks for {used} in container {number}, but "
                    f"{keys.CONTAINER_DISK} is {limit}: set it to at least {used}"
                )
            unsized = sum(name not in wanted for name in names)
            if unsized:
                default = min(default, (limit - used) // unsized)
        return _Disk(wanted, default, limit)
