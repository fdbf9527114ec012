"""Metrics as Heron's tracker tells them: the newest, their timelines, exceptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heron_core.instance_report import DISTRIBUTIONS
from heron_core.instance_series import SERIES, latency_series, values_of
from heron_core.stats import InstanceStats
from heron_core.topology_events import BAD_KINDS
from heron_core.validation import choices
from heron_tracker.envelope import BadRequest, NotFound
from heron_tracker.heron_api.plans import instance_id, instance_ids
from heron_tracker.heron_api.query import Timeline
from heron_tracker.model.history import MINUTE_SECS, Point, timelines, totals
from heron_tracker.model.snapshot import TopologySnapshot

Json = dict[str, Any]
EMITTED, EXECUTED = "__emit-count", "__execute-count"
STREAM_MANAGERS = "__stmgr__"
"""Heron's component of stream managers (stream_managers.py)."""
LATENCIES = {f"__{kind}-latency": latency_series(kind) for kind in DISTRIBUTIONS}
"""Heron's name of a mean in nanoseconds -> the series of its sum and of how many it is of."""
NANOSECONDS = 1e9
ALL_TIME = -1
"""Heron's interval for everything since the start."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Scope of a request; all of a kind if none is named."""

    component: str
    metrics: Sequence[str] = ()
    instances: Sequence[str] = ()


def check_component(snapshot: TopologySnapshot, component: str) -> None:
    """NotFound, with the existing components, for an unknown component."""
    if component == STREAM_MANAGERS:
        return
    known = [each.name for each in snapshot.spec.components] if snapshot.spec else []
    if component not in known:
        listed = choices("components", component, known)
        raise NotFound(f"{snapshot.name} has no component {component!r:.100}: {listed:.500}")


def series_of(snapshot: TopologySnapshot, component: str, metric: str) -> str | None:
    """The series behind a metric's name. Heron's names may end in a stream, "__emit-count/default":
    they are that of the whole where the component has no other stream (else see `_of_stream`)."""
    name, slash, stream = metric.partition("/")
    if name not in SERIES and name not in LATENCIES:
        return None
    spec = snapshot.spec.by_name.get(component) if snapshot.spec else None
    if not slash or spec is None:
        return name
    if name == EMITTED or not spec.inputs:
        return name if [stream] == [output.name for output in spec.outputs] else None
    # Heron counts what a bolt executes by the stream alone, and by component and stream.
    sources = [f"{entry.component}/{entry.stream}" for entry in spec.inputs]
    is_whole = [stream] == sources or {stream} == {entry.stream for entry in spec.inputs}
    return name if is_whole else None


def rows_of(snapshot: TopologySnapshot, wanted: Wanted) -> list[InstanceStats]:
    """The instances that are wanted, by Heron's id or by ours, component[index]."""
    names = set(wanted.instances)
    return [
        each
        for each in snapshot.instances
        if each.component == wanted.component
        and (not names or each.instance in names or _heron_id(each) in names)
    ]


def _heron_id(instance: InstanceStats) -> str:
    return instance_id(instance.container, instance.component, instance.task)


def component_metrics(
    snapshot: TopologySnapshot, wanted: Wanted, interval: int, recent: Sequence[Point], at: float
) -> Json:
    """metric -> instance -> its value as text: since its process began, or over the last `interval`
    seconds, for which `recent` are the points of the history."""
    check_component(snapshot, wanted.component)
    rows = rows_of(snapshot, wanted)
    by_metric: dict[str, dict[str, str]] = {}
    for metric in wanted.metrics or SERIES:
        series = series_of(snapshot, wanted.component, metric)
        if series is not None:
            by_metric[metric] = _values(rows, series, interval, recent, at)
        elif wanted.metrics:
            since_start = _of_stream(rows, metric) if interval <= 0 else {}
            by_metric.update({metric: since_start} if since_start else _user_metric(rows, metric))
    if not wanted.metrics:
        for metric in _stream_metrics(rows) if interval <= 0 else ():
            by_metric[metric] = _of_stream(rows, metric)
        for name in {name for row in rows for name in row.user}:
            by_metric.update(_user_metric(rows, name))
    return {"interval": interval, "component": wanted.component, "metrics": by_metric}


