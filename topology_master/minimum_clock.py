"""The minimum clock in the statistics: what the places are, and what holds the clock back."""

from collections.abc import Iterable, Mapping

from heron_core.algorithms.minimum_clock import MinimumClock, Place, PlaceClock, PlaceKind
from heron_core.clock_stats import MinimumClockStats
from heron_core.plans import MASTER_CONTAINER, PackingPlan, instance_name
from heron_core.stats import ComponentStats, StreamManagerStats
from heron_core.topology import TopologySpec

HELD_SHARE = 0.5
"""The queue that a tree waits in is at least so old, as a share of the tree's age: a tuple passes
several queues, and one that is behind all others has most of the time."""


def places_of(topology: TopologySpec, packing: PackingPlan, tracked: bool) -> set[Place]:
    """All places by a plan: each bolt's queue, the links of each container if there are several,
    and, at least once, each spout's trees."""
    spouts = {each.name for each in topology.components if each.is_spout}
    containers = {each.id for each in packing.containers} - {MASTER_CONTAINER}
    places = {Place(PlaceKind.LINKS, each) for each in containers if len(containers) > 1}
    for task, instance in packing.instances.items():
        if instance.component not in spouts:
            places.add(Place(PlaceKind.QUEUE, task))
        elif tracked:
            places.add(Place(PlaceKind.TREES, task))
    return places


def ages_of(container: int, stats: StreamManagerStats) -> dict[Place, float]:
    """What a stream manager says of its places, in seconds; empty of an engine that does not."""
    ages = {Place(PlaceKind.QUEUE, task): age for task, age in stats.oldest_message_secs.items()}
    for task, age in stats.oldest_root_secs.items():
        ages[Place(PlaceKind.TREES, task)] = age
    if stats.oldest_message_secs or stats.oldest_root_secs:
        oldest = max(stats.oldest_link_secs.values(), default=0.0)
        ages[Place(PlaceKind.LINKS, container)] = oldest
    return ages


def minimum_clock_stats(
    clock: MinimumClock,
    packing: PackingPlan,
    components: Mapping[str, ComponentStats],
    now: float,
    wall_clock_secs: float,
) -> MinimumClockStats | None:
    """The clock of the topology and of its components; None while a place has not reported."""
    lowest = clock.lowest()
    if lowest is None:
        return None
    return MinimumClockStats(
        clock_ms=int((wall_clock_secs + lowest.at) * 1000),
        behind_secs=max(0.0, now - lowest.at),
        place=lowest.place.kind.value,
        held_by=_holder(clock, lowest, packing, components, now),
        components={
            name: max(0.0, now - found.at)
            for name in components
            if (found := clock.lowest(_places(clock, packing.tasks_of[name]))) is not None
        },
    )


def _places(clock: MinimumClock, tasks: Iterable[int]) -> list[Place]:
    places = (Place(kind, task) for task in tasks for kind in (PlaceKind.QUEUE, PlaceKind.TREES))
    return [place for place in places if place in clock]


def _holder(
    clock: MinimumClock,
    lowest: PlaceClock,
    packing: PackingPlan,
    components: Mapping[str, ComponentStats],
    now: float,
) -> str:
    """The instance whose messages are the oldest. Of a tree that no queue holds the bolt that has
    neither acked nor failed its tuples; empty if there is none."""
    kind, task = lowest.place
    if kind is PlaceKind.LINKS:
        return f"container {task}"
    if kind is PlaceKind.QUEUE:
        return instance_name(packing, task)
    queues = [each for each in clock if each.kind is not PlaceKind.TREES]
    oldest = clock.lowest(queues)
    if oldest is not None and now - oldest.at >= HELD_SHARE * (now - lowest.at):
        return _holder(clock, oldest, packing, components, now)
    unsettled = {name: each.unsettled_tuples for name, each in components.items()}
    name = max(unsettled, key=lambda each: unsettled[each], default="")
    return name if unsettled.get(name) else ""
