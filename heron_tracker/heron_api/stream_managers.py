"""Metrics of Heron's component `__stmgr__`: values of stream managers, by instance.

A name ends in Heron's id of an instance:

    __time_spent_back_pressure_by_compid/container_1_count_4              milliseconds as a cause
    __connection_buffer_by_instanceid/container_1_count_4/bytes           bytes queued
    __connection_buffer_length_by_instanceid/container_1_count_4/packets  tuples queued

Two names have the milliseconds of a whole stream manager, in each process:

    __server/__time_spent_back_pressure_initiated  with a cause among its own queues
    __server/__time_spent_back_pressure_aggr       with a cause at any stream manager

A value since the start is that of each stream manager's process, by its id, stmgr-1. The history
has the time of back-pressure by instance, as the sum of all stream managers: a timeline, and the
value of an interval, stand under the stream manager beside the instance. Queues, and the times of
whole stream managers, have no history.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from heron_core.stats import AGGREGATED_MS, INITIATED_MS, StreamManagerStats
from heron_tracker.heron_api.plans import instance_ids, stream_manager_id
from heron_tracker.model.history import Point, timelines, totals
from heron_tracker.model.snapshot import TopologySnapshot

CAUSED = "__time_spent_back_pressure_by_compid"
READERS: Mapping[tuple[str, str], Callable[[StreamManagerStats], Mapping[int, int]]] = {
    (CAUSED, ""): lambda stats: stats.caused_ms,
    ("__connection_buffer_by_instanceid", "/bytes"): lambda stats: stats.waiting_bytes,
    ("__connection_buffer_length_by_instanceid", "/packets"): lambda stats: stats.waiting_tuples,
}
"""What stands in a metric's name before the instance, and behind it -> task -> its value."""

WHOLE: Mapping[str, str] = {
    "__server/__time_spent_back_pressure_initiated": INITIATED_MS,
    "__server/__time_spent_back_pressure_aggr": AGGREGATED_MS,
}
"""Metric of a whole stream manager -> its counter."""

PointsOf = Callable[[str], Sequence[Point]]
"""Component -> its points of the history."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric of stream managers about one instance."""

    prefix: str
    suffix: str
    task: int
    component: str
    stream_manager: str
    """Of the container of the instance."""


def asked_by(snapshot: TopologySnapshot, metric: str) -> Asked | None:
    """The metric of a name; None for another name, or an instance that is not in the plan."""
    tasks = {identity: task for task, identity in instance_ids(snapshot).items()}
    for prefix, suffix in READERS:
        name = metric.removeprefix(f"{prefix}/").removesuffix(suffix)
        if metric == f"{prefix}/{name}{suffix}" and name in tasks:
            task = tasks[name]
            component = snapshot.packing.instances[task].component
            manager = stream_manager_id(snapshot.packing.container_of[task])
            return Asked(prefix, suffix, task, component, manager)
    return None


def metrics_since_start(
    snapshot: TopologySnapshot, metrics: Iterable[str], managers: Sequence[str]
) -> dict[str, dict[str, str]]:
    """metric -> id of a stream manager -> its value as text; every metric with a value if `metrics`
    is empty, of every stream manager if `managers` is."""
    stats = snapshot.stats.stream_managers if snapshot.stats is not None else {}
    shown = {
        stream_manager_id(container): manager
        for container, manager in sorted(stats.items())
        if not managers or stream_manager_id(container) in managers
    }
    by_metric: dict[str, dict[str, str]] = {}
    for metric in metrics or [*_names(snapshot, shown.values()), *WHOLE]:
        if metric in WHOLE:
            values = {name: each.counters.get(WHOLE[metric]) for name, each in shown.items()}
            by_metric[metric] = {name: str(ms) for name, ms in values.items() if ms is not None}
        asked = asked_by(snapshot, metric)
        if asked is not None:
            read = READERS[asked.prefix, asked.suffix]
            by_metric[metric] = {
                name: str(read(manager)[asked.task])
                for name, manager in shown.items()
                if asked.task in read(manager)
            }
    return by_metric


def _names(snapshot: TopologySnapshot, stats: Iterable[StreamManagerStats]) -> list[str]:
    ids = instance_ids(snapshot)
    return sorted(
        {
            f"{prefix}/{ids[task]}{suffix}"
            for manager in stats
            for (prefix, suffix), read in READERS.items()
            for task in read(manager)
            if task in ids
        }
    )


def metrics_of_interval(
    snapshot: TopologySnapshot, metrics: Iterable[str], points_of: PointsOf, start: float
) -> dict[str, dict[str, str]]:
    """Like `metrics_since_start`, for the increase from `start` (seconds since 1970) on; metrics
    without history are left out, as their instances are unknown or their values are levels."""
    ids = instance_ids(snapshot).values()
    by_metric = {}
    for metric in metrics or sorted(f"{CAUSED}/{identity}" for identity in ids):
        asked = asked_by(snapshot, metric)
        if asked is not None and asked.prefix == CAUSED:
            added = totals(points_of(asked.component), CAUSED, start)
            by_metric[metric] = {asked.stream_manager: str(round(added.get(asked.task, 0.0)))}
    return by_metric


def timelines_of(
    snapshot: TopologySnapshot, metric: str, points_of: PointsOf, start: int, end: int
) -> dict[str, dict[int, float]]:
    """Id of the stream manager -> timeline by minutes; empty for a metric without history."""
    asked = asked_by(snapshot, metric)
    if asked is None or asked.prefix != CAUSED:
        return {}
    by_task = timelines(points_of(asked.component), CAUSED, start, end)
    return {asked.stream_manager: dict(by_task[asked.task])} if asked.task in by_task else {}
