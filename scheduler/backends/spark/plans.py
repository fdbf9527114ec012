"""Container changes of an application during a rescale. Pure.

Containers of both packing plans run: added containers start before the switch, removed
containers end after it. If the update is undone, both plans are the old plan again, and
additions end.
"""

from msgspec import Struct

from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_engine.scheduler.update_plans import Packings


def joined(packings: Packings) -> PackingPlan:
    """One plan of all containers to run, each with its start parameters."""
    known = {each.id for each in packings.wanted.containers}
    leaving = tuple(each for each in packings.current.containers if each.id not in known)
    return replace(packings.wanted, containers=(*packings.wanted.containers, *leaving))


class Difference(Struct, frozen=True):
    """Required changes."""

    start: frozenset[int]
    end: frozenset[int]


def difference(plan: PackingPlan, running: frozenset[int]) -> Difference:
    """From the running containers, including ending ones, to the plan's."""
    wanted = frozenset(each.id for each in plan.containers)
    return Difference(wanted - running, running - wanted)
