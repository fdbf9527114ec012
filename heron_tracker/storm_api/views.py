"""Topologies as Storm's UI tells them: what the original streamparse and dashboards read.

A worker is a container here, a supervisor a machine with containers, an executor an instance with
one task. Latencies are text with three digits, as Storm's are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from heron_core.config import MESSAGE_TIMEOUT_SECS
from heron_core.config.settings import DEFAULTS
from heron_core.instance_report import measures_of
from heron_core.plans import ContainerPlan
from heron_core.stats import ComponentStats, InstanceStats, LatencyStats
from heron_core.topology import ComponentSpec
from heron_core.validation import choices
from heron_core.version import version_of_heronpy
from heron_tracker.envelope import NotFound
from heron_tracker.heron_api.plans import log_file
from heron_tracker.model.config_view import shown_config
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.storm_status import storm_status
from heron_tracker.storm_api.resources import (
    DISPLAY,
    cluster_resources,
    error_location,
    log_link,
    machine_resources,
    topology_resources,
    workers,
)

Json = dict[str, Any]
ALL_TIME = ":all-time"
WINDOWS: Mapping[str, str] = {
    "600": "10m 0s", "10800": "3h 0m 0s", "86400": "1d 0h 0m 0s", ALL_TIME: "All time"
}  # fmt: skip
NUMBERS = {
    name: measures_of(InstanceStats)[name].heron
    for name in ("emitted", "executed", "acked", "failed")
}
"""Storm's name, which is ours -> the series in the history."""

Added = Callable[[str, str, int], float]
"""(component, series, seconds) -> what was added in so many seconds, by the history."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an answer is made of besides the snapshot."""

    added: Added
    error_at: Callable[[str], int | None]
    """component -> when its last error was counted, in seconds since 1970; None if unknown."""
    window: str
    now: float
    """In seconds since 1970."""
    base_url: str


NOT_DEBUGGED: Json = {"debug": False, "samplingPct": 0.0}
"""Storm's event logger is absent here. Its pages put samplingPct into the code of their buttons."""


def pretty(secs: float) -> str:
    """A duration as Storm writes it: 1d 2h 3m 4s."""
    left = int(max(0.0, secs))
    parts: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, left = divmod(left, length)
        if number or parts or unit == "s":
            parts.append(f"{number}{unit}")
    return " ".join(parts)


def cluster_summary(snapshots: Sequence[TopologySnapshot], uptime_secs: float) -> Json:
    """The whole; the service counts as Nimbus."""
    containers = sum(len(snapshot.packing.containers) for snapshot in snapshots)
    tasks = sum(len(snapshot.packing.instances) for snapshot in snapshots)
    return {
        "stormVersion": f"heronpy {version_of_heronpy()}",
        "stormVersionInfo": {"version": f"heronpy {version_of_heronpy()}"},
        "nimbusUptime": pretty(uptime_secs),
        "supervisors": len(hosts(snapshots)),
        "topologies": len(snapshots),
        "slotsTotal": containers,
        "slotsUsed": containers,
        "slotsFree": 0,
        "executorsTotal": tasks,
        "tasksTotal": tasks,
        **cluster_resources([x for snapshot in snapshots for x in snapshot.packing.containers]),
    }


def hosts(snapshots: Sequence[TopologySnapshot]) -> dict[str, list[float]]:
    """host -> time since registration of each of its containers; 0 if not registered."""
    found: dict[str, list[float]] = {}
    for snapshot in snapshots:
        for container in snapshot.packing.containers:
            registered = snapshot.registered.get(container.id)
            secs = registered.secs if registered is not None else 0.0
            found.setdefault(snapshot.host_of(container.id), []).append(secs)
    return found


