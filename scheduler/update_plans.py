"""Packing plans of a topology during a rescale: the active plan and the target plan.

The active plan is in the physical plan, the target plan under /packingplans. Usually they are
equal. Containers of both plans run: added ones start before the switch, removed ones end after
it.
"""

from msgspec import Struct

from heron_core.errors import HeronError
from heron_core.plans import PackingPlan, packing_from_json, physical_from_json
from heron_core.state_tree import packing_path, physical_path
from heron_io.state_store.protocol import StateStore


class Packings(Struct, frozen=True):
    """Both plans."""

    current: PackingPlan
    wanted: PackingPlan

    def of(self, container: int) -> PackingPlan:
        """The plan for a container's start: an added container is in the target plan only."""
        here = any(each.id == container for each in self.current.containers)
        return self.current if here else self.wanted

    @property
    def containers(self) -> list[int]:
        """The containers that are to run now, without the topology master's."""
        plans = (self.current, self.wanted)
        return sorted({each.id for plan in plans for each in plan.containers})


def read_packings(store: StateStore, name: str) -> Packings:
    """Plans in the state store; HeronError for an unknown topology. Both are equal before the
    first physical plan."""
    packing, physical = store.get(packing_path(name)), store.get(physical_path(name))
    if packing is None:
        raise HeronError(f"the state store has no packing plan of {name!r}: has it ended?")
    wanted = packing_from_json(packing)
    current = wanted if physical is None else physical_from_json(physical).packing
    return Packings(current, wanted)