def _counts_of(row: InstanceStats) -> dict[str, int]:
    """Metrics counted by stream, by Heron's names; absent from the history."""
    return {
        **{f"{EMITTED}/{stream}": number for stream, number in row.emitted_by_stream.items()},
        **{f"{EXECUTED}/{name}": number for name, number in row.executed_by_input.items()},
        **_executed_by_stream(row),
    }


def _executed_by_stream(row: InstanceStats) -> dict[str, int]:
    by_stream: dict[str, int] = {}
    for source, number in row.executed_by_input.items():
        name = f"{EXECUTED}/{source.partition('/')[2]}"
        by_stream[name] = by_stream.get(name, 0) + number
    return by_stream


def _stream_metrics(rows: Sequence[InstanceStats]) -> list[str]:
    return sorted({name for each in rows for name in _counts_of(each)})


def _of_stream(rows: Sequence[InstanceStats], metric: str) -> dict[str, str]:
    """Heron's instance id -> count of one stream since its process started."""
    counts = {_heron_id(each): _counts_of(each) for each in rows}
    return {name: str(each[metric]) for name, each in counts.items() if metric in each}


def _values(
    rows: Sequence[InstanceStats], series: str, interval: int, recent: Sequence[Point], at: float
) -> dict[str, str]:
    if series in LATENCIES:
        secs, samples = (_values(rows, each, interval, recent, at) for each in LATENCIES[series])
        return {
            name: _text(_mean_nanoseconds(float(secs[name]), float(samples[name]))) for name in secs
        }
    if interval <= 0 or not SERIES[series].counts:
        return {_heron_id(each): _text(values_of(each)[series]) for each in rows}
    added = totals(recent, series, at - interval)
    return {_heron_id(each): _text(added.get(each.task, 0.0)) for each in rows}


def _user_metric(rows: Sequence[InstanceStats], metric: str) -> dict[str, dict[str, str]]:
    """A metric registered by user code; each key of a multi-key metric is a metric of its own."""
    by_name: dict[str, dict[str, str]] = {}
    for row in rows:
        name, _, key = metric.partition("/")
        value = row.user.get(metric, row.user.get(name))
        several = value if isinstance(value, Mapping) else {"": value}
        for part, number in several.items():
            if isinstance(number, int | float) and key in ("", str(part)):
                full = f"{name}/{part}" if part != "" else metric
                text = _text(number) if isinstance(number, float) else str(number)
                by_name.setdefault(full, {})[_heron_id(row)] = text
    return by_name


def _text(value: float) -> str:
    """Whole numbers without a point, as Heron's counts are."""
    return str(int(value)) if value.is_integer() else str(value)


def timeline_of(
    snapshot: TopologySnapshot,
    component: str,
    metric: str,
    points: Sequence[Point],
    start: int,
    end: int,
) -> dict[str, dict[int, float]]:
    """Heron's id of an instance -> its timeline by minutes; empty for a metric without history."""
    series = series_of(snapshot, component, metric)
    if series is None:
        return {}
    ids = instance_ids(snapshot)
    by_task = _timelines(points, series, start, end)
    return {ids.get(task, f"task {task}"): values for task, values in sorted(by_task.items())}


def _timelines(
    points: Sequence[Point], series: str, start: int, end: int
) -> Mapping[int, dict[int, float]]:
    if series not in LATENCIES:
        return timelines(points, series, start, end)
    secs, samples = (timelines(points, each, start, end) for each in LATENCIES[series])
    return {
        task: {
            minute: _mean_nanoseconds(value, samples.get(task, {}).get(minute, 0.0))
            for minute, value in by_minute.items()
        }
        for task, by_minute in secs.items()
    }


def _mean_nanoseconds(secs: float, samples: float) -> float:
    return secs / samples * NANOSECONDS if samples else 0.0