def supervisor_summary(snapshots: Sequence[TopologySnapshot]) -> Json:
    """The machines; as many slots as there are containers."""
    containers: dict[str, list[ContainerPlan]] = {}
    for snapshot in snapshots:
        for container in snapshot.packing.containers:
            containers.setdefault(snapshot.host_of(container.id), []).append(container)
    rows = [
        {
            "id": host,
            "host": host,
            "uptime": pretty(max(secs)),
            "uptimeSeconds": int(max(secs)),
            "slotsTotal": len(secs),
            "slotsUsed": len(secs),
            "slotsFree": 0,
            "version": version_of_heronpy(),
            **machine_resources(containers[host]),
        }
        for host, secs in sorted(hosts(snapshots).items())
    ]
    return {"supervisors": rows, "schedulerDisplayResource": False}


def topology_row(snapshot: TopologySnapshot, now: float) -> Json:
    """One topology in the summary, and the head of its own answer; `now` since 1970."""
    uptime = now - snapshot.submitted_secs if snapshot.submitted_secs else 0.0
    tasks = len(snapshot.packing.instances)
    return {
        "id": snapshot.id,
        "encodedId": quote(snapshot.id, safe=""),
        "name": snapshot.name,
        "owner": snapshot.role,
        "status": storm_status(snapshot.state),
        "uptime": pretty(uptime),
        "uptimeSeconds": int(max(0.0, uptime)),
        "workersTotal": len(snapshot.packing.containers),
        "executorsTotal": tasks,
        "tasksTotal": tasks,
        "schedulerInfo": snapshot.scheduler.get("kind"),
        "stormVersion": f"heronpy {version_of_heronpy()}",
        **topology_resources(snapshot),
    }


def topology_summary(snapshots: Sequence[TopologySnapshot], now: float) -> Json:
    """All topologies."""
    rows = [topology_row(each, now) for each in snapshots]
    return {"topologies": rows, "schedulerDisplayResource": False}


def topology(snapshot: TopologySnapshot, shown: Shown) -> Json:
    """One topology: its components, and sums in each window."""
    specs = snapshot.spec.components if snapshot.spec is not None else ()
    known = [spec for spec in specs if spec.name in snapshot.components]
    rows = {spec.name: _row(snapshot, spec, shown) for spec in known}
    config = shown_config(snapshot.spec.config) if snapshot.spec is not None else {}
    return {
        **topology_row(snapshot, shown.now),
        "topologyStats": [_topology_stats(snapshot, shown.added, window) for window in WINDOWS],
        "spouts": [rows[spec.name] for spec in known if spec.is_spout],
        "bolts": [rows[spec.name] for spec in known if not spec.is_spout],
        "workers": workers(snapshot, shown.base_url, pretty),
        "configuration": config,
        **NOT_DEBUGGED,
        DISPLAY: False,
        # The pages put the number into the code of a button, so the number is never absent.
        "msgTimeout": config.get(MESSAGE_TIMEOUT_SECS, DEFAULTS[MESSAGE_TIMEOUT_SECS]),
        "window": shown.window,
        "windowHint": WINDOWS[shown.window],
    }


def _topology_stats(snapshot: TopologySnapshot, added: Added, window: str) -> Json:
    """Emitted by all components; acked and failed, as Storm means it, by spouts."""
    specs = snapshot.spec.by_name if snapshot.spec is not None else {}
    rows = {name: _numbers(snapshot, name, added, window) for name in snapshot.components}
    spouts = [name for name in rows if name in specs and specs[name].is_spout]
    return {
        "window": window,
        "windowPretty": WINDOWS[window],
        "emitted": sum(row["emitted"] for row in rows.values()),
        "transferred": sum(
            _transferred(snapshot, specs.get(name), rows[name]["emitted"]) for name in rows
        ),
        "completeLatency": _latency_text(_slowest(snapshot, spouts)),
        "acked": sum(rows[name]["acked"] for name in spouts),
        "failed": sum(rows[name]["failed"] for name in spouts),
    }


def _slowest(snapshot: TopologySnapshot, spouts: Sequence[str]) -> LatencyStats | None:
    latencies = [snapshot.components[name].latency.complete for name in spouts]
    return max(latencies, key=lambda each: each.mean_ms or 0.0, default=None)


def _numbers(snapshot: TopologySnapshot, name: str, added: Added, window: str) -> dict[str, int]:
    """A component's counts in a window."""
    stats = snapshot.components[name]
    if window == ALL_TIME:
        return {key: int(getattr(stats, key)) for key in NUMBERS}
    return {key: int(added(name, series, int(window))) for key, series in NUMBERS.items()}


