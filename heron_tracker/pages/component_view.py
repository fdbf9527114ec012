"""A component's page: its tasks side by side, latencies, errors, queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heron_core.algorithms.autoscale.flow import SKEWED
from heron_core.number_text import NOTHING, milliseconds, rate, share, short, size
from heron_core.stats import ComponentStats, InstanceStats, LatencyStats
from heron_tracker.model.history import FINE_SECS, Point
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
from heron_tracker.pages.links import topology_page
from heron_tracker.pages.overview_view import Found
from heron_tracker.pages.texts import clock_time, since
from heron_tracker.pages.topology_view import age_cell, busy_cell, count_cell, latency_cell

TASKS = (
    PageColumn("instance", "Instance"),
    PageColumn("state", "State"),
    PageColumn("work", "Work", is_number=True),
    PageColumn("share", "Share", is_number=True),
    PageColumn("busy", "Busy", is_number=True),
    PageColumn("queue", "Queue", is_number=True),
    PageColumn("age", "Queue age", is_number=True),
    PageColumn("pending", "Pending", is_number=True),
    PageColumn("failed", "Failed", is_number=True),
    PageColumn("errors", "Errors", is_number=True),
    PageColumn("restarts", "Restarts", is_number=True),
    PageColumn("cpu", "CPU", is_number=True),
    PageColumn("memory", "Memory", is_number=True),
    PageColumn("container", "Container", is_number=True),
)
LATENCIES = (
    PageColumn("kind", "Latency"),
    PageColumn("mean", "Mean", is_number=True),
    PageColumn("p50", "p50", is_number=True),
    PageColumn("p99", "p99", is_number=True),
    PageColumn("what", "Of what"),
)
KINDS: Mapping[str, str] = {
    "execute": "one call of the component",
    "process": "from a tuple's arrival until it is acked there",
    "complete": "from a spout's emit until all that came of the tuple is acked",
}
FAINT, MIDDLE = "#8091a340", "#7b8a99"
"""Of lines and of texts in pictures: they can be seen on light and dark ground."""
TRACEBACK_CHARACTERS_MAX = 8000


@dataclass(frozen=True, slots=True)
class ComponentPage:
    """Content of the page."""

    sentence: str
    tone: str
    summary: tuple[tuple[str, str], ...]
    tasks: PageTable
    latencies: PageTable
    traceback: str


def component_page(
    snapshot: TopologySnapshot, name: str, stats: ComponentStats, timed_problems: Found, now: float
) -> ComponentPage:
    """The page; `now` in seconds since 1970."""
    own = [(problem, at) for problem, at in timed_problems if problem.component == name]
    rows = [instance for instance in snapshot.instances if instance.component == name]
    return ComponentPage(
        own[0][0].sentence if own else f"`{name}`: nothing is wrong with it",
        TONES[own[0][0].kind] if own else GOOD,
        tuple(_summary(stats, own, now)),
        tasks_table(snapshot, rows, stats.type == "spout"),
        latencies_table(stats),
        (stats.last_error or "")[-TRACEBACK_CHARACTERS_MAX:],
    )


def _summary(stats: ComponentStats, own: Found, now: float) -> list[tuple[str, str]]:
    summary = [("Since", since(own[0][1], now).removeprefix("since "))] if own else []
    summary += [
        ("Kind", stats.type),
        ("Instances", f"{stats.up} of {stats.instances} up"),
        ("Executed", f"{short(stats.executed)} ({rate(stats.executed_per_sec)})"),
        ("Emitted", f"{short(stats.emitted)} ({rate(stats.emitted_per_sec)})"),
        ("Acked", short(stats.acked)),
        ("Failed", short(stats.failed)),
        ("Waiting", f"{short(stats.queue_tuples)} tuples, {size(stats.queue_bytes)}"),
    ]
    return summary


def tasks_table(
    snapshot: TopologySnapshot, rows: Sequence[InstanceStats], is_spout: bool
) -> PageTable:
    """The tasks in comparison: tasks above an even share are highlighted."""
    work = {each.task: _work(each, is_spout) for each in rows}
    total = sum(work.values())
    return PageTable(
        TASKS,
        tuple(
            _task(snapshot, instance, work[instance.task], total, 1 / len(rows), is_spout)
            for instance in rows
        ),
    )


def _work(instance: InstanceStats, is_spout: bool) -> float:
    return instance.emitted_per_sec if is_spout else instance.executed_per_sec


def _task(
    snapshot: TopologySnapshot, instance: InstanceStats, work: float, total: float, even: float,
    is_spout: bool,
) -> PageRow:  # fmt: skip
    part = work / total if total else 0.0
    is_skewed = even < 1 and part >= SKEWED * even
    return PageRow(
        instance.instance,
        {
            "instance": PageCell(
                instance.instance,
                href=topology_page(snapshot.name, "profile", instance=instance.instance),
            ),
            "state": _state(snapshot, instance),
            "work": PageCell(work, rate(work)),
            "share": PageCell(part, share(part), tone=WARNING if is_skewed else "", share=part),
            "busy": busy_cell(instance.capacity, not is_spout),
            "queue": PageCell(instance.queue_tuples, short(instance.queue_tuples)),
            "age": age_cell(instance.queue_secs),
            "pending": PageCell(instance.pending, short(instance.pending)),
            "failed": count_cell(instance.failed),
            "errors": count_cell(instance.errors),
            "restarts": count_cell(instance.restarts),
            "cpu": PageCell(instance.cpu_share, share(instance.cpu_share)),
            "memory": PageCell(instance.memory_bytes, size(instance.memory_bytes)),
            "container": PageCell(instance.container),
        },
    )


def _state(snapshot: TopologySnapshot, instance: InstanceStats) -> PageCell:
    stats = snapshot.stats
    outlook = f", next try in {instance.next_try_secs:.0f} s" if instance.next_try_secs else ""
    if stats is not None and instance.task in stats.errors:
        return PageCell(f"cannot start{outlook}", tone=BAD)
    if not instance.up:
        return PageCell(f"down{outlook}", tone=BAD)
    if instance.stuck_secs:
        return PageCell("stuck", tone=BAD)
    pause = stats.paused.get(instance.task) if stats is not None else None
    if pause is not None and pause.because_of:
        return PageCell(f"paused by {pause.because_of[0]}", tone=WARNING)
    return PageCell("up", tone=GOOD)


def latencies_table(stats: ComponentStats) -> PageTable:
    """Measurements of the component's tuples."""
    latencies: Mapping[str, LatencyStats] = {
        "execute": stats.latency.execute,
        "process": stats.latency.process,
        "complete": stats.latency.complete,
    }
    rows = [
        PageRow(
            kind,
            {
                "kind": PageCell(kind),
                "mean": PageCell(latency.mean_ms, milliseconds(latency.mean_ms)),
                "p50": latency_cell(latency.p50_ms),
                "p99": latency_cell(latency.p99_ms),
                "what": PageCell(KINDS[kind], tone=QUIET),
            },
        )
        for kind, latency in latencies.items()
        if latency.mean_ms is not None
    ]
    return PageTable(LATENCIES, tuple(rows))