def chosen(
    by_instance: Mapping[str, Mapping[int, float]], wanted: Wanted, snapshot: TopologySnapshot
) -> dict[str, dict[int, float]]:
    """Timelines of the requested instances, or stream managers."""
    rows = {_heron_id(row) for row in rows_of(snapshot, wanted)}
    names = rows | set(wanted.instances)
    return {
        name: dict(values)
        for name, values in by_instance.items()
        if not wanted.instances or name in names
    }


def query_timelines(found: Mapping[str, Mapping[int, float]]) -> list[Timeline]:
    """In the form used by the query language."""
    return [Timeline(name, dict(values)) for name, values in found.items()]


VALUES_MAX = 1_000_000
"""Minutes of all instances in one timeline: 23 instances for 30 days, or 231 for three. A million
takes some seconds and 20 MB."""


def check_values(snapshot: TopologySnapshot, component: str, start: int, end: int) -> None:
    """BadRequest for a timeline of more than VALUES_MAX values."""
    tasks = len(snapshot.packing.tasks_of.get(component, ()))
    values = tasks * ((end - start) // MINUTE_SECS)
    if values > VALUES_MAX:
        raise BadRequest(
            f"{tasks} instances of {component} by minutes are {values} values, at most "
            f"{VALUES_MAX}: use a shorter time"
        )


def check_interval(start: int, end: int, most_secs: int) -> None:
    """BadRequest for an end before the start, or a range longer than the history."""
    if start > end:
        raise BadRequest("starttime is greater than endtime")
    if start < 0 or end - start > most_secs:
        raise BadRequest(f"starttime and endtime are at most {most_secs} s apart, since 1970")


def exceptions(snapshot: TopologySnapshot, wanted: Wanted, first: str, last: str) -> list[Json]:
    """Errors of a component: last traceback, instances that cannot start, crashes. `first` and
    `last`: times of its tracebacks, within the history."""
    check_component(snapshot, wanted.component)
    entries: list[Json] = []
    component = snapshot.components.get(wanted.component)
    rows = rows_of(snapshot, wanted)
    if component is not None and component.last_error:
        failing = [row for row in rows if row.errors] or rows
        trace = component.last_error
        entries += [_exception(snapshot, x, trace, str(x.errors), first, last) for x in failing]
    errors = snapshot.stats.errors if snapshot.stats is not None else {}
    entries += [
        _exception(snapshot, row, errors[row.task], "1", "", "")
        for row in rows
        if row.task in errors
    ]
    return entries + _crashes(snapshot, rows)


def _crashes(snapshot: TopologySnapshot, rows: Sequence[InstanceStats]) -> list[Json]:
    by_task = {row.task: row for row in rows}
    events = snapshot.stats.events if snapshot.stats is not None else ()
    return [
        _exception(
            snapshot, by_task[event.task], f"{event.kind}: {event.what}", "1", str(int(event.at)),
            str(int(event.at)), event.why,
        )
        for event in events
        if event.task in by_task and event.kind in BAD_KINDS
    ]  # fmt: skip


def _exception(
    snapshot: TopologySnapshot,
    instance: InstanceStats,
    trace: str,
    count: str,
    first: str,
    last: str,
    logging: str = "",
) -> Json:
    return {
        "hostname": snapshot.host_of(instance.container),
        "instance_id": _heron_id(instance),
        "stack_trace": trace,
        "stacktrace": trace,
        "lasttime": last,
        "firsttime": first,
        "count": count,
        "logging": logging,
    }


def exception_summary(entries: Sequence[Json]) -> list[Json]:
    """One entry per kind of error."""
    kinds: dict[str, list[Json]] = {}
    for entry in entries:
        kinds.setdefault(_kind(entry["stack_trace"]), []).append(entry)
    return [
        {
            "class_name": kind,
            "lasttime": max(entry["lasttime"] for entry in every),
            "firsttime": min(entry["firsttime"] for entry in every),
            "count": str(sum(int(entry["count"]) for entry in every)),
        }
        for kind, every in kinds.items()
    ]


def _kind(trace: str) -> str:
    """The class of the error: what stands before the colon in the last line of a traceback."""
    lines = trace.strip().splitlines()
    return lines[-1].partition(":")[0].strip() if lines else ""