def _transferred(snapshot: TopologySnapshot, spec: ComponentSpec | None, emitted: int) -> int:
    """Deliveries of what was emitted on a component's only stream, of which each reader gets all;
    of a component with several as many as by their shares since the start."""
    if spec is None or snapshot.spec is None:
        return emitted
    if len(spec.outputs) == 1:
        return emitted * readers(snapshot, spec, spec.outputs[0].name)
    stats = snapshot.components.get(spec.name)
    if stats is None or not stats.emitted:
        return emitted
    delivered = sum(
        number * readers(snapshot, spec, stream)
        for stream, number in stats.emitted_by_stream.items()
    )
    return round(emitted * delivered / stats.emitted)


def readers(snapshot: TopologySnapshot, spec: ComponentSpec, stream: str) -> int:
    """How many components read a stream."""
    consumers = snapshot.spec.consumers if snapshot.spec is not None else {}
    return len(consumers.get((spec.name, stream), ()))


def _row(snapshot: TopologySnapshot, spec: ComponentSpec, shown: Shown) -> Json:
    """A component in the answer of its topology."""
    stats = snapshot.components[spec.name]
    kind = "spout" if spec.is_spout else "bolt"
    return {
        f"{kind}Id": spec.name,
        f"encoded{kind.capitalize()}Id": quote(spec.name, safe=""),
        "executors": stats.instances,
        "tasks": stats.instances,
        **_measured(snapshot, spec, shown.added, shown.window),
        "lastError": stats.last_error or "",
        **_last_error(snapshot, spec.name, shown),
    }


def _last_error(snapshot: TopologySnapshot, name: str, shown: Shown) -> Json:
    """Where and when the last error of a component was; nulls for a component without errors."""
    stats = snapshot.components[name]
    at = shown.error_at(name) if stats.last_error else None
    return {
        **error_location(snapshot, name, shown.base_url),
        "errorTime": at,
        "errorLapsedSecs": None if at is None else max(0, int(shown.now) - at),
    }


def _measured(snapshot: TopologySnapshot, spec: ComponentSpec, added: Added, window: str) -> Json:
    stats = snapshot.components[spec.name]
    numbers = _numbers(snapshot, spec.name, added, window)
    measured: Json = {
        "emitted": numbers["emitted"],
        "transferred": _transferred(snapshot, spec, numbers["emitted"]),
        "acked": numbers["acked"],
        "failed": numbers["failed"],
    }
    if spec.is_spout:
        return {**measured, "completeLatency": _latency_text(stats.latency.complete)}
    return {**measured, "executed": numbers["executed"], **_bolt_latencies(stats)}


def _bolt_latencies(stats: ComponentStats) -> Json:
    return {
        "executeLatency": _latency_text(stats.latency.execute),
        "processLatency": _latency_text(stats.latency.process),
        "capacity": f"{stats.capacity:.3f}",
    }


def _latency_text(latency: LatencyStats | None) -> str:
    return f"{(latency.mean_ms if latency is not None else None) or 0.0:.3f}"


def component(snapshot: TopologySnapshot, name: str, shown: Shown) -> Json:
    """One component with its instances; NotFound if unknown."""
    spec = snapshot.spec.by_name.get(name) if snapshot.spec is not None else None
    if spec is None:
        names = snapshot.spec.by_name if snapshot.spec is not None else ()
        known = choices("components", name, names)
        raise NotFound(f"{snapshot.name} has no component {name!r:.100}: {known:.500}")
    if name not in snapshot.components:
        raise NotFound(f"{snapshot.name} has no numbers of component {name!r:.100} yet")
    stats = snapshot.components[name]
    kind = "spout" if spec.is_spout else "bolt"
    windows = [
        {
            "window": window,
            "windowPretty": WINDOWS[window],
            **_measured(snapshot, spec, shown.added, window),
        }
        for window in WINDOWS
    ]
    return {
        "id": name,
        "encodedId": quote(name, safe=""),
        "name": snapshot.name,
        "componentType": kind,
        "executors": stats.instances,
        "tasks": stats.instances,
        "topologyId": snapshot.id,
        "encodedTopologyId": quote(snapshot.id, safe=""),
        "topologyStatus": storm_status(snapshot.state),
        **NOT_DEBUGGED,
        "profilerActive": [],
        "window": shown.window,
        "windowHint": WINDOWS[shown.window],
        "spoutSummary" if spec.is_spout else "boltStats": windows,
        "inputStats": _input_stats(spec, stats, windows[-1]),
        "outputStats": _output_stats(snapshot, spec, stats, windows[-1]),
        "executorStats": [
            _executor(snapshot, spec, instance, shown.base_url)
            for instance in snapshot.instances
            if instance.component == name
        ],
        "componentErrors": _errors(snapshot, name, shown),
    }


