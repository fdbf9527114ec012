"""Data of an update, and its view of the topology master."""

from collections.abc import Set

from msgspec import Struct, field

from heron_core.algorithms.termination import TerminationDetector
from heron_core.naming import first_of
from heron_core.plans import (
    MovedStates,
    PackingPlan,
    Phase,
    instance_name,
)
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_engine.topology_master.physical_plan import containers_of
from heron_engine.topology_master.update.decisions import Decision
from heron_engine.topology_master.update.states import UpdateState


class UpdateRecord(Struct):
    """An update under way."""

    number: int
    target: PackingPlan
    """The target plan; for a rollback the previous plan."""
    state: UpdateState = UpdateState.ADDING
    since: float | None = None
    """Start of the present state; None: not yet seen by this master."""
    up: set[int] = field(default_factory=set)
    """SWITCHED: the instances that work by the target plan."""
    checkpoint: int = 0
    """CHECKPOINTING: number of the awaited checkpoint, or of an earlier one."""
    unsaved: set[int] = field(default_factory=set)
    """SAVING: the tasks whose states are still to be saved."""
    deferring: set[int] | None = None
    """SAVING, at first, if bolts are to fail held tuples: the spouts without a confirmation that
    `fail` is deferred. None: nothing to defer, or all spouts have confirmed.
    """
    saved: set[int] = field(default_factory=set)
    """The tasks whose states are saved, of components that keep any."""
    moved: MovedStates | None = None
    """The plan's part about saved states, after the switch."""
    unrestored: set[int] = field(default_factory=set)
    """SWITCHED: the tasks that are still to take their part of the moved states."""
    asked_at: float = 0.0
    """SAVING: when instances were last asked to save."""
    before: PackingPlan | None = None
    """STARTING, if states are moved or the code is changed: the plan of a rollback."""
    failure: str = ""
    """Why a state is not saved, or an instance cannot begin by the target plan."""


class Stay(Struct, frozen=True):
    """What the state waits for has not come."""

    decisions: tuple[Decision, ...] = ()


class Go(Struct, frozen=True):
    """Another state begins, after these decisions."""

    to: UpdateState
    decisions: tuple[Decision, ...] = ()
    note: str = ""
    """Obstacle ignored by the update; empty without one."""


class Abort(Struct, frozen=True):
    """The update is cancelled, or rolled back if it is switched."""

    reason: str


Step = Stay | Go | Abort


class Waited(Struct, frozen=True):
    """How long the present state has lasted."""

    now: float
    limit_secs: float
    is_late: bool

    @property
    def limit(self) -> str:
        """For people."""
        return f"{self.limit_secs:g} s"


class CheckpointView(Struct, frozen=True):
    """What an update has to know of checkpoints."""

    is_restoring: bool
    """Whether instances still restore the plan's first state: data does not flow."""
    restore_failure: str
    """Why an instance cannot restore its state; empty as long as possible."""
    newest: int
    """The completed checkpoint with the highest number."""
    latest: int
    """The highest number that any checkpoint has been given."""
    is_under_way: bool
    """Whether one is being taken, or is to be."""
    failure: str
    """Reason of the last failure; empty after success."""
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
    """None in a topology without checkpoints."""


def absent(update: UpdateRecord, view: MasterView) -> set[int]:
    """The containers of both plans whose stream managers are not registered."""
    return (containers_of(update.target) | containers_of(view.packing)) - view.registered


def await_containers(update: UpdateRecord, view: MasterView, waited: Waited) -> Step | None:
    """Step of ADDING until all containers are registered; None afterwards."""
    missing = absent(update, view)
    if not missing:
        return None
    if not waited.is_late:
        return Stay()
    who = first_of(container_names(missing))
    return Abort(f"{who} did not come up within {waited.limit}")


def container_names(containers: Set[int]) -> list[str]:
    """For people, by number."""
    return [f"container {each}" for each in sorted(containers)]


def names_of(packing: PackingPlan, tasks: Set[int]) -> str:
    """The instances by their names, or the first of many."""
    return first_of(names(packing, tasks))


def names(packing: PackingPlan, tasks: Set[int]) -> list[str]:
    """The instances by their names, by task."""
    return [instance_name(packing, task) for task in sorted(tasks)]


def code_of_before(update: UpdateRecord, view: MasterView) -> PackingPlan:
    """The present plan with its code attached: a process that starts between switch and rollback
    has loaded only the new code."""
    if update.target.changed is None:
        return view.packing
    return replace(view.packing, changed=view.topology)
