"""A topology's page: headline, problems, components, events, requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heron_core.clock_stats import BEHIND_SECS, MinimumClockStats
from heron_core.number_text import NOTHING, duration, milliseconds, rate, share, short
from heron_core.operations import Operation, OperationState
from heron_core.plans import TopologyState
from heron_core.stats import BUSY_SHARE, ComponentStats, TopologyStats
from heron_core.topology_events import BAD_KINDS, event_text
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cells import (
    BAD,
    GOOD,
    QUIET,
    TONES,
    WARNING,
    PageCell,
    PageColumn,
    PageRow,
    PageTable,
)
from heron_tracker.pages.links import component_page
from heron_tracker.pages.overview_view import Found, ProblemCard, lag_secs, problem_card, standing
from heron_tracker.pages.overview_view import throughput as throughput_of
from heron_tracker.pages.texts import clock_time, since

EVENTS_SHOWN = 60
COMPONENTS = (
    PageColumn("name", "Component"),
    PageColumn("matter", "State"),
    PageColumn("instances", "Instances", is_number=True),
    PageColumn("executed", "Executed/s", is_number=True),
    PageColumn("emitted", "Emitted/s", is_number=True),
    PageColumn("busy", "Busy", is_number=True),
    PageColumn("queue", "Queue", is_number=True),
    PageColumn("age", "Queue age", is_number=True),
    PageColumn("latency", "Latency p50", is_number=True),
    PageColumn("p99", "p99", is_number=True),
    PageColumn("failed", "Failed", is_number=True),
    PageColumn("errors", "Errors", is_number=True),
)
EVENTS = (PageColumn("at", "Time"), PageColumn("kind", "Kind"), PageColumn("text", "What happened"))


@dataclass(frozen=True, slots=True)
class TopologyPage:
    """What stands above and below the graph."""

    sentence: str
    tone: str
    summary: tuple[tuple[str, str], ...]
    """Name and value, in a line."""
    cards: tuple[ProblemCard, ...]
    """The problems besides the one in the sentence."""
    components: PageTable


def topology_page(snapshot: TopologySnapshot, timed_problems: Found, now: float) -> TopologyPage:
    """The page; `now` in seconds since 1970."""
    tone = TONES[timed_problems[0][0].kind] if timed_problems else GOOD
    if not timed_problems and (snapshot.state != TopologyState.RUNNING or snapshot.stats is None):
        tone = QUIET
    return TopologyPage(
        standing(snapshot, timed_problems),
        tone,
        (*_since(timed_problems, now), *_summary(snapshot, now)),
        tuple(problem_card(snapshot.name, problem, at, now) for problem, at in timed_problems[1:]),
        components_table(snapshot, timed_problems),
    )


def _since(found: Found, now: float) -> tuple[tuple[str, str], ...]:
    """Severity of the headline."""
    return (("Since", since(found[0][1], now).removeprefix("since ")),) if found else ()


def _summary(snapshot: TopologySnapshot, now: float) -> list[tuple[str, str]]:
    stats = snapshot.stats
    summary = [("State", snapshot.state)]
    if snapshot.submitted_secs:
        summary.append(("Running", since(snapshot.submitted_secs, now).removeprefix("since ")))
    if stats is None:
        return summary
    summary += [("Throughput", rate(throughput_of(stats))), ("Lag", duration(lag_secs(stats)))]
    if stats.in_flight is not None:
        summary.append(("In flight", short(stats.in_flight)))
    if stats.minimum_clock is not None:
        summary.append(("Minimum clock", _minimum_clock(stats.minimum_clock)))
    latency = next(
        (x.latency.complete for x in stats.components.values() if x.latency.complete.p50_ms), None
    )
    if latency is not None:
        range_text = f"p50 {milliseconds(latency.p50_ms)}, p99 {milliseconds(latency.p99_ms)}"
        summary.append(("Spout to ack", range_text))
    summary.append(("Containers", f"{len(stats.containers)} of {len(stats.containers_expected)}"))
    summary.append(("Mode", "at least once" if stats.tracked else _mode(stats)))
    if now - snapshot.stats_at > 5:
        summary.append(("Numbers of", clock_time(snapshot.stats_at)))
    return summary


def _minimum_clock(clock: MinimumClockStats) -> str:
    """How far behind it is, and what holds it; reports are a second apart."""
    if clock.behind_secs < BEHIND_SECS:
        return "now"
    return f"{duration(clock.behind_secs)} behind, {clock.holder or 'by no queue'}"


def _mode(stats: TopologyStats) -> str:
    return "effectively once" if stats.checkpoints is not None else "at most once"


def components_table(snapshot: TopologySnapshot, timed_problems: Found) -> PageTable:
    """A row for each component, in the topology's order."""
    matters = {problem.component: problem for problem, _ in reversed(timed_problems)}
    rows = []
    for name, component in snapshot.components.items():
        problem = matters.get(name)
        paused = any(
            pause.because_of and pause.component == name
            for pause in (snapshot.stats.paused.values() if snapshot.stats else ())
        )
        matter = problem.kind.value if problem else "paused" if paused else "ok"
        tone = TONES[problem.kind] if problem else WARNING if paused else GOOD
        rows.append(_component_row(snapshot.name, name, component, PageCell(matter, tone=tone)))
    return PageTable(COMPONENTS, tuple(rows))


