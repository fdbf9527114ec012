"""What holds a topology back and what would help, as sentences for people, out of its stats.

The order is that of a person who looks for the cause: what cannot run at all comes before what is
slow, and of what is slow the component that makes others wait comes first. Numbers are of the last
report, except for failures, which are counted since the start, and for crashes of the last minutes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from heron_core.algorithms.autoscale.flow import SKEWED
from heron_core.algorithms.autoscale.sizing import (
    FIXED_STATE,
    Demand,
    granted,
    needed,
    unthrottled,
)
from heron_core.config import AUTOSCALE_INSTANCES_MAX
from heron_core.ending_text import end_lines
from heron_core.naming import component_of, first_of
from heron_core.number_text import counted
from heron_core.plans import Phase, TopologyState
from heron_core.stats import BUSY_SHARE, ComponentStats, InstanceStats, TopologyStats
from heron_core.topology_events import EventKind, TopologyEvent

SKEW_BUSY = 0.7
"""Below this share of its time the busiest instance holds nobody up, skewed or not."""
HOT_SHARE = 0.2
"""A key with less of a component's input is not what keeps an instance busy."""
HOT_SHARE_ALONE = 0.6
"""With one instance: the others of its keys are less than half of the work that is left."""
DELAY_SECS = 1.0
"""A queue that takes longer is too long: the target of back-pressure."""
FAILED_SHARE = 0.001
"""Of a component's tuples: fewer failures than that are no finding of their own."""

CRASHED_SECS = 300.0
"""A process that ended is named for so long, though another one has taken its place: what ended it
may come again, and whoever is woken up needs some minutes."""
NAMED_MAX = 3
"""Instances of a container that are named."""
OUT_OF_MEMORY = "it was restarted; if it was not killed on purpose, its machine was out of memory"


class ProblemKind(StrEnum):
    """What may be wrong; the worst first."""

    OVER = "over"
    CANNOT_START = "cannot start"
    DOWN = "down"
    STUCK = "stuck"
    RESTORE = "restore"
    SKEWED = "skewed"
    BOTTLENECK = "bottleneck"
    CRASHED = "crashed"
    FAILING = "failing"
    CHECKPOINT = "checkpoint"
    LOST = "lost"


