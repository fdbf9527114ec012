"""Who pauses because of whom: stage by stage, with causes counted (design: back-pressure).

A cause is a task whose queue passed its high-water mark, here or at another stream manager. It
pauses the local instances that send into that task's component, and nobody else: their own queues
then fill and become causes in turn, up to the spouts, each step only when needed. An instance runs
again when its last cause is lifted.

A component that is itself fed by the cause (a cycle) is never paused by it: it would wait for
itself. Who feeds the cycle from outside is, wherever it does, so the cycle drains.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from heron_core.config import SPOUT, STAGE
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_core.wire.messages import PauseStatistics


def upstream_of(topology: TopologySpec) -> dict[str, frozenset[str]]:
    """component -> the components that are to pause when it is a cause."""
    fed_by = {each.name: topology.producers_of(each.name) for each in topology.components}
    above = {name: _ancestors(name, fed_by) for name in fed_by}
    return {name: _feeders(name, fed_by, above) for name in fed_by}


def _feeders(name: str, fed_by: dict[str, set[str]], above: dict[str, set[str]]) -> frozenset[str]:
    """Who sends into `name`, or into the cycle that it is part of, from outside of the cycle."""
    cycle = {name} | {other for other in above[name] if name in above[other]}
    return frozenset(source for each in cycle for source in fed_by[each]) - cycle


def _ancestors(name: str, fed_by: dict[str, set[str]]) -> set[str]:
    """The components that `name` gets tuples from, directly or not."""
    found: set[str] = set()
    ahead = list(fed_by[name])
    while ahead:
        each = ahead.pop()
        if each not in found:
            found.add(each)
            ahead.extend(fed_by[each])
    return found


def spouts_of(topology: TopologySpec) -> dict[str, frozenset[str]]:
    """component -> all spouts: Heron's way, which slows every branch for the slowest."""
    spouts = frozenset(each.name for each in topology.components if each.is_spout)
    return {each.name: spouts for each in topology.components}


@dataclass(slots=True)
class Pauses:
    """The pauses of one local instance."""

    causes: set[tuple[int, int]] = field(default_factory=set)
    """(container whose stream manager named it, task)"""
    since: float = 0.0
    total_secs: float = 0.0
    """Of the pauses that have ended."""
    seen: float | None = None
    """When the first process of the task came; None: not yet."""

    def this_secs(self, now: float) -> float:
        """PauseStatistics for so long without a break until now."""
        return now - self.since if self.causes else 0.0

    def secs(self, now: float) -> float:
        """PauseStatistics for so long in all."""
        return self.total_secs + self.this_secs(now)

    def share(self, now: float) -> float:
        """PauseStatistics for which share of the time since it was first seen: 0 to 1.

        A task is also paused while no process serves it, so more than all of the time may come out.
        """
        known_secs = 0.0 if self.seen is None else now - self.seen
        return min(1.0, self.secs(now) / known_secs) if known_secs > 0 else 0.0

    def paused(self, now: float) -> PauseStatistics:
        """For the master."""
        causes = tuple(sorted({cause for _, cause in self.causes}))
        return PauseStatistics(causes, self.secs(now), self.this_secs(now), self.share(now))


class BackPressure:
    """Causes and the local instances they pause; mode stage, spout or drop (which pauses none)."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, container: int, mode: str = STAGE
    ) -> None:
        self._held = {STAGE: upstream_of, SPOUT: spouts_of}.get(mode, lambda _: {})(topology)
        """component -> who is to pause when it is a cause"""
        self._container = container
        self._active: set[tuple[int, int]] = set()
        """Causes that stand: (container whose stream manager named it, task)."""
        self._pauses: dict[int, Pauses] = {}
        self._place(packing)

    def _place(self, packing: PackingPlan) -> None:
        local = packing.container(self._container).instances
        held = self._held
        self._paused_by = {
            task: [other.task for other in local if other.component in held.get(each.component, ())]
            for task, each in packing.instances.items()
        }
        self._pauses = {each.task: self._pauses.get(each.task) or Pauses() for each in local}

    def repack(self, packing: PackingPlan, now: float) -> list[int]:
        """The topology is scaled: causes that are gone are lifted; returns who may run again. Who
        is new here is paused by those that stand when it registers."""
        containers = {each.id for each in packing.containers}
        gone = {
            (announcer, cause)
            for announcer, cause in self._active
            if cause not in packing.instances or announcer not in containers
        }
        released = self._lift(gone, self._pauses, now)
        known = set(self._pauses)
        self._place(packing)
        for announcer, cause in self._active:
            for task in set(self._paused_by[cause]) - known:
                pauses = self._pauses[task]
                pauses.since = pauses.since if pauses.causes else now
                pauses.causes.add((announcer, cause))
        return [task for task in released if task in self._pauses]

    def on(self, announcer: int, cause: int, now: float) -> list[int]:
        """The stream manager `announcer` names a cause; returns who has to pause now.

        Several may name the same task, each for the queue that it holds: each has to lift it.
        """
        newly = []
        if cause in self._paused_by:
            self._active.add((announcer, cause))
        for task in self._paused_by.get(cause, ()):
            pauses = self._pauses[task]
            if not pauses.causes:
                pauses.since = now
                newly.append(task)
            pauses.causes.add((announcer, cause))
        return newly

    def off(self, announcer: int, cause: int, now: float) -> list[int]:
        """`announcer` lifts a cause; returns the local instances that may run again."""
        return self._lift({(announcer, cause)}, self._paused_by.get(cause, ()), now)

    def forget(self, announcer: int, now: float) -> list[int]:
        """A stream manager is gone, and its queues with it; returns who may run again."""
        lifted = {each for each in self._active if each[0] == announcer}
        return self._lift(lifted, self._pauses, now)

    def _lift(self, lifted: set[tuple[int, int]], tasks: Iterable[int], now: float) -> list[int]:
        released = []
        self._active -= lifted
        for task in tasks:
            pauses = self._pauses[task]
            if pauses.causes & lifted:
                pauses.causes -= lifted
                if not pauses.causes:
                    pauses.total_secs += now - pauses.since
                    released.append(task)
        return released

    def is_paused(self, task: int) -> bool:
        """Whether a local instance is paused: it is told so when it registers."""
        return bool(self._pauses[task].causes)

    def seen(self, task: int, now: float) -> None:
        """A process of a local task registers: shares of time count from the first one on."""
        if self._pauses[task].seen is None:
            self._pauses[task].seen = now

    def statistics(self, now: float) -> dict[int, PauseStatistics]:
        """local instance -> its pauses, if it ever was paused."""
        return {
            task: pauses.paused(now)
            for task, pauses in self._pauses.items()
            if pauses.secs(now) > 0 or pauses.causes
        }
