"""Bolts with unsettled tuples, and bolts near the limit of their memory. Pure.

A bolt without acks causes two other findings: tuples expire at the spout, and the spout is silent
because no more tuples may be pending. The counts of the bolt name the cause: tuples executed, and
neither acked nor failed. Windows, ticks and classes with `acks_later` keep tuples on purpose
(InstanceReport.settle_secs_max).
"""

from collections.abc import Iterator, Set

from heron_core.naming import component_of
from heron_core.number_text import counted, size
from heron_core.stats import ComponentStats, TopologyStats
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem

UNSETTLED_SECS = 10.0
"""A bolt may work on a tuple in a thread, or wait for a service; a third of the usual message
timeout is left then."""
MEMORY_SHARE = 0.9
"""Of its limit: above the limit an instance is restarted."""


def unsettled(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Bolts without an ack or fail for long, where a spout waits for acks."""
    if not stats.tracked:
        return
    explained = {component_of(name) for name in stats.stuck}
    explained |= {each.component for each in stats.paused.values() if each.causes}
    for name, component in stats.components.items():
        is_unsettled = component.unsettled_secs >= UNSETTLED_SECS and component.unsettled_tuples > 0
        if not is_unsettled or name in explained or not component.up:
            continue
        if waiting := sorted(each for each in _sources_of(stats, name) if _waits(stats, each)):
            yield _unsettled_bolt(name, component, waiting[0])


def _unsettled_bolt(name: str, component: ComponentStats, spout: str) -> TrackerProblem:
    tuples = counted(component.unsettled_tuples, "tuple")
    return TrackerProblem(
        kind=ProblemKind.UNSETTLED,
        component=name,
        what=f"`{name}` holds {tuples} and has acked none for {component.unsettled_secs:.0f} s,"
        f" while `{spout}` waits for acks",
        remedy="call self.ack(tup) for each tuple, or set auto_ack = True in the class",
        cause="does not ack",
        weight=component.unsettled_secs,
    )


def _waits(stats: TopologyStats, name: str) -> bool:
    component = stats.components[name]
    return component.type == "spout" and component.pending > 0


def _sources_of(stats: TopologyStats, bolt: str) -> Set[str]:
    """All components upstream of a bolt."""
    sources: set[str] = set()
    left = [bolt]
    while left:
        for source in stats.components[left.pop()].executed_by_input:
            name = source.partition("/")[0]
            if name in stats.components and name not in sources:
                sources.add(name)
                left.append(name)
    return sources


def memory(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Instances near the limit of their component."""
    for instance in stats.instances or ():
        most = stats.memory_bytes_max.get(instance.component, 0)
        if not most or not instance.up or instance.memory_bytes < MEMORY_SHARE * most:
            continue
        yield TrackerProblem(
            kind=ProblemKind.MEMORY,
            component=instance.component,
            instance=instance.instance,
            what=f"`{instance.instance}` uses {size(instance.memory_bytes)} of its {size(most)},"
            " above which it is restarted",
            remedy="find what it keeps for each tuple, or raise topology.component.rammap",
            cause="near its limit",
            weight=instance.memory_bytes / most,
        )
