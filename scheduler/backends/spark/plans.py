"""What an application has to do about containers while a topology is scaled. Pure.

Containers of both packing plans run: added ones have to be there before the switch, removed ones
until after it. If the update is undone both plans are the old one again, and what was added goes.
"""

from msgspec import Struct

from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_engine.scheduler.update_plans import Packings


def joined(packings: Packings) -> PackingPlan:
    """One plan of all containers that are to run now, each as it is to start."""
    known = {each.id for each in packings.wanted.containers}
    leaving = tuple(each for each in packings.current.containers if each.id not in known)
    return replace(packings.wanted, containers=(*packings.wanted.containers, *leaving))


class Difference(Struct, frozen=True):
    """What has to be done."""

    start: frozenset[int]
    end: frozenset[int]


def difference(plan: PackingPlan, running: frozenset[int]) -> Difference:
    """From the containers that run, those that are still ending included, to the plan's."""
    wanted = frozenset(each.id for each in plan.containers)
    return Difference(wanted - running, running - wanted)
