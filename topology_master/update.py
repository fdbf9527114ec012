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
    leaving,
)
from heron_core.topology import TopologySpec
from heron_engine.topology_master.moved_states import moving
from heron_engine.topology_master.physical_plan import containers_of

NAMED_MAX = 5
"""Of what an update waits for, so many are named."""

STILL_SECS = 1.0
"""Nothing has moved for so long: acks that are on the way arrive within milliseconds."""
KEEPS = "it keeps tuples, as open windows do"


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


def undrained(view: MasterView) -> list[str]:
    """What a drain waits for: the instances that are not idle, or if nothing else moves the bolts
    that keep tuples, whose outcome the spouts wait for."""
    detector, packing = view.detector, view.packing
    if detector.still_since is None:
        return names(packing, detector.busy())
    spouts = {each.name for each in view.topology.components if each.is_spout}
    keep = {task for task in detector.holders() if packing.instances[task].component not in spouts}
    return [f"{each} ({KEEPS})" for each in names(packing, keep)]


def only_others_hold(update: Update, view: MasterView, now: float) -> bool:
    """Whether nothing is in flight but tuples that wait for their outcome in open windows, or
    in other bolts that keep them, and whoever is concerned by the update has none of them, nor
    has emitted one: the others go on as they are, and they are acked when they would be."""
    return _is_still(view, now) and not _concerned(update, view)


def may_fail_held(update: Update, view: MasterView, now: float) -> bool:
    """Whether nothing is in flight but such tuples, and all bolts that the update concerns can fail
    theirs, so that these come again by the new plan. Not if a spout that waits for one of them is
    to save its state, or ends: its part has to be settled before."""
    detector = view.detector
    return _is_still(view, now) and all(
        _may_wait(task, update, view) if is_spout(view, task) else detector.may_fail(task)
        for task in _concerned(update, view)
    )


def _may_wait(spout: int, update: Update, view: MasterView) -> bool:
    keeps_state = view.topology.by_name[view.packing.instances[spout].component].keeps_state
    return not keeps_state and spout not in leaving(view.packing, update.target)


def _is_still(view: MasterView, now: float) -> bool:
    since = view.detector.still_since
    return since is not None and now - since >= STILL_SECS


def _concerned(update: Update, view: MasterView) -> set[int]:
    return view.detector.holders() & moving(view.packing, update.target)


def is_spout(view: MasterView, task: int) -> bool:
    """Whether the task is a spout's."""
    return view.topology.by_name[view.packing.instances[task].component].is_spout


def spouts_that_wait(view: MasterView) -> set[int] | None:
    """The spouts that wait for the outcome of tuples; None if there are none."""
    return {task for task in view.detector.holders() if is_spout(view, task)} or None


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
