"""Scaling a topology that runs: from one packing plan to another, with nothing in flight.

Three steps. The added containers come up while data flows; then the spouts pause until all that is
in flight is processed; then the plan is switched, and when every instance works by the new one the
spouts go on. Whatever stays where it is keeps its process and its state. Up to the switch an update
can be given up. The wanted plan stands under /packingplans from the first step on, so a master that
takes over finds it and goes on. (Heron: UpdateTopologyManager.java, which restarts every stream
manager.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from heron_core.errors import HeronError
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    leaving,
    packing_from_json,
    packing_to_json,
)
from heron_core.topology import TopologySpec
from heron_core.wire.messages import Json, QuiescenceReport
from topology_master import events
from topology_master.options import Options
from topology_master.termination import Phase, Waves

Out = list[events.Instruction]

NAMED_MAX = 5
"""Of what an update waits for, so many are named."""


class Step(Enum):
    """How far an update has come."""

    CONTAINERS = "containers"
    DRAIN = "drain"
    INSTANCES = "instances"


@dataclass(slots=True)
class Update:
    """One that is under way."""

    target: PackingPlan
    step: Step = Step.CONTAINERS
    since: float | None = None
    """When this step began; None: this master has not looked at it yet."""
    up: set[int] = field(default_factory=set)
    """In the last step: the instances that work by the new plan."""


class Host(Protocol):
    """What scaling asks of the topology master."""

    topology: TopologySpec
    packing: PackingPlan
    draining: bool
    phase: Phase
    epoch: int
    waves: Waves

    @property
    def registered(self) -> set[int]:
        """The containers whose stream managers are there."""

    def publish(self, out: Out) -> None:
        """Store the physical plan and send it to all."""

    def switch(self, packing: PackingPlan, out: Out) -> None:
        """Run by another packing plan."""

    def dismiss(self, containers: set[int]) -> None:
        """Forget the stream managers of containers that are not to be."""

    def store_state(self, out: Out) -> None:
        """Store the execution state."""


class Scaling:
    """The update that is under way, and how the last one ended."""

    def __init__(
        self, host: Host, options: Options, wanted: PackingPlan, told: Mapping[str, Any]
    ) -> None:
        """`wanted` and `told` are the packing plan and what of an update a master before this one
        left in the state store."""
        self._host = host
        self._limits = {
            Step.CONTAINERS: options.reactivate_wait_secs,
            Step.DRAIN: options.deactivate_wait_secs,
            Step.INSTANCES: options.reactivate_wait_secs,
        }
        self.number = int(told.get("number", 0))
        """Updates so far."""
        self.reason = str(told.get("reason", ""))
        """Why the last one was given up; empty if it was not."""
        self.now: Update | None = None
        if wanted != host.packing:
            self.now = Update(wanted)
        elif told.get("under_way"):
            self.now = Update(wanted, Step.INSTANCES)

    @property
    def holds(self) -> bool:
        """Whether the spouts are to stand still."""
        return self.now is not None and self.now.step is not Step.CONTAINERS

    @property
    def target(self) -> PackingPlan:
        """The plan that is to be, which is the one that is if no update is under way."""
        return self._host.packing if self.now is None else self.now.target

    def told(self) -> dict[str, Any]:
        """For the state store, and for who asks."""
        return {
            "number": self.number,
            "under_way": self.now is not None,
            "reason": self.reason,
            "uncounted": self._host.waves.uncounted,
        }

    def progress(self) -> dict[str, Any]:
        """How far it is and what it waits for."""
        found = {**self.told(), "step": None, "waiting_for": []}
        if self.now is not None:
            found |= {"step": self.now.step.value, "waiting_for": self._waiting_for(self.now)}
        return found

    def _waiting_for(self, update: Update) -> list[str]:
        if update.step is Step.CONTAINERS:
            return [f"container {each}" for each in sorted(self._absent(update))]
        tasks = update.target.instances
        if update.step is Step.DRAIN:
            tasks = self._host.packing.instances
            late = self._host.waves.busy()
        else:
            late = tasks.keys() - update.up
        return [f"{tasks[each].component}[{tasks[each].index}]" for each in sorted(late)]

    def _absent(self, update: Update) -> set[int]:
        wanted = containers_of(update.target) | containers_of(self._host.packing)
        return wanted - self._host.registered

    # --- commands -----------------------------------------------------------------------------

    def start(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin an update to the packing plan in `arguments`; HeronError if that cannot be."""
        host = self._host
        self._check_may_start()
        target = packing_from_json(arguments.get("packing") or {})
        check_target(host.topology, host.packing, target)
        self.number += 1
        self.reason = ""
        self.now = Update(target, since=now)
        out.append(events.StorePacking(packing_to_json(target)))
        host.store_state(out)
        self.go_on(now, out)
        return {"number": self.number}

    def _check_may_start(self) -> None:
        host, name = self._host, self._host.topology.name
        if self.now is not None:
            raise HeronError(f"an update of {name} is under way: wait until it is done")
        if host.draining:
            raise HeronError(f"{name} is being killed")
        if host.phase is not Phase.RUNNING:
            raise HeronError(f"{name} is at its end: all of its spouts are finished")
        if not host.epoch:
            raise HeronError(f"{name} is still starting: try again when its containers are up")

    def cancel(self, reason: str, out: Out) -> None:
        """Give an update up, as long as the plan is not switched; HeronError after that."""
        update, held = self.now, self.holds
        if update is None:
            raise HeronError(f"no update of {self._host.topology.name} is under way")
        if update.step is Step.INSTANCES:
            raise HeronError("the plan is switched: the update cannot be given up any more")
        self.now, self.reason = None, reason
        host = self._host
        out.append(events.Log(f"the update is given up: {reason}"))
        out.append(events.StorePacking(packing_to_json(host.packing)))
        host.store_state(out)
        host.dismiss(containers_of(update.target) - containers_of(host.packing))
        if held:
            host.publish(out)

    # --- steps --------------------------------------------------------------------------------

    def go_on(self, now: float, out: Out) -> None:
        """One step further, if its condition holds or its time is over."""
        update = self.now
        if update is None or self._host.draining:
            return
        if update.since is None:
            update.since = now
            self._host.waves.begin()
        late = now - update.since > self._limits[update.step]
        match update.step:
            case Step.CONTAINERS:
                self._await_containers(update, late, now, out)
            case Step.DRAIN:
                self._await_quiet(update, late, now, out)
            case Step.INSTANCES:
                self._await_instances(update, late, out)

    def _await_containers(self, update: Update, late: bool, now: float, out: Out) -> None:
        if not self._absent(update):
            update.step, update.since = Step.DRAIN, now
            out.append(events.Log("update: all containers are there, the spouts pause"))
            self._host.waves.begin()
            self._host.publish(out)
        elif late:
            missing = _named(self._waiting_for(update))
            self.cancel(f"{missing} did not come up within {self._limit(update)}", out)

    def _await_quiet(self, update: Update, late: bool, now: float, out: Out) -> None:
        waves, host = self._host.waves, self._host
        if late and not waves.quiet:
            # What other spouts have in flight fails and is emitted again; those that go cannot.
            busy = waves.busy() & leaving(host.packing, update.target)
            spouts = {task for task in busy if self._is_spout(task)}
            if spouts:
                names = _named([self._name(task) for task in sorted(spouts)])
                self.cancel(f"{names} still had tuples in flight after {self._limit(update)}", out)
                return
            waited_for = _named(self._waiting_for(update))
            out.append(
                events.Log(f"not quiet after {self._limit(update)} ({waited_for}): going on")
            )
        if late or waves.quiet:
            update.step, update.since = Step.INSTANCES, now
            host.switch(update.target, out)
            out.append(events.Log(f"update: switched, the epoch is {host.epoch}"))
            host.store_state(out)

    def answer(self, counts: QuiescenceReport) -> None:
        """An instance answers a wave: perhaps it works by the new plan now."""
        update = self.now
        if update is None or update.step is not Step.INSTANCES:
            return
        if counts.epoch >= self._host.epoch:
            update.up.add(counts.task)

    def _await_instances(self, update: Update, late: bool, out: Out) -> None:
        waiting_for = self._waiting_for(update)
        if waiting_for and not late:
            if self._host.waves.quiet:
                self._host.waves.begin()  # some answered before they had taken the plan: ask again
            return
        if waiting_for:
            out.append(events.Log(f"{_named(waiting_for)} not up after {self._limit(update)}"))
        self.now = None
        out.append(events.Log("update: done"))
        self._host.waves.begin()
        self._host.store_state(out)
        self._host.publish(out)

    def _limit(self, update: Update) -> str:
        return f"{self._limits[update.step]:g} s"

    def _is_spout(self, task: int) -> bool:
        component = self._host.packing.instances[task].component
        return self._host.topology.by_name[component].is_spout

    def _name(self, task: int) -> str:
        instance = self._host.packing.instances[task]
        return f"{instance.component}[{instance.index}]"


def containers_of(packing: PackingPlan) -> set[int]:
    """The containers with a stream manager."""
    return {each.id for each in packing.containers} - {MASTER_CONTAINER}


def _named(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def check_target(topology: TopologySpec, current: PackingPlan, target: PackingPlan) -> None:
    """HeronError if a topology that runs by `current` cannot run by `target`."""
    if target.topology != topology.name:
        raise HeronError(f"a packing plan of {target.topology!r} is none for {topology.name!r}")
    wanted = {each.name for each in topology.components}
    if target.tasks_of.keys() != wanted:
        odd = ", ".join(sorted(target.tasks_of.keys() ^ wanted))
        raise HeronError(f"the packing plan's components are not the topology's: {odd}")
    empty = [each.id for each in target.containers if not each.instances]
    if empty or MASTER_CONTAINER in {each.id for each in target.containers}:
        raise HeronError(f"a container with nothing to run in it: {empty or MASTER_CONTAINER}")
    if target == current:
        raise HeronError(f"{topology.name} runs by this plan already")
    for task, instance in target.instances.items():
        known = current.instances.get(task)
        if known and (known.component, known.index) != (instance.component, instance.index):
            raise HeronError(f"task {task} is {known.component}[{known.index}] and must stay it")