def _errors(snapshot: TopologySnapshot, name: str, shown: Shown) -> list[Json]:
    """The last error alone is kept; Storm has `errorTime` in seconds, and as `time` in newer pages
    in milliseconds."""
    last = snapshot.components[name].last_error
    if not last:
        return []
    where = _last_error(snapshot, name, shown)
    at = where["errorTime"]
    return [{"error": last, "time": None if at is None else at * 1000, **where}]


def _input_stats(spec: ComponentSpec, stats: ComponentStats, total: Json) -> list[Json]:
    """A row per input stream. Metrics not counted by stream (acks, latencies) are in the row of
    a single stream, and null for several streams."""
    if spec.is_spout:
        return []
    whole = {key: total[key] for key in ("executeLatency", "processLatency", "acked", "failed")}
    rest = whole if len(spec.inputs) == 1 else dict.fromkeys(whole)
    return [
        {
            "component": entry.component,
            "stream": entry.stream,
            "executed": total["executed"]
            if len(spec.inputs) == 1
            else stats.executed_by_input.get(f"{entry.component}/{entry.stream}", 0),
            **rest,
        }
        for entry in spec.inputs
    ]


def _output_stats(
    snapshot: TopologySnapshot, spec: ComponentSpec, stats: ComponentStats, total: Json
) -> list[Json]:
    """A row per output stream, with equal rules."""
    keys = ("completeLatency", "acked", "failed") if spec.is_spout else ()
    if len(spec.outputs) == 1:
        totals = {key: total[key] for key in ("emitted", "transferred", *keys)}
        return [{"stream": spec.outputs[0].name, **totals}]
    return [
        {
            "stream": output.name,
            "emitted": (emitted := stats.emitted_by_stream.get(output.name, 0)),
            "transferred": emitted * readers(snapshot, spec, output.name),
            **dict.fromkeys(keys),
        }
        for output in spec.outputs
    ]


def container_secs(snapshot: TopologySnapshot, container: int) -> float:
    """Seconds since the registration of its stream manager; 0 if not registered."""
    registered = snapshot.registered.get(container)
    return registered.secs if registered is not None else 0.0


def _executor(
    snapshot: TopologySnapshot, spec: ComponentSpec, instance: InstanceStats, base_url: str
) -> Json:
    secs = container_secs(snapshot, instance.container)
    stats = snapshot.components[spec.name]
    file = log_file(spec.name, instance.task)
    latencies = (
        {"completeLatency": _latency_text(stats.latency.complete)}
        if spec.is_spout
        else {**_bolt_latencies(stats), "capacity": f"{instance.capacity:.3f}"}
    )
    return {
        "id": f"[{instance.task}-{instance.task}]",
        "encodedId": quote(f"[{instance.task}-{instance.task}]", safe=""),
        "host": snapshot.host_of(instance.container),
        "port": instance.container,
        "uptime": pretty(secs),
        "uptimeSeconds": int(secs),
        "emitted": instance.emitted,
        "transferred": _transferred(snapshot, spec, instance.emitted),
        "executed": instance.executed,
        "acked": instance.acked,
        "failed": instance.failed,
        **latencies,
        "workerLogLink": log_link(snapshot, instance.container, file, base_url),
    }
