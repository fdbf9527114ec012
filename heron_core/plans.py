"""Packing plan (which instance in which container) and physical plan (that plus addresses).

Task ids start at 1 and are global to the topology, component indexes start at 0, container ids at
1; container 0 holds the topology master and no instances (Heron: packing, SchedulerUtils).
"""

import reprlib
from collections.abc import Mapping
from enum import StrEnum, nonmember
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from heron_core import config as keys
from heron_core.errors import ProtocolError
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json

MASTER_CONTAINER = 0
EPOCH_MAX = (1 << 32) - 1
"""It travels in 32 bits (heron_core.wire.frames)."""
TASK_MAX = (1 << 20) - 1
"""A root holds its spout's task in 20 bits (heron_core.wire.frames)."""
MIB = 1024 * 1024
GIB = 1024 * MIB


class Resource(Struct, frozen=True):
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


class InstancePlan(Struct, frozen=True):
    """One instance: its task id, its component, its index among the component's instances."""

    task: int
    component: str
    index: int
    resource: Resource


class ContainerPlan(Struct, frozen=True):
    """One container: the instances in it and what it needs in all, padding included."""

    id: int
    instances: tuple[InstancePlan, ...]
    resource: Resource


class PackingPlan(Struct, frozen=True, dict=True):
    """Which instance runs in which container; the packing's result."""

    topology: str
    containers: tuple[ContainerPlan, ...]
    changed: TopologySpec | None = None
    """The topology as it is by this plan, once its code was changed while it ran: who works by a
    plan works by this code. None: as it was submitted."""

    def topology_of(self, submitted: TopologySpec) -> TopologySpec:
        """The topology that runs by this plan."""
        return submitted if self.changed is None else self.changed

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


def leaving(before: PackingPlan, after: PackingPlan) -> frozenset[int]:
    """The tasks whose process ends when `after` takes the place of `before`: those that are not
    there any more or are in another container. With the two exchanged: those that start."""
    return frozenset(
        task
        for task, container in before.container_of.items()
        if after.container_of.get(task) != container
    )


class TopologyState(StrEnum):
    """States of a topology as Heron names them, ENDED for one whose work is done, and FAILED."""

    RUNNING = keys.RUNNING
    PAUSED = keys.PAUSED
    KILLED = "KILLED"
    ENDED = "ENDED"
    FAILED = "FAILED"
    """A process of it kept ending, its cluster gave it up, or it lost what it may not lose."""

    OVER = nonmember((ENDED, FAILED))
    """Those in which its master leaves a topology of which nothing goes on."""


class Phase(StrEnum):
    """How far the end of a finite topology has come; `heronpy stats` shows the values."""

    RUNNING = "running"
    DRAINING = "draining"
    """All spouts are finished, and something may be in flight."""
    SAVING = "saving"
    """All input is processed, and a checkpoint of that is taken."""
    FINISHING = "finishing"
    """Bolts run on_finish."""
    COMMITTING = "committing"
    """All bolts have finished, and the last checkpoint is taken."""
    ENDED = "ended"


class UpdateStage(StrEnum):
    """How far an update has come; `heronpy stats` shows the values."""

    CONTAINERS = "containers"
    DRAIN = "drain"
    SAVE = "save"
    CHECKPOINT = "checkpoint"
    INSTANCES = "instances"


def initial_state(config: Mapping[str, Any]) -> TopologyState:
    """The state in which a topology with this config starts (config.check refuses all others)."""
    return TopologyState(config.get(keys.INITIAL_STATE, TopologyState.RUNNING))


class Restore(Struct, frozen=True):
    """The states with which a topology that takes checkpoints begins to run by a plan."""

    checkpoint: int
    """All instances begin with their state of this one; 0: with none."""
    members: Mapping[int, int] | None = None
    """task -> incarnation of the process that has it; None as long as not all of them have: until
    then nothing is emitted or processed, and never by a process that is not among them."""
    former: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """component -> the tasks that it had when the checkpoint was taken, in order, of those that may
    have others now: theirs are the states that are divided among its tasks."""
    gave_up: tuple[str, ...] = ()
    """See CheckpointCompleted: for instances that have not been told that it is complete."""
    with_input: tuple[int, ...] = ()
    """The tasks of then whose states have input that they had not processed."""