def fine(points: Sequence[Point]) -> list[Point]:
    """Those of ten seconds, in order: what they were rolled up to would count twice."""
    return sorted((each for each in points if each.secs == FINE_SECS), key=lambda each: each.at)


def heat_map(points: Sequence[Point], names: Mapping[int, str], series: str) -> dict[str, Any]:
    """Options of ECharts: a row for each task, a column for each point of time, the darker the more
    of a share (0 to 1)."""
    times = sorted({point.at for point in points})
    tasks = sorted(names)
    columns = {at: index for index, at in enumerate(times)}
    rows = {task: index for index, task in enumerate(tasks)}
    data = tuple(
        (columns[point.at], rows[task], round(values.get(series, 0.0), 3))
        for point in points
        for task, values in point.values.items()
        if task in rows
    )
    return {
        "animation": False,
        "tooltip": {"show": True, "confine": True},
        "grid": {"left": 8, "right": 12, "top": 12, "bottom": 8, "containLabel": True},
        "textStyle": {"color": MIDDLE},
        "xAxis": {"type": "category", "data": [clock_time(at) for at in times],
                  "axisLabel": {"color": MIDDLE, "hideOverlap": True}},
        "yAxis": {"type": "category", "data": [names[task] for task in tasks],
                  "axisLabel": {"color": MIDDLE}},
        "visualMap": {
            "min": 0, "max": 1, "show": False,
            "inRange": {"color": ["#dbe7f6", "#f9a825", "#c62828"]},
        },
        "series": [{"type": "heatmap", "data": data, "name": NOTHING}],
    }  # fmt: skip


def rate_lines(points_by_name: Mapping[str, Sequence[Point]], series: str) -> dict[str, Any]:
    """Options of ECharts: tuples per second over time, a line for each component."""
    lines = [
        {
            "type": "line", "name": name, "showSymbol": False,
            "data": [
                [point.at * 1000, round(_sum(point, series) / point.secs, 2)] for point in points
            ],
        }
        for name, points in points_by_name.items()
    ]  # fmt: skip
    return {
        "animation": False,
        "tooltip": {"trigger": "axis", "confine": True},
        "legend": {"type": "scroll", "top": 4},
        "grid": {"left": 8, "right": 16, "top": 36, "bottom": 8, "containLabel": True},
        "xAxis": {"type": "time", "axisLabel": {"hideOverlap": True}},
        "yAxis": {"type": "value", "splitLine": {"lineStyle": {"color": FAINT}}},
        "series": lines,
    }


def _sum(point: Point, series: str) -> float:
    return sum(values.get(series, 0.0) for values in point.values.values())
