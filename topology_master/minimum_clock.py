"""Minimum clock in the statistics: the locations of a plan, and the holder of the clock."""

from collections.abc import Iterable, Mapping

from heron_core.algorithms.minimum_clock import Location, LocationClock, LocationKind, MinimumClock
from heron_core.clock_stats import MinimumClockStats
from heron_core.plans import MASTER_CONTAINER, PackingPlan, instance_name
from heron_core.stats import ComponentStats, StreamManagerStats
from heron_core.topology import TopologySpec

HOLDER_SHARE = 0.5
"""Least age of the queue with the oldest root, as a share of the root's age: a tuple passes
several queues, and spends most of its time in the slowest one."""


def locations_of(topology: TopologySpec, packing: PackingPlan, tracked: bool) -> set[Location]:
    """All locations of a plan: queues of bolts, links between containers and, at least once, the
    trees of spouts."""
    spouts = {each.name for each in topology.components if each.is_spout}
    containers = {each.id for each in packing.containers} - {MASTER_CONTAINER}
    locations = {Location(LocationKind.LINKS, each) for each in containers if len(containers) > 1}
    for task, instance in packing.instances.items():
        if instance.component not in spouts:
            locations.add(Location(LocationKind.QUEUE, task))
        elif tracked:
            locations.add(Location(LocationKind.TREES, task))
    return locations


def ages_of(container: int, stats: StreamManagerStats) -> dict[Location, float]:
    """Ages in seconds, by the report of a stream manager; empty for an older engine."""
    ages = {
        Location(LocationKind.QUEUE, task): age for task, age in stats.oldest_message_secs.items()
    }
    for task, age in stats.oldest_root_secs.items():
        ages[Location(LocationKind.TREES, task)] = age
    if stats.oldest_message_secs or stats.oldest_root_secs:
        oldest = max(stats.oldest_link_secs.values(), default=0.0)
        ages[Location(LocationKind.LINKS, container)] = oldest
    return ages


def minimum_clock_stats(
    clock: MinimumClock,
    packing: PackingPlan,
    components: Mapping[str, ComponentStats],
    now: float,
    wall_clock_secs: float,
) -> MinimumClockStats | None:
    """Clocks of topology and components; None while a location has not reported."""
    lowest = clock.lowest()
    if lowest is None:
        return None
    return MinimumClockStats(
        clock_ms=int((wall_clock_secs + lowest.at) * 1000),
        behind_secs=max(0.0, now - lowest.at),
        location=lowest.location.kind.value,
        holder=_holder(clock, lowest, packing, components, now),
        components={
            name: max(0.0, now - slowest.at)
            for name in components
            if (slowest := clock.lowest(_locations(clock, packing.tasks_of[name]))) is not None
        },
    )


def _locations(clock: MinimumClock, tasks: Iterable[int]) -> list[Location]:
    locations = (
        Location(kind, task) for task in tasks for kind in (LocationKind.QUEUE, LocationKind.TREES)
    )
    return [location for location in locations if location in clock]


def _holder(
    clock: MinimumClock,
    lowest: LocationClock,
    packing: PackingPlan,
    components: Mapping[str, ComponentStats],
    now: float,
) -> str:
    """The instance with the oldest messages; for a root in no queue the bolt with unsettled tuples;
    empty without such a bolt."""
    kind, task = lowest.location
    if kind is LocationKind.LINKS:
        return f"container {task}"
    if kind is LocationKind.QUEUE:
        return instance_name(packing, task)
    queues = [each for each in clock if each.kind is not LocationKind.TREES]
    oldest = clock.lowest(queues)
    if oldest is not None and now - oldest.at >= HOLDER_SHARE * (now - lowest.at):
        return _holder(clock, oldest, packing, components, now)
    unsettled = {name: each.unsettled_tuples for name, each in components.items()}
    name = max(unsettled, key=lambda each: unsettled[each], default="")
    return name if unsettled.get(name) else ""
