"""Rescaling a topology that runs: from one packing plan to another, with nothing in flight.

Three stages. The added containers come up while data flows; then the spouts pause until all that is
in flight is processed; then the plan is switched, and when every instance works by the new one the
spouts go on. Whatever stays where it is keeps its process and its state. Up to the switch an update
can be given up. The wanted plan stands under /packingplans from the first stage on, so a master
that takes over finds it and goes on. (Heron: UpdateTopologyManager.java, which restarts every
stream manager.)

`Rescale` sees the master through a `MasterView` and changes nothing in it: what is to be done it
returns as decisions, which the core carries out in their order.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, assert_never

from heron_core.algorithms.termination import TerminationDetector
from heron_core.errors import HeronError
from heron_core.plans import MASTER_CONTAINER, PackingPlan, instance_name, leaving, packing_to_json
from heron_core.topology import TopologySpec
from heron_core.wire.messages import QuiescenceReport
from topology_master.decisions import (
    Decision,
    Dismiss,
    PublishPlan,
    RestartProbes,
    StoreExecution,
    SwitchPlan,
)
from topology_master.events import Log, StorePacking
from topology_master.options import Options
from topology_master.physical_plan import containers_of
from topology_master.termination import Phase

NAMED_MAX = 5
"""Of what an update waits for, so many are named."""
ENDED_AFTER_SECS = 3.0
"""A stream manager beats its heart every second: one that has not for so long is gone."""


class UpdateStage(Enum):
    """How far an update has come."""

    CONTAINERS = "containers"
    DRAIN = "drain"
    INSTANCES = "instances"


@dataclass(slots=True)
class Update:
    """One that is under way."""

    target: PackingPlan
    stage: UpdateStage = UpdateStage.CONTAINERS
    since: float | None = None
    """When this stage began; None: this master has not looked at it yet."""
    up: set[int] = field(default_factory=set)
    """In the last stage: the instances that work by the new plan."""


@dataclass(frozen=True, slots=True)
class MasterView:
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


class Rescale:
    """The update that is under way, and how the last one ended."""

    def __init__(
        self,
        options: Options,
        wanted: PackingPlan,
        current: PackingPlan,
        stored: Mapping[str, Any],
    ) -> None:
        """`wanted` and `stored` are the packing plan and what of an update a master before this one
        left in the state store; `current`: the packing plan of the physical plan."""
        self._limits_secs = {
            UpdateStage.CONTAINERS: options.reactivate_wait_secs,
            UpdateStage.DRAIN: options.deactivate_wait_secs,
            UpdateStage.INSTANCES: options.reactivate_wait_secs,
        }
        self.number = int(stored.get("number", 0))
        """Updates so far."""
        self.reason = str(stored.get("reason", ""))
        """Why the last one was given up; empty if it was not."""
        self._removed_heard: dict[int, float] = {}
        """container -> when its stream manager was last heard of, though no plan has it."""
        self.update: Update | None = None
        if wanted != current:
            self.update = Update(wanted)
        elif stored.get("under_way"):
            self.update = Update(wanted, UpdateStage.INSTANCES)

    @property
    def stage(self) -> UpdateStage | None:
        """How far the update is; None if none is under way."""
        return None if self.update is None else self.update.stage

    @property
    def spouts_paused(self) -> bool:
        """Whether the update needs the spouts to stand still."""
        return self.stage not in (None, UpdateStage.CONTAINERS)

    @property
    def may_cancel(self) -> bool:
        """Whether an update is under way that is not switched yet."""
        return self.stage not in (None, UpdateStage.INSTANCES)

    @property
    def target(self) -> PackingPlan | None:
        """The plan that is to be; None if no update is under way."""
        return None if self.update is None else self.update.target

    def to_json(self, uncounted: int) -> dict[str, Any]:
        """For the state store, and for who asks; `uncounted`: see TerminationDetector."""
        return {
            "number": self.number,
            "under_way": self.update is not None,
            "reason": self.reason,
            "uncounted": uncounted,
        }

    def waiting_for(self, view: MasterView) -> list[str]:
        """The containers or instances that the present stage waits for."""
        update = self.update
        if update is None:
            return []
        match update.stage:
            case UpdateStage.CONTAINERS:
                return [f"container {each}" for each in sorted(_absent(update, view))]
            case UpdateStage.DRAIN:
                return _names(view.packing, view.detector.busy())
            case UpdateStage.INSTANCES:
                return _names(update.target, update.target.instances.keys() - update.up)
            case _:
                assert_never(update.stage)

    # --- commands -----------------------------------------------------------------------------

    def start(self, target: PackingPlan, view: MasterView, now: float) -> list[Decision]:
        """Begin an update to the packing plan `target`; HeronError if that cannot be."""
        self._check_may_start(view)
        check_target(view.topology, view.packing, target)
        self._check_ended(containers_of(target) - view.registered, now)
        self.number += 1
        self.reason = ""
        self.update = Update(target, since=now)
        stored: list[Decision] = [StorePacking(packing_to_json(target)), StoreExecution()]
        return stored + self.advance(view, now)

    def _check_may_start(self, view: MasterView) -> None:
        name = view.topology.name
        if self.update is not None:
            raise HeronError(f"an update of {name} is under way: wait until it is done")
        if view.draining:
            raise HeronError(f"{name} is being killed")
        if view.phase is not Phase.RUNNING:
            raise HeronError(f"{name} is at its end: all of its spouts are finished")
        if not view.epoch:
            raise HeronError(f"{name} is still starting: try again when its containers are up")

    def removed_heard(self, container: int, now: float) -> None:
        """A stream manager is heard of whose container is in no plan: it has still to be ended."""
        self._removed_heard[container] = now

    def _check_ended(self, added: Set[int], now: float) -> None:
        """A container that is left of an update that was given up has that update's instances: it
        must not be taken for one of the new plan."""
        for container in sorted(added):
            if now - self._removed_heard.get(container, -inf) < ENDED_AFTER_SECS:
                raise HeronError(
                    f"container {container} of the update before has not ended yet: "
                    "try again in a few seconds"
                )

    def cancel(self, reason: str, view: MasterView, now: float) -> list[Decision]:
        """Give an update up, as long as the plan is not switched; HeronError after that."""
        update, paused = self.update, self.spouts_paused
        if update is None:
            raise HeronError(f"no update of {view.topology.name} is under way")
        if not self.may_cancel:
            raise HeronError("the plan is switched: the update cannot be given up any more")
        self.update, self.reason = None, reason
        added = containers_of(update.target) - containers_of(view.packing)
        for container in added & view.registered:
            self.removed_heard(container, now)
        decisions: list[Decision] = [
            Log(f"the update is given up: {reason}"),
            StorePacking(packing_to_json(view.packing)),
            StoreExecution(),
            Dismiss(frozenset(added)),
        ]
        return [*decisions, PublishPlan()] if paused else decisions

    # --- stages -------------------------------------------------------------------------------

    def advance(self, view: MasterView, now: float) -> list[Decision]:
        """One stage further, if its condition holds or its time is over."""
        update = self.update
        if update is None or view.draining:
            return []
        first: list[Decision] = []
        if update.since is None:
            update.since = now
            first = [RestartProbes()]
        late = now - update.since > self._limits_secs[update.stage]
        match update.stage:
            case UpdateStage.CONTAINERS:
                return first + self._await_containers(update, view, late, now)
            case UpdateStage.DRAIN:
                return first + self._await_drained(update, view, late, now)
            case UpdateStage.INSTANCES:
                return first + self._await_instances(update, view, late)
            case _:
                assert_never(update.stage)

    def _await_containers(
        self, update: Update, view: MasterView, late: bool, now: float
    ) -> list[Decision]:
        if not _absent(update, view):
            update.stage, update.since = UpdateStage.DRAIN, now
            text = "update: all containers are there, the spouts pause"
            return [Log(text), RestartProbes(), PublishPlan()]
        if late:
            missing = _listed(self.waiting_for(view))
            limit = self._limit(UpdateStage.CONTAINERS)
            return self.cancel(f"{missing} did not come up within {limit}", view, now)
        return []

    def _await_drained(
        self, update: Update, view: MasterView, late: bool, now: float
    ) -> list[Decision]:
        drained = view.detector.drained
        if not late and not drained:
            return []
        decisions: list[Decision] = []
        limit = self._limit(UpdateStage.DRAIN)
        if not drained:
            # What other spouts have in flight fails and is emitted again; those that go cannot.
            busy = view.detector.busy() & leaving(view.packing, update.target)
            spouts = {task for task in busy if _is_spout(view, task)}
            if spouts:
                names = _listed(_names(view.packing, spouts))
                return self.cancel(f"{names} still had tuples in flight after {limit}", view, now)
            waited_for = _listed(self.waiting_for(view))
            decisions = [Log(f"not quiet after {limit} ({waited_for}): going on")]
        update.stage, update.since = UpdateStage.INSTANCES, now
        return [
            *decisions,
            SwitchPlan(update.target),
            Log(f"update: switched, the epoch is {view.epoch + 1}"),
            StoreExecution(),
        ]

    def report(self, report: QuiescenceReport, epoch: int) -> None:
        """An instance answers a probe: perhaps it works by the plan of this epoch now."""
        update = self.update
        if update is None or update.stage is not UpdateStage.INSTANCES:
            return
        if report.epoch >= epoch and report.task in update.target.instances:
            update.up.add(report.task)

    def _await_instances(self, update: Update, view: MasterView, late: bool) -> list[Decision]:
        waiting_for = self.waiting_for(view)
        if waiting_for and not late:
            # Some answered before they had taken the plan: they are asked again.
            return [RestartProbes()] if view.detector.drained else []
        decisions: list[Decision] = []
        if waiting_for:
            limit = self._limit(UpdateStage.INSTANCES)
            decisions = [Log(f"{_listed(waiting_for)} not up after {limit}")]
        self.update = None
        return [
            *decisions,
            Log("update: done"),
            RestartProbes(),
            StoreExecution(),
            PublishPlan(),
        ]

    def _limit(self, stage: UpdateStage) -> str:
        return f"{self._limits_secs[stage]:g} s"

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        if self.update is not None:
            assert self.update.up <= self.update.target.instances.keys(), "a stranger is up"
            assert not self.update.up or not self.may_cancel, "up before the plan is switched"


def _absent(update: Update, view: MasterView) -> set[int]:
    """The containers of both plans whose stream managers are not registered."""
    return (containers_of(update.target) | containers_of(view.packing)) - view.registered


def _is_spout(view: MasterView, task: int) -> bool:
    return view.topology.by_name[view.packing.instances[task].component].is_spout


def _names(packing: PackingPlan, tasks: Set[int]) -> list[str]:
    return [instance_name(packing, task) for task in sorted(tasks)]


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def check_target(topology: TopologySpec, current: PackingPlan, target: PackingPlan) -> None:
    """HeronError if a topology that runs by `current` cannot run by `target`."""
    if target.topology != topology.name:
        raise HeronError(f"a packing plan of {target.topology!r} is none for {topology.name!r}")
    wanted = {component.name for component in topology.components}
    if target.tasks_of.keys() != wanted:
        odd = ", ".join(sorted(target.tasks_of.keys() ^ wanted))
        raise HeronError(f"the packing plan's components are not the topology's: {odd}")
    empty = [container.id for container in target.containers if not container.instances]
    if empty or MASTER_CONTAINER in {container.id for container in target.containers}:
        raise HeronError(f"a container with nothing to run in it: {empty or MASTER_CONTAINER}")
    if target == current:
        raise HeronError(f"{topology.name} runs by this plan already")
    for task, instance in target.instances.items():
        known = current.instances.get(task)
        if known and (known.component, known.index) != (instance.component, instance.index):
            raise HeronError(f"task {task} is {known.component}[{known.index}] and must stay it")
