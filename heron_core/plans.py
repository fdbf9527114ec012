"""Packing plan (which instance in which container) and physical plan (that plus addresses).

Task ids start at 1 and are global to the topology, component indexes start at 0, container ids at
1; container 0 holds the topology master and no instances (Heron: packing, SchedulerUtils).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MASTER_CONTAINER = 0
MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Resource:
    """What a container or an instance may use: cores, bytes of memory, bytes of disk."""

    cpu: float
    ram_bytes: int
    disk_bytes: int

    def __add__(self, other: "Resource") -> "Resource":
        return Resource(
            self.cpu + other.cpu,
            self.ram_bytes + other.ram_bytes,
            self.disk_bytes + other.disk_bytes,
        )


@dataclass(frozen=True, slots=True)
class InstancePlan:
    """One instance: its task id, its component, its index among the component's instances."""

    task: int
    component: str
    index: int
    resource: Resource


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """One container: the instances in it and what it needs in all, padding included."""

    id: int
    instances: tuple[InstancePlan, ...]
    resource: Resource


@dataclass(frozen=True)
class PackingPlan:
    """Which instance runs in which container; the packing's result."""

    topology: str
    containers: tuple[ContainerPlan, ...]

    @cached_property
    def container_of(self) -> dict[int, int]:
        """task id -> container id."""
        return {
            instance.task: container.id
            for container in self.containers
            for instance in container.instances
        }

    @cached_property
    def instances(self) -> dict[int, InstancePlan]:
        """task id -> instance, in order of task id."""
        every = [each for container in self.containers for each in container.instances]
        return {each.task: each for each in sorted(every, key=lambda each: each.task)}

    @cached_property
    def tasks_of(self) -> dict[str, list[int]]:
        """component -> its task ids, sorted."""
        found: dict[str, list[int]] = {}
        for task, instance in self.instances.items():
            found.setdefault(instance.component, []).append(task)
        return found

    def container(self, container_id: int) -> ContainerPlan:
        """The container called `container_id`; KeyError if the plan has none."""
        for container in self.containers:
            if container.id == container_id:
                return container
        raise KeyError(container_id)


class TopologyState:
    """States of a topology as Heron names them, and ENDED for one whose work is done."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    KILLED = "KILLED"
    ENDED = "ENDED"


@dataclass(frozen=True)
class PhysicalPlan:
    """A packing plan with the stream managers' addresses, the topology's state and its epoch."""

    topology: str
    epoch: int
    state: str
    packing: PackingPlan
    stream_managers: Mapping[int, str]
    """container id -> address of its stream manager for its peers, e.g. tcp://127.0.0.1:4711"""


def packing_to_json(plan: PackingPlan) -> dict[str, Any]:
    """The packing plan as JSON values, as it stands under /packingplans."""
    return {
        "topology": plan.topology,
        "containers": [
            {
                "id": container.id,
                "resource": _resource_to_json(container.resource),
                "instances": [
                    {
                        "task": each.task,
                        "component": each.component,
                        "index": each.index,
                        "resource": _resource_to_json(each.resource),
                    }
                    for each in container.instances
                ],
            }
            for container in plan.containers
        ],
    }


def packing_from_json(data: Mapping[str, Any]) -> PackingPlan:
    """The inverse of `packing_to_json`."""
    return PackingPlan(
        data["topology"],
        tuple(
            ContainerPlan(
                container["id"],
                tuple(
                    InstancePlan(
                        each["task"],
                        each["component"],
                        each["index"],
                        _resource_from_json(each["resource"]),
                    )
                    for each in container["instances"]
                ),
                _resource_from_json(container["resource"]),
            )
            for container in data["containers"]
        ),
    )


def physical_to_json(plan: PhysicalPlan) -> dict[str, Any]:
    """The physical plan as JSON values, as it stands under /pplans and travels in messages."""
    return {
        "topology": plan.topology,
        "epoch": plan.epoch,
        "state": plan.state,
        "packing": packing_to_json(plan.packing),
        "stream_managers": {str(key): value for key, value in plan.stream_managers.items()},
    }


def physical_from_json(data: Mapping[str, Any]) -> PhysicalPlan:
    """The inverse of `physical_to_json`."""
    return PhysicalPlan(
        data["topology"],
        data["epoch"],
        data["state"],
        packing_from_json(data["packing"]),
        {int(key): value for key, value in data["stream_managers"].items()},
    )


def _resource_to_json(resource: Resource) -> dict[str, Any]:
    return {
        "cpu": resource.cpu,
        "ram_bytes": resource.ram_bytes,
        "disk_bytes": resource.disk_bytes,
    }


def _resource_from_json(data: Mapping[str, Any]) -> Resource:
    return Resource(data["cpu"], data["ram_bytes"], data["disk_bytes"])
