"""Packing plan (which instance in which container) and physical plan (that plus addresses).

Task ids start at 1 and are global to the topology, component indexes start at 0, container ids at
1; container 0 holds the topology master and no instances (Heron: packing, SchedulerUtils).
"""

import reprlib
from collections.abc import Mapping
from enum import StrEnum, nonmember
from functools import cached_property
from typing import Any, ClassVar, Self

from msgspec import Struct, field

from heron_core import config as keys
from heron_core.errors import ProtocolError
from heron_core.topology import TopologySpec
from heron_core.typed_json import from_json, to_json

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
    """A process of it kept ending, its cluster abandoned it, or it lost what it may not lose."""

    OVER = nonmember((ENDED, FAILED))
    """Those in which its master leaves a topology of which nothing goes on."""


class Phase(StrEnum):
    """How far the end of a finite topology has come; `heronpy stats` shows the values."""

    text: str
    """What happens meanwhile."""

    RUNNING = "running", "spouts emit"
    DRAINING = "draining", "all spouts are finished, tuples may be in flight"
    SAVING = "saving", "all input is processed, its checkpoint is being taken"
    FINISHING = "finishing", "the bolts of one level run on_finish"
    COMMITTING = "committing", "all bolts have finished, the last checkpoint is taken"
    ENDED = "ended", "the topology has ended"

    def __new__(cls, value: str, text: str) -> Self:
        phase = str.__new__(cls, value)
        phase._value_ = value
        phase.text = text
        return phase


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

    omitted: ClassVar[tuple[str, ...]] = ("previous", "abandoning", "with_input")
    checkpoint: int
    """All instances begin with their state of this one; 0: with none."""
    members: Mapping[int, int] | None = None
    """task -> incarnation of the process that has it; None as long as not all of them have: until
    then nothing is emitted or processed, and never by a process that is not among them."""
    previous: Mapping[str, tuple[int, ...]] = field(default_factory=dict, name="former")
    """component -> the tasks that it had when the checkpoint was taken, in order, of those that may
    have others now: theirs are the states that are divided among its tasks."""
    abandoning: tuple[str, ...] = field(default=(), name="gave_up")
    """See CheckpointCompleted: for instances that have not been told that it is complete."""
    with_input: tuple[int, ...] = ()
    """The tasks of then whose states have input that they had not processed."""

    def json_values(self) -> dict[str, Any]:
        """For typed_json: null says that not all have it."""
        return {"members": None if self.members is None else _with_words(self.members)}


class MovedStates(Struct, frozen=True):
    """States that an update moves where no checkpoints are taken; stands in the plan as long as not
    all who are to begin with some of them have done so."""

    number: int
    """Of the update."""
    saved: tuple[int, ...]
    """The tasks whose state it has saved, when nothing was in flight."""
    previous: Mapping[str, tuple[int, ...]] = field(name="former")
    """component -> the tasks that it had then, in order, of those components that have any."""


class PhysicalPlan(Struct, frozen=True, dict=True):
    """A packing plan with the stream managers' addresses, the topology's state and its epoch."""

    omitted: ClassVar[tuple[str, ...]] = ("rescaled", "is_updated", "has_ticks")
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
    is_updated: bool = False
    """Whether spouts stand still for an update; then they may have deferred `fail`."""
    has_ticks: bool = True
    """Whether bolts have ticks; not where nobody is left who would take what these emit."""

    def json_values(self) -> dict[str, Any]:
        """For typed_json."""
        return {"stream_managers": _with_words(self.stream_managers)}


def packing_to_json(plan: PackingPlan) -> dict[str, Any]:
    """The packing plan as JSON values, as it stands under /packingplans."""
    data: dict[str, Any] = to_json(plan)
    return data


def packing_from_json(data: Any) -> PackingPlan:
    """The inverse of `packing_to_json`; ProtocolError naming what is wrong with `data`."""
    plan = from_json(PackingPlan, data, "the packing plan")
    _check_packing(plan)
    return plan


def _check_packing(plan: PackingPlan) -> None:
    every = [instance for container in plan.containers for instance in container.instances]
    numbers = [
        *(container.id for container in plan.containers),
        *(number for each in every for number in (each.task, each.index)),
    ]
    if not all(0 <= number <= TASK_MAX for number in numbers):
        raise ProtocolError(
            "invalid packing plan: numbers of containers and tasks must be non-negative integers"
        )
    if len({instance.task for instance in every}) != len(every):
        raise ProtocolError("not a packing plan: a task occurs twice")
    if len({container.id for container in plan.containers}) != len(plan.containers):
        raise ProtocolError("not a packing plan: a container occurs twice")


def physical_to_json(plan: PhysicalPlan) -> dict[str, Any]:
    """The physical plan as JSON values, as it stands under /pplans and travels in messages."""
    data: dict[str, Any] = to_json(plan)
    return data


def physical_from_json(data: Any) -> PhysicalPlan:
    """The inverse of `physical_to_json`; ProtocolError naming what is wrong with `data`."""
    plan = from_json(PhysicalPlan, data, "the physical plan")
    _check_packing(plan.packing)
    if not 0 <= plan.epoch <= EPOCH_MAX:
        raise ProtocolError(f"not a physical plan: its epoch is {plan.epoch}")
    if plan.state not in (TopologyState.RUNNING, TopologyState.PAUSED):
        raise ProtocolError(f"not a physical plan: its state is {reprlib.repr(plan.state):.200}")
    return plan


def _with_words(numbered: Mapping[int, Any]) -> dict[str, Any]:
    """The same with keys as JSON has them, also where JSON is not written yet: the keys of a node
    of the state store are sorted."""
    return {str(number): value for number, value in numbered.items()}


def instance_name(packing: PackingPlan, task: int) -> str:
    """component[index], the name of an instance everywhere."""
    instance = packing.instances[task]
    return f"{instance.component}[{instance.index}]"
