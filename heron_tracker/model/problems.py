"""Problems of a topology and their remedies, as sentences for people, derived from its
statistics.

The order follows a search for the cause: components that cannot run precede slow components, and
of slow components the cause of back-pressure comes first. Metrics are from the last report,
failures from the last ten seconds (on Spark since the start), crashes from the last minutes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from heron_core.config import RAM_MAP
from heron_core.ending_text import end_lines
from heron_core.naming import component_of, first_of
from heron_core.number_text import counted
from heron_core.operations import OperationKind
from heron_core.plans import Phase, TopologyState
from heron_core.stats import ComponentStats, TopologyStats
from heron_core.topology_events import EventKind, TopologyEvent
from heron_tracker.model.kept import memory, unsettled
from heron_tracker.model.silence import silence, unseen_metrics
from heron_tracker.model.slow_problems import slow
from heron_tracker.model.tracker_problem import (
    RANKS,
    ProblemKind,
    TrackerProblem,
    ends_of,
    error_label,
    label,
)

FAILED_SHARE = 0.001
"""Of a component's tuples: fewer failures than that are no finding of their own."""

CRASHED_SECS = 300.0
"""Time during which an ended process is reported, despite its replacement: the cause may recur, and
an operator on call needs minutes to look.
"""
STARTING_SECS = 60.0
"""Until the first report of a process, which comes after `initialize`: a model loads in less."""
RESTARTED_SECS = 30.0
"""Of a container, from the request or the end of the one before."""
RESTARTING = (OperationKind.RESTART.value, OperationKind.UPGRADE.value)
"""Actions that restart containers."""
IS_REPLACED = "what has ended is replaced by itself; the events say why it ended"
NAMED_MAX = 3
"""Instances of a container that are named."""
REASON_MAX = 240
"""Characters of a reason; a path in its middle may have as many."""
NOT_RUNNING = (
    "it was restarted; its process did not run: it was stopped (SIGSTOP, a debugger), had no core"
    " or memory, or a call in C kept Python's lock"
)
UNHEARD_SECS = 5.0
"""A process with tuples reports each second: five of them, on a busy machine."""
OUT_OF_MEMORY = "it was restarted; if it was not killed on purpose, its machine was out of memory"


def problems(stats: TopologyStats, at: float | None = None) -> tuple[TrackerProblem, ...]:
    """All problems, the worst first. `at`: the time, in seconds since 1970; without a time,
    recent ends are left out."""
    unsorted = (
        *_cannot_start(stats), *_down(stats, at), *_stuck(stats), *_restoring(stats),
        *_crashed(stats, at), *slow(stats), *memory(stats), *unsettled(stats), *_failing(stats),
        *_checkpoints(stats), *_lost(stats),
        *silence(stats), *unseen_metrics(stats),
    )  # fmt: skip
    shares = {pause.component: pause.share for pause in stats.paused.values()}

    def order(problem: TrackerProblem) -> tuple[int, float]:
        # Between two pauses of its own a bolt is busy, too, and is not the cause.
        return (RANKS[problem.kind], shares.get(problem.component, 0.0) - problem.weight)

    return tuple(sorted(unsorted, key=order))


def over(state: str, reason: str) -> TrackerProblem:
    """The topology has disappeared without a request."""
    how = "has failed" if state == TopologyState.FAILED else "was lost"
    return TrackerProblem(
        kind=ProblemKind.OVER,
        component="",
        what=f"the topology {how}: {reason}" if reason else f"the topology {how}",
        remedy="its logs say why; `heronpy submit` starts it again",
        cause=label(reason),
    )


def summary(stats: TopologyStats, at: float | None = None) -> str:
    """The headline: the worst problem, or a statement of health."""
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
            cause=error_label(error),
        )


def _down(stats: TopologyStats, at: float | None) -> Iterator[TrackerProblem]:
    """Instances of a running topology without recent reports."""
    is_over = stats.state not in (TopologyState.RUNNING, TopologyState.PAUSED)
    if is_over or stats.phase != Phase.RUNNING or not stats.epoch:
        return
    yield from _late_to_start(stats)
    yield from _not_running(stats)
    starting = Counter(map(component_of, stats.starting))
    lost = sorted(set(stats.containers_expected) - set(stats.containers))
    is_restarted = _is_restarted(stats, at)
    for name, component in stats.components.items():
        missing = component.instances - component.up - starting[name]
        if missing > 0 and not (lost and is_restarted):
            where = f" (containers without a word: {_listed(lost)})" if lost else ""
            yield TrackerProblem(
                kind=ProblemKind.DOWN,
                component=name,
                what=f"{missing} of {component.instances} instances of `{name}` are down{where}",
                remedy=_remedy_of_down(stats, name) if not lost else IS_REPLACED,
                cause="container" if lost else "instance",
                weight=missing / component.instances,
            )


