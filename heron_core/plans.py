"""Packing plan (containers and their instances) and physical plan (the same plus addresses).

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
"""Largest epoch, which has 32 bits on the wire (heron_core.wire.frames)."""
TASK_MAX = (1 << 20) - 1
"""Largest task id: a root holds its spout's task in 20 bits (heron_core.wire.frames)."""
MIB = 1024 * 1024
GIB = 1024 * MIB


class Resource(Struct, frozen=True):
    """Resources of a container or an instance: cores, bytes of memory, bytes of disk."""

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
    """One instance: task id, component, index within the component."""

    task: int
    component: str
    index: int
    resource: Resource


class ContainerPlan(Struct, frozen=True):
    """One container: its instances and its total resources, padding included."""

    id: int
    instances: tuple[InstancePlan, ...]
    resource: Resource


class PackingPlan(Struct, frozen=True, dict=True):
    """Assignment of instances to containers; the result of packing."""

    topology: str
    containers: tuple[ContainerPlan, ...]
    changed: TopologySpec | None = None
    """The topology of the plan, after a code change at run time: processes of the plan run the
    new code. None: as submitted."""

    def topology_of(self, submitted: TopologySpec) -> TopologySpec:
        """The topology run by the plan."""
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
        """The container called `container_id`; KeyError if the plan has no such container."""
        for container in self.containers:
            if container.id == container_id:
                return container
        raise KeyError(container_id)


def leaving(before: PackingPlan, after: PackingPlan) -> frozenset[int]:
    """Tasks whose process ends when `after` replaces `before`: removed or moved tasks. With the
    two exchanged: tasks that start."""
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
    """A process kept ending, the cluster abandoned the topology, or required data was lost."""

    OVER = nonmember((ENDED, FAILED))
    """States left by the master of a stopped topology."""


class Phase(StrEnum):
    """How far the end of a finite topology has come; `heronpy stats` shows the values."""

    text: str
    """Activity during the state."""

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
    """Initial state of a topology with the config (config.check rejects all others)."""
    return TopologyState(config.get(keys.INITIAL_STATE, TopologyState.RUNNING))


class Restore(Struct, frozen=True):
    """The states with which a topology that takes checkpoints begins to run by a plan."""

    omitted: ClassVar[tuple[str, ...]] = ("previous", "abandoning", "with_input")
    checkpoint: int
    """Restored checkpoint; 0: without state."""
    members: Mapping[int, int] | None = None
    """task -> incarnation of its process with restored state; None until all have restored:
    before, nothing is emitted or processed, and never by a process outside of the map."""
    previous: Mapping[str, tuple[int, ...]] = field(default_factory=dict, name="former")
    """component -> its tasks at the checkpoint, in order, for components whose tasks may have
    changed: their states are redistributed."""
    abandoning: tuple[str, ...] = field(default=(), name="gave_up")
    """See CheckpointCompleted: for instances not yet notified."""
    with_input: tuple[int, ...] = ()
    """The tasks at the checkpoint whose states have unprocessed input."""

    def json_values(self) -> dict[str, Any]:
        """Values for typed_json: null as long as not all members have restored."""
        return {"members": None if self.members is None else _with_words(self.members)}


class MovedStates(Struct, frozen=True):
    """States migrated by an update without checkpoints; part of the plan until all receiving
    instances have restored them."""

    number: int
    """Of the update."""
    saved: tuple[int, ...]
    """The tasks whose state was saved, when no tuple was in flight."""
    previous: Mapping[str, tuple[int, ...]] = field(name="former")
    """component -> its tasks at the time, in order, for components with states."""


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
    """None in a topology without checkpoints."""
    moved: MovedStates | None = None
    """None unless an update migrates states."""
    rescaled: Mapping[str, int] = field(default_factory=dict)
    """component -> first epoch with the tasks of `packing`, for components with earlier tasks:
    batches of earlier epochs were routed by keys that may have moved."""
    is_updated: bool = False
    """Whether spouts stand still for an update; then they may have deferred `fail`."""
    has_ticks: bool = True
    """Whether bolts have ticks; false if receivers of their emits have ended."""

    def json_values(self) -> dict[str, Any]:
        """For typed_json."""
        return {"stream_managers": _with_words(self.stream_managers)}


def packing_to_json(plan: PackingPlan) -> dict[str, Any]:
    """The packing plan as JSON values, as under /packingplans."""
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
    """The physical plan as JSON values, as under /pplans and in messages."""
    data: dict[str, Any] = to_json(plan)
    return data


def physical_from_json(data: Any) -> PhysicalPlan:
    """The inverse of `physical_to_json`; ProtocolError naming what is wrong with `data`."""
    plan = from_json(PhysicalPlan, data, "the physical plan")
    _check_packing(plan.packing)
    if not 0 <= plan.epoch <= EPOCH_MAX:
        raise ProtocolError(f"invalid physical plan: epoch {plan.epoch} is not in 0 to {EPOCH_MAX}")
    if plan.state not in (TopologyState.RUNNING, TopologyState.PAUSED):
        raise ProtocolError(f"invalid physical plan: state {reprlib.repr(plan.state):.200}")
    return plan


def _with_words(numbered: Mapping[int, Any]) -> dict[str, Any]:
    """The same with texts as keys, as in JSON, also before JSON is written: the keys of a node of
    the state store are sorted."""
    return {str(number): value for number, value in numbered.items()}


def instance_name(packing: PackingPlan, task: int) -> str:
    """component[index], the name of an instance everywhere."""
    instance = packing.instances[task]
    return f"{instance.component}[{instance.index}]"
