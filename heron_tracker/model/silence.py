"""Invisible problems: spouts without data, delayed watermarks, omitted metrics. Pure.

A silent spout may have no data, and a watermark that waits for the spout is correct: both are
listed last, with their start time.
"""

from collections.abc import Iterator, Sequence

from heron_core.algorithms.user_series import SERIES_MAX, LeftOut, user_series
from heron_core.dead_letters import REPLAYED
from heron_core.naming import component_of
from heron_core.number_text import counted
from heron_core.plans import Phase, TopologyState
from heron_core.stats import ComponentStats, TopologyStats
from heron_tracker.model.kept import unsettled
from heron_tracker.model.tracker_problem import ProblemKind, TrackerProblem

SILENT_SECS = 60.0
"""A spout that emits once a minute is no finding."""
BLOCKED_SECS = 30.0
"""A source that is silent for as long holds windows up for as long."""


def silence(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Spouts without data, and the source that delays the slowest watermark, of a running
    topology."""
    if stats.state != TopologyState.RUNNING or stats.phase != Phase.RUNNING:
        return
    yield from _silent_spouts(stats)
    clock = stats.clock
    if clock is None or clock.waits_for is None or clock.silent_secs < BLOCKED_SECS:
        return
    source = component_of(clock.waits_for).partition(".")[0]
    if source in _explained(stats):
        return
    waits = is_full(stats, source, clock.waits_for)
    why = " because its tuples wait for their acks" if waits else ""
    yield TrackerProblem(
        kind=ProblemKind.WATERMARK,
        component=component_of(clock.instance),
        instance=clock.instance,
        what=f"the watermark of `{clock.instance}` waits for `{clock.waits_for}`, which has sent "
        f"nothing for {clock.silent_secs:.0f} s{why}",
        remedy=_remedy_of_full(stats)
        if waits
        else "windows are complete when it sends again; topology.bolts.watermark.idle.ms leaves "
        "silent sources out",
        cause="waits for acks" if waits else "silent source",
        weight=clock.silent_secs,
    )


def is_full(stats: TopologyStats, spout: str, instance: str = "") -> bool:
    """Whether a spout, or the named instance of it, may emit nothing before acks come. Without
    limits in the answer, of an older engine: whether any tuple waits."""
    component = stats.components.get(spout)
    if component is None or component.type != "spout":
        return False
    most = stats.pending_max.get(spout)
    if most is None:
        return component.pending > 0
    rows = [each for each in stats.instances or () if each.component == spout]
    chosen = [each for each in rows if each.instance == instance] or rows
    if not chosen:
        return component.pending >= most * component.instances
    return all(each.pending >= most for each in chosen)


def _remedy_of_full(stats: TopologyStats) -> str:
    if bolts := ", ".join(f"`{each.component}`" for each in unsettled(stats)):
        return f"{bolts} does not ack them"
    return (
        "windows ack their tuples when they are complete: raise topology.max.spout.pending above"
        " what the open windows of all keys hold, or find the bolt that does not ack"
    )


def _explained(stats: TopologyStats) -> set[str]:
    """Components whose silence has another name: stuck calls, back-pressure."""
    explained = {component_of(name) for name in stats.stuck}
    return explained | {each.component for each in stats.paused.values() if each.causes}


def _silent_spouts(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """Silent spouts without another explanation: back-pressure, a stuck call and a dead process
    have their own problems."""
    explained = _explained(stats)
    bolts = [each.component for each in unsettled(stats)]
    for name, component in stats.components.items():
        secs = component.silent_secs
        if secs is None or secs < SILENT_SECS or name in explained or name == REPLAYED:
            continue
        if component.up:
            yield _silent(name, component, secs, bolts, is_full(stats, name))


def _silent(
    name: str, component: ComponentStats, secs: float, bolts: Sequence[str], waits: bool
) -> TrackerProblem:
    acks = f": {counted(component.pending, 'tuple')} of it wait for their acks" if waits else ""
    bolt = ", ".join(f"`{each}`" for each in bolts)
    unacked = f"{bolt} does not ack them" if bolts else "find the bolt that does not ack"
    return TrackerProblem(
        kind=ProblemKind.SILENT,
        component=name,
        what=f"spout `{name}` has emitted nothing for {secs:.0f} s{acks}",
        remedy=unacked if waits else "look whether its source has data",
        cause="waits for acks" if waits else "without data",
        weight=secs,
    )


_LEFT_OUT = {
    LeftOut.LIMIT: (
        f"are not served to Prometheus, as a topology may have {SERIES_MAX}",
        "count fewer keys",
    ),
    LeftOut.RAISED: (
        "cannot be read, as get_value_and_reset raises",
        "`heronpy stats -c` shows what it raises",
    ),
    LeftOut.NOT_FINITE: (
        "are not served to Prometheus, as they are not finite numbers",
        "`heronpy stats -c` shows them",
    ),
}
"""What and remedy; a text is not a problem, as a user may show one."""


def unseen_metrics(stats: TopologyStats) -> Iterator[TrackerProblem]:
    """User metrics without a time series."""
    series = user_series(stats.components)
    for (component, reason), number in series.left_out.items():
        if reason not in _LEFT_OUT:
            continue
        what, remedy = _LEFT_OUT[reason]
        metric = series.example[component, reason]
        yield TrackerProblem(
            kind=ProblemKind.METRICS,
            component=component,
            instance=f"{component} {reason.value}",
            what=f"{number} values of `{component}`'s metrics, most of them of `{metric}`, {what}",
            remedy=remedy,
            cause=reason.value,
            weight=float(number),
        )
