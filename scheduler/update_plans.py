"""The packing plans of a topology that is being scaled: the one it runs by, and the one it is to.

The first stands in the physical plan, the second under /packingplans. Usually they are the same.
Whoever starts and ends containers runs those of both: added ones come before the switch, removed
ones go after it.
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
        """The plan by which a container starts: an added one knows only the wanted one."""
        here = any(each.id == container for each in self.current.containers)
        return self.current if here else self.wanted

    @property
    def containers(self) -> list[int]:
        """The containers that are to run now, without the topology master's."""
        plans = (self.current, self.wanted)
        return sorted({each.id for plan in plans for each in plan.containers})


def read_packings(store: StateStore, name: str) -> Packings:
    """What the state store has; HeronError if it has no such topology. Before the first physical
    plan both are the same."""
    packing, physical = store.get(packing_path(name)), store.get(physical_path(name))
    if packing is None:
        raise HeronError(f"the state store has no packing plan of {name!r}: has it ended?")
    wanted = packing_from_json(packing)
    current = wanted if physical is None else physical_from_json(physical).packing
    return Packings(current, wanted)