def _is_restarted(stats: TopologyStats, at: float | None) -> bool:
    """Whether containers are silent because of a request: each restarted one prolongs the time."""
    since = math.inf if at is None else at - RESTARTED_SECS
    return any(
        event.at >= since
        and (
            event.kind == EventKind.RESTART
            or (event.kind == EventKind.ACTION and event.what.startswith(RESTARTING))
        )
        for event in stats.events
    )


def _late_to_start(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Instances whose process should be at work by now."""
    late: dict[str, list[float]] = {}
    for instance, secs in stats.starting.items():
        if secs >= STARTING_SECS:
            late.setdefault(component_of(instance), []).append(secs)
    for name, seconds in late.items():
        if name not in stats.components:
            continue  # of another engine's answer
        instances = counted(len(seconds), "instance")
        yield TrackerProblem(
            kind=ProblemKind.DOWN,
            component=name,
            what=f"{instances} of `{name}` did not report in the {max(seconds):.0f} s since the "
            "start of the process",
            remedy="its log says how far it is; what `initialize` waits for needs a timeout",
            cause="start",
            weight=len(seconds) / stats.components[name].instances,
        )


def _not_running(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Instances with tuples, and without reports. One that is paused, or waits at a barrier for the
    other sources of a checkpoint, may rest."""
    if stats.checkpoints is not None and stats.checkpoints.under_way is not None:
        return
    paused = {each.instance for each in stats.paused.values() if each.causes}
    pids = {each.instance: each.pid for each in stats.instances or () if each.pid is not None}
    for instance, secs in stats.unheard.items():
        if secs < UNHEARD_SECS or instance in paused:
            continue
        remedy = f" (`kill -CONT {pids[instance]}`)" if instance in pids else ""
        yield TrackerProblem(
            kind=ProblemKind.DOWN,
            component=component_of(instance),
            instance=instance,
            what=f"the process of `{instance}` does not run: tuples wait for it, and it has not"
            f" reported for {secs:.0f} s",
            remedy=f"it is stopped (SIGSTOP, a debugger){remedy}, has no core or memory, or a call"
            " in C keeps Python's lock; it is restarted after topology.liveness.timeout.secs",
            cause="does not run",
        )


def _remedy_of_down(stats: TopologyStats, name: str) -> str:
    """Of instances whose container is there: their process has ended, or does not run."""
    pids = [
        str(each.pid)
        for each in stats.instances or ()
        if each.component == name and not each.up and each.pid is not None
    ]
    known = f" {first_of(iter(pids), NAMED_MAX)}" if pids else ""
    return f"{IS_REPLACED}; a process that is stopped goes on by `kill -CONT{known}`"


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
            cause="user code",
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
            cause=label(checkpoints.restore_failure),
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
            remedy=_remedy_of_end(last.what),
            cause=label(last.what),
            weight=last.at,
        )


def _remedy_of_end(reason: str) -> str:
    """Remedy by the author of the end: a supervisor gives its reason."""
    if "it was silent" in reason:
        return NOT_RUNNING
    if RAM_MAP in reason:
        return f"it was restarted; find what it keeps for each tuple, or raise {RAM_MAP}"
    if "SIGKILL" in reason:
        return OUT_OF_MEMORY
    return "it was restarted; its log says why it ended"


def _with(instances: Sequence[str]) -> str:
    named = first_of((f"`{each}`" for each in instances), NAMED_MAX)
    return f", with {named}," if instances else ""


