"""What an update consists of, what it sees of the topology master, and what it is checked by."""

from collections.abc import Set

from msgspec import Struct, field

from heron_core.algorithms.termination import TerminationDetector
from heron_core.errors import HeronError
from heron_core.plans import (
    MASTER_CONTAINER,
    MovedStates,
    PackingPlan,
    Phase,
    UpdateStage,
    instance_name,
)
from heron_core.topology import TopologySpec
from heron_engine.topology_master.physical_plan import containers_of

NAMED_MAX = 5
"""Of what an update waits for, so many are named."""


class Update(Struct):
    """One that is under way."""

    target: PackingPlan
    stage: UpdateStage = UpdateStage.CONTAINERS
    since: float | None = None
    """When this stage began; None: this master has not looked at it yet."""
    up: set[int] = field(default_factory=set)
    """In the last stage: the instances that work by the new plan."""
    checkpoint: int = 0
    """In its stage: the number of the one that is waited for, or of an earlier one."""
    unsaved: set[int] = field(default_factory=set)
    """In the stage SAVE: the tasks whose states are still to be saved."""
    deferring: set[int] | None = None
    """In the stage SAVE, before that, if bolts are to fail what they hold: the spouts that have not
    said yet that they defer `fail`. None: nothing is to be deferred, or all have said so."""
    saved: set[int] = field(default_factory=set)
    """Those whose states are, of components that keep any."""
    moved: MovedStates | None = None
    """What the plan says of these, once it is switched."""
    unrestored: set[int] = field(default_factory=set)
    """In the last stage: the tasks that are still to take their part of them."""
    asked_at: float = 0.0
    before: PackingPlan | None = None
    """In the last stage, if states are moved or the code is changed: the plan to which it can go
    back."""
    failure: str = ""
    """Why an instance cannot begin by the new plan."""


class CheckpointView(Struct, frozen=True):
    """What an update has to know of checkpoints."""

    is_held: bool
    """Whether not all instances have the state with which the plan begins: nothing happens."""
    restore_failure: str
    """Why one of them cannot have it; empty as long as it may."""
    newest: int
    """The completed checkpoint with the highest number."""
    latest: int
    """The highest number that any checkpoint has been given."""
    is_under_way: bool
    """Whether one is being taken, or is to be."""
    failure: str
    """Why the last one failed; empty if it was completed."""
    missing: Set[int]
    """The tasks for whose state all wait."""


class MasterView(Struct, frozen=True):
    """What an update has to know of the topology master; to be read only."""

    topology: TopologySpec
    packing: PackingPlan
    epoch: int
    registered: Set[int]
    """The containers whose stream managers are registered."""
    draining: bool
    """Whether the topology is being killed."""
    phase: Phase
    detector: TerminationDetector
    checkpoints: CheckpointView | None = None
    """None in a topology that takes none."""


def absent(update: Update, view: MasterView) -> set[int]:
    """The containers of both plans whose stream managers are not registered."""
    return (containers_of(update.target) | containers_of(view.packing)) - view.registered


def names_of(packing: PackingPlan, tasks: Set[int]) -> str:
    """The instances by their names, or the first of many."""
    return listed(names(packing, tasks))


def names(packing: PackingPlan, tasks: Set[int]) -> list[str]:
    """The instances by their names, by task."""
    return [instance_name(packing, task) for task in sorted(tasks)]


def listed(names: list[str]) -> str:
    """The first of many."""
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def check_target(topology: TopologySpec, current: PackingPlan, target: PackingPlan) -> None:
    """HeronError if a topology that runs by `current` cannot run by `target`."""
    if target.topology != topology.name:
        raise HeronError(f"a packing plan of {target.topology!r} is none for {topology.name!r}")
    wanted = target.topology_of(topology).by_name.keys()
    if target.tasks_of.keys() != wanted:
        odd = ", ".join(sorted(target.tasks_of.keys() ^ wanted))
        raise HeronError(f"the packing plan's components are not the topology's: {odd}")
    empty = [container.id for container in target.containers if not container.instances]
    if empty or MASTER_CONTAINER in {container.id for container in target.containers}:
        raise HeronError(f"a container with nothing to run in it: {empty or MASTER_CONTAINER}")
    if current.changed is not None and target.changed is None:
        raise HeronError(f"the packing plan is of the code that {topology.name} had before")
    if target == current:
        raise HeronError(f"{topology.name} runs by this plan already")
    for task, instance in target.instances.items():
        known = current.instances.get(task)
        if known and (known.component, known.index) != (instance.component, instance.index):
            raise HeronError(f"task {task} is {known.component}[{known.index}] and must stay it")
