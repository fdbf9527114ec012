"""Who pauses because of whom: stage by stage, with causes counted (design: back-pressure).

A cause is a task whose queue passed its high-water mark, here or at another stream manager. It
pauses the local instances that send into that task's component, and nobody else: their own queues
then fill and become causes in turn, up to the spouts, each step only when needed. An instance runs
again when its last cause is lifted.

A component that is itself fed by the cause (a cycle) is never paused by it: it would wait for
itself. Who feeds the cycle from outside is, so the cycle drains.
"""

from collections.abc import Iterable

from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec


def upstream_of(topology: TopologySpec) -> dict[str, frozenset[str]]:
    """component -> the components that are to pause when it is a cause."""
    fed_by = {each.name: topology.producers_of(each.name) for each in topology.components}
    return {
        name: frozenset(source for source in sources if name not in _ancestors(source, fed_by))
        for name, sources in fed_by.items()
    }


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


class BackPressure:
    """Causes and the local instances they pause."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan, container: int) -> None:
        upstream = upstream_of(topology)
        local = [each for each in packing.instances.values()
                 if packing.container_of[each.task] == container]  # fmt: skip
        self._paused_by = {
            task: [other.task for other in local if other.component in upstream[each.component]]
            for task, each in packing.instances.items()
        }
        self._causes_of: dict[int, set[int]] = {}

    def on(self, cause: int) -> list[int]:
        """A cause appears; returns the local instances that have to pause now."""
        newly = []
        for task in self._paused_by.get(cause, ()):
            causes = self._causes_of.setdefault(task, set())
            if not causes:
                newly.append(task)
            causes.add(cause)
        return newly

    def off(self, cause: int) -> list[int]:
        """A cause is lifted; returns the local instances that may run again."""
        released = []
        for task in self._paused_by.get(cause, ()):
            causes = self._causes_of.get(task)
            if causes and cause in causes:
                causes.remove(cause)
                if not causes:
                    released.append(task)
        return released

    def is_paused(self, task: int) -> bool:
        """Whether a local instance is paused: it is told so when it registers."""
        return bool(self._causes_of.get(task))

    @property
    def paused(self) -> dict[int, tuple[int, ...]]:
        """paused local instance -> its causes, sorted."""
        return {task: tuple(sorted(found)) for task, found in self._causes_of.items() if found}

    def forget(self, causes: Iterable[int]) -> list[int]:
        """Lift several causes, as when the stream manager that named them is gone."""
        return [task for cause in causes for task in self.off(cause)]