class MovedStates(Struct, frozen=True):
    """States that an update moves where no checkpoints are taken; stands in the plan as long as not
    all who are to begin with some of them have done so."""

    number: int
    """Of the update."""
    saved: tuple[int, ...]
    """The tasks whose state it has saved, when nothing was in flight."""
    former: Mapping[str, tuple[int, ...]]
    """component -> the tasks that it had then, in order, of those components that have any."""


class PhysicalPlan(Struct, frozen=True, dict=True):
    """A packing plan with the stream managers' addresses, the topology's state and its epoch."""

    topology: str
    epoch: int
    state: str
    packing: PackingPlan
    stream_managers: Mapping[int, str]
    """container id -> address of its stream manager for its peers, e.g. tcp://127.0.0.1:4711"""
    restore: Restore | None = None
    """None in a topology that takes no checkpoints."""
    moved: MovedStates | None = None
    """None unless an update is under way that moves states."""
    rescaled: Mapping[str, int] = field(default_factory=dict)
    """component -> the epoch since which it has the tasks of `packing`, of those that once had
    others: batches of an epoch before were routed by keys that may be another task's now."""


def packing_to_json(plan: PackingPlan) -> dict[str, Any]:
    """The packing plan as JSON values, as it stands under /packingplans."""
    changed = {} if plan.changed is None else {"changed": topology_to_json(plan.changed)}
    return {
        **changed,
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
    """The inverse of `packing_to_json`; ProtocolError naming what is wrong with `data`."""
    try:
        plan = _packing(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"not a packing plan: {error!r:.200}") from error
    _check_packing(plan)
    return plan


def _packing(data: Mapping[str, Any]) -> PackingPlan:
    changed = data.get("changed")
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
        None if changed is None else topology_from_json(changed),
    )


def _check_packing(plan: PackingPlan) -> None:
    every = [each for container in plan.containers for each in container.instances]
    numbers = [
        *(container.id for container in plan.containers),
        *(number for each in every for number in (each.task, each.index)),
    ]
    if not all(type(each) is int and 0 <= each <= TASK_MAX for each in numbers):
        raise ProtocolError(
            "invalid packing plan: numbers of containers and tasks must be non-negative integers"
        )
    if not all(type(each) is str for each in (plan.topology, *(x.component for x in every))):
        raise ProtocolError("not a packing plan: a name is not text")
    if len({each.task for each in every}) != len(every):
        raise ProtocolError("not a packing plan: a task occurs twice")
    if len({each.id for each in plan.containers}) != len(plan.containers):
        raise ProtocolError("not a packing plan: a container occurs twice")


def physical_to_json(plan: PhysicalPlan) -> dict[str, Any]:
    """The physical plan as JSON values, as it stands under /pplans and travels in messages."""
    restore = {} if plan.restore is None else {"restore": _restore_to_json(plan.restore)}
    moved = {} if plan.moved is None else {"moved": _moved_to_json(plan.moved)}
    return {
        "topology": plan.topology,
        "epoch": plan.epoch,
        "state": plan.state,
        "packing": packing_to_json(plan.packing),
        "stream_managers": {str(key): value for key, value in plan.stream_managers.items()},
        **restore,
        **moved,
        **({"rescaled": dict(plan.rescaled)} if plan.rescaled else {}),
    }


def _moved_to_json(moved: MovedStates) -> dict[str, Any]:
    former = {name: list(tasks) for name, tasks in moved.former.items()}
    return {"number": moved.number, "saved": list(moved.saved), "former": former}