RANKS = {kind: rank for rank, kind in enumerate(ProblemKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerProblem:
    """One finding."""

    kind: ProblemKind
    component: str
    """Empty for the whole topology."""
    instance: str = ""
    """component[index], if it is about one."""
    what: str
    """What is wrong, in one clause."""
    remedy: str
    """What would help, in one clause."""
    weight: float = 0.0
    """Of two of a kind the heavier one is named first."""

    @property
    def sentence(self) -> str:
        """Both clauses."""
        return f"{self.what}; {self.remedy}"

    @property
    def key(self) -> tuple[str, str]:
        """What stays the same while it lasts."""
        return (self.kind.value, self.instance or self.component)


def problems(stats: TopologyStats, at: float | None = None) -> tuple[TrackerProblem, ...]:
    """All findings, the worst first. `at`: the time, in seconds since 1970; without it nothing is
    said of what ended lately."""
    unsorted = (
        *_cannot_start(stats), *_down(stats), *_stuck(stats), *_restoring(stats),
        *_crashed(stats, at), *_slow(stats), *_failing(stats), *_checkpoints(stats), *_lost(stats),
    )  # fmt: skip
    shares = {pause.component: pause.share for pause in stats.paused.values()}

    def order(problem: TrackerProblem) -> tuple[int, float]:
        # Between two pauses of its own a bolt is busy, too, and is not the cause.
        return (RANKS[problem.kind], shares.get(problem.component, 0.0) - problem.weight)

    return tuple(sorted(unsorted, key=order))


def over(state: str, reason: str) -> TrackerProblem:
    """The topology is not there any more, which was not asked for."""
    how = "has failed" if state == TopologyState.FAILED else "was lost"
    return TrackerProblem(
        kind=ProblemKind.OVER,
        component="",
        what=f"the topology {how}: {reason}" if reason else f"the topology {how}",
        remedy="its logs say why; `heronpy submit` starts it again",
    )


def summary(stats: TopologyStats, at: float | None = None) -> str:
    """The sentence on top: the worst finding, or that there is none."""
    found = problems(stats, at)
    if found:
        return found[0].sentence
    if stats.state != TopologyState.RUNNING:
        return f"the topology is {stats.state}"
    if ends := end_lines(stats):
        return ends[0]
    return f"nothing holds it back{_pace(stats)}"


def _pace(stats: TopologyStats) -> str:
    busiest = max(
        ((each.capacity, name) for name, each in stats.components.items() if each.type == "bolt"),
        default=None,
    )
    if busiest is None:
        return ""
    share, name = busiest
    return f": the busiest bolt is `{name}`, {share:.0%} busy"


def _cannot_start(stats: TopologyStats) -> Iterator[TrackerProblem]:
    names = {instance.task: instance.instance for instance in stats.instances or ()}
    for task, error in stats.errors.items():
        instance = names.get(task, f"task {task}")
        last = error.strip().splitlines()[-1] if error.strip() else "no reason given"
        yield TrackerProblem(
            kind=ProblemKind.CANNOT_START,
            component=component_of(instance),
            instance=instance,
            what=f"`{instance}` cannot start: {last:.200}",
            remedy="fix the component or its dependencies; heronpy keeps retrying",
        )


def _down(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Instances that have not reported lately; of a topology that runs."""
    is_over = stats.state not in (TopologyState.RUNNING, TopologyState.PAUSED)
    if is_over or stats.phase != Phase.RUNNING or not stats.epoch:
        return
    for name, component in stats.components.items():
        missing = component.instances - component.up
        if missing > 0:
            lost = sorted(set(stats.containers_expected) - set(stats.containers))
            where = f" (containers without a word: {_listed(lost)})" if lost else ""
            yield TrackerProblem(
                kind=ProblemKind.DOWN,
                component=name,
                what=f"{missing} of {component.instances} instances of `{name}` are down{where}",
                remedy="they are restarted by themselves; the events say why they ended",
                weight=missing / component.instances,
            )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")


def _stuck(stats: TopologyStats) -> Iterator[TrackerProblem]:
    for instance, secs in stats.stuck.items():
        yield TrackerProblem(
            kind=ProblemKind.STUCK,
            component=component_of(instance),
            instance=instance,
            what=f"`{instance}` has been in one call of user code for {secs:.0f} s",
            remedy="its log has the stack: give what it waits for a timeout",
            weight=secs,
        )


def _restoring(stats: TopologyStats) -> Iterator[TrackerProblem]:
    checkpoints = stats.checkpoints
    if checkpoints is not None and checkpoints.restore_failure:
        yield TrackerProblem(
            kind=ProblemKind.RESTORE,
            component="",
            what=f"its state cannot be restored: {checkpoints.restore_failure:.200}",
            remedy=checkpoints.restore_remedy or "nothing runs before: make the store reachable",
        )


def _crashed(stats: TopologyStats, at: float | None) -> Iterator[TrackerProblem]:
    """Processes that ended lately and were not to, by container or instance."""
    since = math.inf if at is None else at - CRASHED_SECS
    crashes: dict[str, list[TopologyEvent]] = {}
    for event in stats.events:
        if event.kind == EventKind.CRASH and event.at >= since:
            crashes.setdefault(event.instance or f"container {event.container}", []).append(event)
    for name, own_crashes in crashes.items():
        last = own_crashes[-1]
        there = [
            instance.instance
            for instance in stats.instances or ()
            if instance.container == last.container
        ]
        components = dict.fromkeys(component_of(instance) for instance in there)
        who = f"`{name}`" if last.instance else f"{name}{_with(there)}"
        often = (
            f", {len(own_crashes)} times in {CRASHED_SECS / 60:.0f} minutes"
            if len(own_crashes) > 1
            else ""
        )
        yield TrackerProblem(
            kind=ProblemKind.CRASHED,
            component=component_of(last.instance or "") or next(iter(components), ""),
            instance=name,
            what=f"{who} crashed{often}: {last.what:.200}",
            remedy=OUT_OF_MEMORY
            if "SIGKILL" in last.what
            else "it was restarted; its log says why it ended",
            weight=last.at,
        )


def _with(instances: Sequence[str]) -> str:
    named = first_of((f"`{each}`" for each in instances), NAMED_MAX)
    return f", with {named}," if instances else ""


def _slow(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Bolts that cannot keep up: one instance of it (skewed), or all (a bottleneck). One that is
    itself held back by another is only on the way to the cause."""
    paused_by = _paused_shares(stats)
    blocked = _blocked_components(stats)
    for name, component in stats.components.items():
        if component.type != "bolt" or stats.stuck.keys() & _names_of(name, stats):
            continue
        if name in blocked:
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
    """Component that makes others wait now -> the greatest share of its time that one of them was
    paused."""
    found: dict[str, float] = {}
    for pauses in stats.paused.values():
        for cause in pauses.because_of:
            name = component_of(cause)
            found[name] = max(found.get(name, 0.0), pauses.share)
    return found


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
    """If one key alone keeps an instance busy, more instances do not help it."""
    hot = next(iter(component.hot_keys), None)
    is_busy = component.capacity >= (SKEW_BUSY if is_cause else BUSY_SHARE)
    if hot is None or not is_busy or hot.share < HOT_SHARE:
        return None
    if component.instances > 1 and hot.share < SKEWED / component.instances:
        return None
    if component.instances == 1 and hot.share < HOT_SHARE_ALONE:
        return None  # others can still be taken off it
    return TrackerProblem(
        kind=ProblemKind.SKEWED,
        component=name,
        what=f"key {hot.key} is {hot.share:.0%} of the input of `{name}`, whose busiest instance "
        f"is {component.capacity:.0%} busy",
        remedy="more instances do not help: group by a finer key, or by partial key and add up "
        "behind",
        weight=hot.share,
    )


def _skew(name: str, rows: Sequence[InstanceStats], is_cause: bool) -> TrackerProblem | None:
    """If one instance has far more than its share of the work, more instances do not help it."""
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
    """So many instances would be so busy with what is to come.

    What comes while senders are paused for a share of their time is that much less than what they
    have. The senders' share is of the whole time since the start, so an early pause counts too.
    """
    work = sum(row.capacity for row in rows) if rows else component.capacity * component.instances
    demand = Demand(shared=unthrottled(work, paused_share), fixed=0.0)
    return needed(demand, rate=1.0, utilization=utilization) or 1


def _failing(stats: TopologyStats) -> Iterator[TrackerProblem]:
    for name, component in stats.components.items():
        if component.callback_errors:
            number = component.callback_errors
            what = f"{number} errors of `{name}` outside of tuples: calls that raised, or lost data"
            yield _failure(name, what, component, float(number))
        if component.undeclared:
            number = component.undeclared
            what = f"`{name}` has emitted {number} tuples that are dropped: it declares no outputs"
            yield _failure(name, what, component, float(number))
        if component.forgotten:
            names = ", ".join(f"`{each}`" for each in sorted(component.forgotten_by_attribute))
            what = f"attributes of `{name}` could not be saved, and were reset: {names}"
            yield _failure(name, what, component, float(component.forgotten))
        done = component.acked + component.failed
        if not component.failed or component.failed < FAILED_SHARE * done:
            continue
        share = component.failed / done
        if component.type == "spout" and component.expired >= component.failed / 2:
            yield TrackerProblem(
                kind=ProblemKind.FAILING,
                component=name,
                what=f"{counted(component.expired, 'tuple')} of `{name}` were not acked in time "
                f"({share:.1%} of all)",
                remedy="raise topology.message.timeout.secs, or find the bolt that does not ack",
                weight=share / 2,
            )
        elif component.type == "bolt":
            what = f"`{name}` has failed {counted(component.failed, 'tuple')} ({share:.1%} of all)"
            yield _failure(name, what, component, share)


def _failure(name: str, what: str, component: ComponentStats, weight: float) -> TrackerProblem:
    lines = (component.last_error or "").strip().splitlines()
    return TrackerProblem(
        kind=ProblemKind.FAILING,
        component=name,
        what=what,
        remedy=f"the last error is {lines[-1]:.200}" if lines else "its code failed them by itself",
        weight=weight,
    )


def _checkpoints(stats: TopologyStats) -> Iterator[TrackerProblem]:
    checkpoints = stats.checkpoints
    if checkpoints is not None and checkpoints.failure:
        who = (
            f", waiting for {', '.join(checkpoints.waiting_for)}" if checkpoints.waiting_for else ""
        )
        yield TrackerProblem(
            kind=ProblemKind.CHECKPOINT,
            component="",
            what=f"the last checkpoint failed: {checkpoints.failure:.200}{who}",
            remedy="what was processed since the one before is processed again after a failure",
        )


def _lost(stats: TopologyStats) -> Iterator[TrackerProblem]:
    dropped = sum(stream_manager.dropped for stream_manager in stats.stream_managers.values())
    if stats.lost:
        yield TrackerProblem(
            kind=ProblemKind.LOST,
            component="",
            what=f"{stats.lost} deliveries are lost and will not be replayed",
            remedy="run it at least once (topology.reliability.mode)",
        )
    if dropped:
        yield TrackerProblem(
            kind=ProblemKind.LOST,
            component="",
            instance="queues",
            what=f"{dropped} deliveries were dropped because queues were full",
            remedy="scale what is behind them, or choose another topology.backpressure.mode",
        )
