"""Bolts that cannot keep up, and how many instances would: sentences out of stats. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from heron_core.algorithms.autoscale.flow import SKEWED
from heron_core.algorithms.autoscale.sizing import (
    FIXED_STATE,
    Demand,
    granted,
    needed,
    unthrottled,
)
from heron_core.config import AUTOSCALE_INSTANCES_MAX
from heron_core.naming import component_of
from heron_core.number_text import counted
from heron_core.stats import BUSY_SHARE, ComponentStats, InstanceStats, TopologyStats
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem

SKEW_BUSY = 0.7
"""Utilisation of the busiest instance below which skew is not reported."""
HOT_SHARE = 0.2
"""A key with less of a component's input is not what keeps an instance busy."""
HOT_SHARE_ALONE = 0.6
"""Share of a hot instance's work due to one key: the remaining keys are less than half of
the rest.
"""
WORKING_SHARE = 0.3
"""Utilisation below which a bolt with a long queue does not work on the queue."""
UNNAMED_SECS = 10.0
"""A hanging call is named after five seconds, and so is a stopped process."""
DELAY_SECS = 1.0
"""A queue that takes longer is too long: the target of back-pressure."""


def slow(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Overloaded bolts: one instance (skew) or all instances (bottleneck). A blocked or idle bolt
    is not a cause.
    """
    paused_by = _paused_shares(stats)
    blocked = _blocked_components(stats)
    idle = _idle_causes(stats)
    for name, component in stats.components.items():
        if component.type != "bolt" or stats.stuck.keys() & _names_of(name, stats):
            continue
        if name in blocked or name in idle:
            continue
        share = paused_by.get(name, 0.0)
        rows = [
            instance
            for instance in stats.instances or ()
            if instance.component == name and instance.up
        ]
        is_cause = name in paused_by
        skewed = _hot_key(name, component, is_cause) or _skew(name, rows, is_cause)
        if skewed is not None:
            yield skewed
        elif is_cause or (component.capacity >= BUSY_SHARE and component.queue_secs > DELAY_SECS):
            yield _bottleneck(stats, name, rows, share, _paused_names(stats, name))
        elif component.capacity >= BUSY_SHARE:
            yield _bottleneck(stats, name, rows, 0.0, [])


def _names_of(component: str, stats: TopologyStats) -> set[str]:
    return {each.instance for each in stats.instances or () if each.component == component}


def _paused_shares(stats: TopologyStats) -> Mapping[str, float]:
    """Component that causes back-pressure now -> largest paused share of time among the
    instances paused by it."""
    found: dict[str, float] = {}
    for pauses in stats.paused.values():
        for cause in pauses.because_of:
            name = component_of(cause)
            found[name] = max(found.get(name, 0.0), pauses.share)
    return found


def _idle_causes(stats: TopologyStats) -> set[str]:
    """Components with a queue and without work: their processes are down, cannot start, or hang
    outside of tuples. Within seconds such a cause is reported under its own name; a longer queue
    without a report belongs to a bottleneck after all.
    """
    starts = {each.task: each.instance for each in stats.instances or ()}
    idle = {component_of(each) for each in (*stats.unheard, *stats.starting)}
    idle |= {component_of(starts[task]) for task in stats.errors if task in starts}
    causes = [(cause, pauses) for pauses in stats.paused.values() for cause in pauses.because_of]
    down = {each.instance for each in stats.instances or () if not each.up}
    idle |= {component_of(cause) for cause, _ in causes if cause in down}
    lasting = {
        component_of(cause) for cause, pauses in causes if pauses.this_pause_secs >= UNNAMED_SECS
    }
    return idle | {
        name
        for name in _paused_shares(stats).keys() - lasting
        if name in stats.components and stats.components[name].capacity < WORKING_SHARE
    }


def _blocked_components(stats: TopologyStats) -> set[str]:
    """The components of which an instance is paused now because of another component."""
    return {
        name
        for pauses in stats.paused.values()
        for name in [pauses.component]
        if any(component_of(cause) != name for cause in pauses.because_of)
    }


def _paused_names(stats: TopologyStats, cause: str) -> list[str]:
    """The components whose instances wait for `cause`."""
    waiting = {
        pauses.component
        for pauses in stats.paused.values()
        if any(component_of(each) == cause for each in pauses.because_of)
    }
    return [name for name in stats.components if name in waiting]


def _hot_key(name: str, component: ComponentStats, is_cause: bool) -> TrackerProblem | None:
    """Hot key of a busy instance, which more instances do not relieve."""
    hot = next(iter(component.hot_keys), None)
    is_busy = component.capacity >= (SKEW_BUSY if is_cause else BUSY_SHARE)
    if hot is None or not is_busy or hot.share < HOT_SHARE:
        return None
    if component.instances > 1 and hot.share < SKEWED / component.instances:
        return None
    if component.instances == 1 and hot.share < HOT_SHARE_ALONE:
        return None  # other keys can still be moved away
    return TrackerProblem(
        kind=ProblemKind.SKEWED,
        component=name,
        what=f"key {hot.key} is {hot.share:.0%} of the input of `{name}`, whose busiest instance "
        f"is {component.capacity:.0%} busy",
        remedy="more instances do not help: group by a finer key, or by partial key and add up "
        "behind",
        cause="frequent key",
        weight=hot.share,
    )


def _skew(name: str, rows: Sequence[InstanceStats], is_cause: bool) -> TrackerProblem | None:
    """The problem of one instance with far more work than its even share, not relieved by more
    instances; None without such an instance.
    """
    total = sum(row.executed_per_sec for row in rows)
    if len(rows) < 2 or total <= 0:
        return None
    most = max(rows, key=lambda row: row.executed_per_sec)
    others = [row.capacity for row in rows if row is not most]
    even, share = 1 / len(rows), most.executed_per_sec / total
    is_alone = most.capacity >= SKEWED * (sum(others) / len(others))
    is_busy = most.capacity >= (SKEW_BUSY if is_cause else BUSY_SHARE)
    if share < SKEWED * even or not is_alone or not is_busy:
        return None
    return TrackerProblem(
        kind=ProblemKind.SKEWED,
        component=name,
        instance=most.instance,
        what=f"`{most.instance}` does {share:.0%} of the work of {len(rows)} instances of `{name}` "
        f"and is {most.capacity:.0%} busy",
        remedy="a frequent key goes there, so more instances do not help: group by a finer key, or "
        "by partial key and add up behind",
        cause="uneven keys",
        weight=share,
    )


def _bottleneck(
    stats: TopologyStats,
    name: str,
    rows: Sequence[InstanceStats],
    paused_share: float,
    paused: Sequence[str],
) -> TrackerProblem:
    component = stats.components[name]
    number = component.instances
    whom = f" and pauses {_named(paused)}" if paused else ""
    return TrackerProblem(
        kind=ProblemKind.BOTTLENECK,
        component=name,
        what=f"`{name}` is the bottleneck: {component.capacity:.0%} busy on "
        f"{counted(number, 'instance')}{whom}",
        remedy=_advice(stats, name, rows, paused_share),
        cause="pauses its senders" if paused else "busy",
        weight=(10.0 if paused else 0.0) + component.capacity,
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _advice(
    stats: TopologyStats, name: str, rows: Sequence[InstanceStats], paused_share: float
) -> str:
    """How many instances would do, by how busy they are and how much more would come."""
    component = stats.components[name]
    number = component.instances
    needs = instances_needed(component, rows, paused_share, stats.sizing.target_utilization)
    if needs <= number:
        return "make its calls faster"
    if any(row.fixed_state for row in rows):
        return FIXED_STATE
    wanted = granted(needs, number, stats.sizing.instances_max.get(name))
    if wanted <= number:
        return f"{needs} would do, and it may have {number} ({AUTOSCALE_INSTANCES_MAX})"
    how = "" if wanted == needs else "at least "
    command = f"heronpy update {stats.topology} --component-parallelism {name}:{wanted}"
    return f"{how}{wanted} would do (`{command}`)"


def instances_needed(
    component: ComponentStats,
    rows: Sequence[InstanceStats],
    paused_share: float,
    utilization: float,
) -> int:
    """Parallelism at which the instances have `utilization` (0 to 1) under the expected load.

    `paused_share` (0 to 1) of the senders' time is paused now; without pauses the input grows
    accordingly.
    """
    work = sum(row.capacity for row in rows) if rows else component.capacity * component.instances
    demand = Demand(shared=unthrottled(work, paused_share), fixed=0.0)
    return needed(demand, rate=1.0, utilization=utilization) or 1