def _component_row(
    topology: str, name: str, component: ComponentStats, matter: PageCell
) -> PageRow:
    latency = component.latency.complete if component.type == "spout" else component.latency.execute
    up = (
        str(component.instances)
        if component.up == component.instances
        else f"{component.up} of {component.instances}"
    )
    return PageRow(
        name,
        {
            "name": PageCell(name, href=component_page(topology, name)),
            "matter": matter,
            "instances": PageCell(
                component.instances, up, tone="" if component.up == component.instances else BAD
            ),
            "executed": PageCell(component.executed_per_sec, rate(component.executed_per_sec)),
            "emitted": PageCell(component.emitted_per_sec, rate(component.emitted_per_sec)),
            "busy": busy_cell(component.capacity, component.type == "bolt"),
            "queue": PageCell(component.queue_tuples, short(component.queue_tuples)),
            "age": age_cell(component.queue_secs),
            "latency": latency_cell(latency.p50_ms),
            "p99": latency_cell(latency.p99_ms),
            "failed": count_cell(component.failed),
            "errors": count_cell(component.errors),
        },
    )


def busy_cell(capacity: float, counts: bool = True) -> PageCell:
    """Utilisation of a component; a spout is always busy."""
    tone = WARNING if counts and capacity >= BUSY_SHARE else ""
    return PageCell(capacity, share(capacity), tone=tone, share=capacity)


def age_cell(secs: float) -> PageCell:
    """How long a queue takes."""
    return PageCell(secs, duration(secs) if secs else NOTHING, tone=WARNING if secs > 1 else "")


def latency_cell(value: float | None) -> PageCell:
    """A latency that may not have been measured."""
    return PageCell(-1.0 if value is None else value, milliseconds(value))


def count_cell(count: int) -> PageCell:
    """A number that should be zero."""
    return PageCell(count, short(count), tone=BAD if count else QUIET)


def events_table(snapshot: TopologySnapshot, operations: Mapping[int, Operation]) -> PageTable:
    """Events and requests, the newest first."""
    rows = [
        (event.at, PageRow(
            f"event {event.at} {at}",
            {
                "at": PageCell(event.at, clock_time(event.at)),
                "kind": PageCell(event.kind, tone=BAD if event.kind in BAD_KINDS else QUIET),
                "text": PageCell(event_text(event).partition(": ")[2]),
            },
        ))
        for at, event in enumerate(snapshot.stats.events if snapshot.stats is not None else ())
    ]  # fmt: skip
    rows += [(_asked_at(each), operation_row(at, each)) for at, each in operations.items()]
    newest = sorted(rows, key=lambda row: row[0], reverse=True)[:EVENTS_SHOWN]
    return PageTable(EVENTS, tuple(row for _, row in newest))


def _asked_at(operation: Operation) -> float:
    try:
        return datetime.fromisoformat(operation.asked_at).timestamp()
    except ValueError:
        return 0.0


def operation_row(at: int, operation: Operation) -> PageRow:
    """A request: user and progress."""
    tones = {OperationState.DONE: GOOD, OperationState.FAILED: BAD}
    asked_at = _asked_at(operation)
    return PageRow(
        f"request {at}",
        {
            "at": PageCell(asked_at, clock_time(asked_at)),
            "kind": PageCell(
                f"{operation.kind.value} {operation.state.value.lower()}",
                tone=tones.get(operation.state, WARNING),
            ),
            "text": PageCell(operation_text(operation)),
        },
    )


def operation_text(operation: Operation) -> str:
    """User, operation and result of a request."""
    how = operation.reason or operation.progress or "; ".join(operation.notes)
    return f"asked by {operation.requester}" + (f": {how}" if how else "")