def moved_from_json(data: Mapping[str, Any] | None) -> MovedStates | None:
    """`moved` of a plan's JSON; ValueError, KeyError or TypeError for what is none."""
    if data is None:
        return None
    former = {name: tuple(tasks) for name, tasks in data["former"].items()}
    moved = MovedStates(data["number"], tuple(data["saved"]), former)
    numbers = (moved.number, *moved.saved, *(task for tasks in former.values() for task in tasks))
    if not all(type(each) is int for each in numbers):
        raise ValueError(f"states that move: {reprlib.repr(data):.200}")
    return moved


def _restore_to_json(restore: Restore) -> dict[str, Any]:
    members = restore.members
    former = {name: list(tasks) for name, tasks in restore.former.items()}
    return {
        "checkpoint": restore.checkpoint,
        "members": None if members is None else {str(task): who for task, who in members.items()},
        **({"former": former} if former else {}),
        **({"gave_up": list(restore.gave_up)} if restore.gave_up else {}),
        **({"with_input": list(restore.with_input)} if restore.with_input else {}),
    }


def _restore_from_json(data: Mapping[str, Any] | None) -> Restore | None:
    if data is None:
        return None
    members = data["members"]
    restore = Restore(
        data["checkpoint"],
        None if members is None else {int(task): who for task, who in members.items()},
        {name: tuple(tasks) for name, tasks in data.get("former", {}).items()},
        tuple(map(str, data.get("gave_up", ()))),
        tuple(data.get("with_input", ())),
    )
    numbers = (
        restore.checkpoint,
        *(restore.members or {}).values(),
        *(task for tasks in restore.former.values() for task in tasks),
        *restore.with_input,
    )
    if not all(type(each) is int for each in numbers):
        raise ValueError(f"a restore of {reprlib.repr(data):.200}")
    return restore


def physical_from_json(data: Mapping[str, Any]) -> PhysicalPlan:
    """The inverse of `physical_to_json`; ProtocolError naming what is wrong with `data`."""
    try:
        plan = PhysicalPlan(
            data["topology"],
            data["epoch"],
            data["state"],
            packing_from_json(data["packing"]),
            {int(key): value for key, value in data["stream_managers"].items()},
            _restore_from_json(data.get("restore")),
            moved_from_json(data.get("moved")),
            dict(data.get("rescaled", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"not a physical plan: {error!r:.200}") from error
    if type(plan.epoch) is not int or not 0 <= plan.epoch <= EPOCH_MAX:
        raise ProtocolError(f"not a physical plan: its epoch is {reprlib.repr(plan.epoch):.200}")
    if plan.state not in (TopologyState.RUNNING, TopologyState.PAUSED):
        raise ProtocolError(f"not a physical plan: its state is {reprlib.repr(plan.state):.200}")
    if not all(type(name) is str and type(at) is int for name, at in plan.rescaled.items()):
        raise ProtocolError(
            f"not a physical plan: {reprlib.repr(plan.rescaled):.200} as epochs of components"
        )
    if type(plan.topology) is not str:
        raise ProtocolError("not a physical plan: its topology's name is not text")
    if not all(type(address) is str for address in plan.stream_managers.values()):
        raise ProtocolError("not a physical plan: an address of a stream manager is not text")
    return plan


def _resource_to_json(resource: Resource) -> dict[str, Any]:
    return {
        "cpu": resource.cpu,
        "ram_bytes": resource.ram_bytes,
        "disk_bytes": resource.disk_bytes,
    }


def _resource_from_json(data: Mapping[str, Any]) -> Resource:
    found = Resource(data["cpu"], data["ram_bytes"], data["disk_bytes"])
    if not all(
        type(each) in (int, float) for each in (found.cpu, found.ram_bytes, found.disk_bytes)
    ):
        raise ValueError(f"a resource of {reprlib.repr(data):.200}")
    return found


def instance_name(packing: PackingPlan, task: int) -> str:
    """component[index], the name of an instance everywhere."""
    instance = packing.instances[task]
    return f"{instance.component}[{instance.index}]"
