"""The physical plan as it is: packing plan, addresses of the stream managers, epoch."""

from collections.abc import Mapping
from typing import Any

from heron_core.plans import (
    MASTER_CONTAINER,
    MovedStates,
    PackingPlan,
    PhysicalPlan,
    Restore,
    physical_to_json,
)


def containers_of(packing: PackingPlan) -> set[int]:
    """The containers with a stream manager."""
    return {container.id for container in packing.containers} - {MASTER_CONTAINER}


class CurrentPlan:
    """The plan that the stream managers work by, or will once all of them are registered."""

    def __init__(self, packing: PackingPlan, previous: PhysicalPlan | None) -> None:
        """`previous`: the stored plan of a previous master."""
        self.packing = previous.packing if previous else packing
        self.previous = self.packing
        """The packing plan before the last update: late messages of its instances are no error."""
        self.epoch = previous.epoch if previous else 0
        """Number of the plan; 0 without a plan."""
        self.stored_state = previous.state if previous else None
        """State of the topology in a previous master's stored plan."""
        self.restore: Restore | None = previous.restore if previous else None
        """For a topology with checkpoints: initial states of the epoch."""
        self.moved: MovedStates | None = previous.moved if previous else None
        """States migrated by the current update."""
        self.rescaled = dict(previous.rescaled) if previous else {}
        """component -> first epoch of its current tasks, if they changed."""
        self._addresses = dict(previous.stream_managers) if previous else {}

    @property
    def containers(self) -> set[int]:
        """Containers of the plan, without containers being added by an update."""
        return containers_of(self.packing)

    def follow(self, epoch: int) -> None:
        """A stream manager has a plan of the epoch, published by a previous master that failed
        to store it: the next plan must be newer."""
        if epoch > self.epoch:
            self.epoch = epoch
            self._addresses = {}

    def renew(self, addresses: Mapping[int, str]) -> bool:
        """Take the addresses of all stream managers; whether that makes a new plan."""
        if addresses == self._addresses and self.epoch:
            return False
        self._addresses = dict(addresses)
        self.epoch += 1
        return True

    def next_epoch(self) -> None:
        """The plan in a new epoch: earlier messages are void."""
        self.epoch += 1

    def switch(self, packing: PackingPlan, addresses: Mapping[int, str]) -> None:
        """Another packing plan from now on."""
        self.previous, self.packing = self.packing, packing
        self._addresses = dict(addresses)
        self.epoch += 1
        known = {name: at for name, at in self.rescaled.items() if name in packing.tasks_of}
        self.rescaled = known | {
            name: self.epoch
            for name, tasks in packing.tasks_of.items()
            if self.previous.tasks_of.get(name, tasks) != tasks
        }

    def to_json(
        self, topology: str, state: str, is_updated: bool, has_ticks: bool
    ) -> dict[str, Any]:
        """The physical plan of a topology in `state`. `is_updated`: spouts are paused for an
        update, and may have deferred `fail`; `has_ticks`: bolts have ticks, unless receivers of
        their emits have ended."""
        plan = PhysicalPlan(
            topology,
            self.epoch,
            state,
            self.packing,
            self._addresses,
            self.restore,
            self.moved,
            self.rescaled,
            is_updated,
            has_ticks,
        )
        return physical_to_json(plan)

    def validate(self) -> None:
        """AssertionError if something holds that never may."""
        assert self.epoch or not self._addresses, "addresses without a plan"
        assert self._addresses.keys() <= self.containers, "an address of no container"


def changes_between(before: PackingPlan, after: PackingPlan) -> str:
    """Components with a new parallelism, and the number of containers."""
    changes = [
        f"{component} {len(before.tasks_of.get(component, ()))} -> {len(tasks)}"
        for component, tasks in after.tasks_of.items()
        if component in before.tasks_of and len(tasks) != len(before.tasks_of[component])
    ]
    if before.changed != after.changed:
        known = before.instances.keys()
        new_code = [name for name, tasks in after.tasks_of.items() if not known & set(tasks)]
        gone = [name for name in before.tasks_of if name not in after.tasks_of]
        changes += [f"new code: {name}" for name in new_code] + [
            f"no more: {name}" for name in gone
        ]
    old, new = len(containers_of(before)), len(containers_of(after))
    if old != new:
        changes.append(f"containers {old} -> {new}")
    return ", ".join(changes)