def _failing(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Present failures of user code; where unknown (on Spark), failures since the start."""
    unsettled_bolts = tuple(unsettled(stats))
    for name, component in stats.components.items():
        counts = component if component.recent is None else component.recent
        when = "" if component.recent is None else f" in the last {component.recent.secs:.0f} s"
        if number := counts.callback_errors:
            what = f"{number} errors of `{name}` outside of tuples{when}: calls that raised, or "
            yield _failure(name, f"{what}lost data", component, float(number), "outside of tuples")
        if number := counts.undeclared:
            what = f"`{name}` has emitted {number} tuples{when} that are dropped: it declares no"
            yield _failure(name, f"{what} outputs", component, float(number), "undeclared outputs")
        if component.forgotten:
            names = ", ".join(f"`{each}`" for each in sorted(component.forgotten_by_attribute))
            what = f"attributes of `{name}` could not be saved, and were reset: {names}"
            yield _failure(name, what, component, float(component.forgotten), "attributes reset")
        if component.type == "spout":
            yield from _expiring(name, component, unsettled_bolts)
        else:
            yield from _failing_tuples(name, component, when)


def _failing_tuples(name: str, component: ComponentStats, when: str) -> Iterator[TrackerProblem]:
    """Processed tuples of a bolt. A bolt without acks and with failures has executed more than
    both."""
    counts = component if component.recent is None else component.recent
    done = max(counts.executed, counts.acked + counts.failed)
    if counts.failed and counts.failed >= FAILED_SHARE * done:
        share = counts.failed / done
        tuples = counted(counts.failed, "tuple")
        what = f"`{name}` has failed {tuples}{when} ({share:.1%} of all)"
        yield _failure(name, what, component, share)


def _expiring(
    name: str, component: ComponentStats, unsettled_bolts: Sequence[TrackerProblem]
) -> Iterator[TrackerProblem]:
    """Tuples of a spout that were not acked in time."""
    recent = component.recent
    expired = component.expired if recent is None else recent.expired
    acked = component.acked if recent is None else recent.acked_in_minute
    failed = component.failed if recent is None else expired
    if not expired or expired < failed / 2 or expired < FAILED_SHARE * (acked + failed):
        return
    bolts = ", ".join(f"`{each.component}`" for each in unsettled_bolts)
    share = expired / (acked + failed)
    when = "" if recent is None else " in the last minute"
    yield TrackerProblem(
        kind=ProblemKind.FAILING,
        component=name,
        what=f"{counted(expired, 'tuple')} of `{name}` were not acked in time{when} "
        f"({share:.1%} of all)",
        remedy=f"{bolts} does not ack them"
        if unsettled_bolts
        else "raise topology.message.timeout.secs, or find the bolt that does not ack",
        cause="not acked in time",
        weight=share / 2,
    )


def _failure(
    name: str, what: str, component: ComponentStats, weight: float, cause: str = ""
) -> TrackerProblem:
    lines = (component.last_error or "").strip().splitlines()
    return TrackerProblem(
        kind=ProblemKind.FAILING,
        component=name,
        what=what,
        remedy=f"the last error is {lines[-1]:.200}" if lines else "its code failed them by itself",
        cause=cause or error_label(component.last_error or "") or "failed by its code",
        weight=weight,
    )


def _checkpoints(stats: TopologyStats) -> Iterator[TrackerProblem]:
    checkpoints = stats.checkpoints
    if checkpoints is not None and checkpoints.failure:
        failure = ends_of(checkpoints.failure, REASON_MAX)
        who = (
            f", waiting for {', '.join(checkpoints.waiting_for)}" if checkpoints.waiting_for else ""
        )
        yield TrackerProblem(
            kind=ProblemKind.CHECKPOINT,
            component="",
            what=f"the last checkpoint failed: {failure}{who}",
            remedy="what was processed since the one before is processed again after a failure",
            cause=label(checkpoints.failure),
        )


def _lost(stats: TopologyStats) -> Iterator[TrackerProblem]:
    dropped = sum(stream_manager.dropped for stream_manager in stats.stream_managers.values())
    if stats.lost:
        yield TrackerProblem(
            kind=ProblemKind.LOST,
            component="",
            what=f"{stats.lost} deliveries are lost and will not be replayed",
            remedy="run it at least once (topology.reliability.mode)",
            cause="at most once",
        )
    if dropped:
        yield TrackerProblem(
            kind=ProblemKind.LOST,
            component="",
            instance="queues",
            what=f"{dropped} deliveries were dropped because queues were full",
            remedy="scale what is behind them, or choose another topology.backpressure.mode",
            cause="queues full",
        )
